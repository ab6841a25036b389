"""The processes that a benchmark started: their processor time, which unlike wall time means something on a busy machine too, and
stopping them for a while."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
_WORKER = b"\0-m\0weir.spark.daemon\0"
"""In the command line of Spark's Python daemon and of the workers forked from it."""


@dataclass(frozen=True, slots=True)
class CpuSeconds:
    """Since the processes began. ``slots``: Python workers of Spark; ``driver``: this process, Java and all else."""

    slots: float
    driver: float

    def since(self, earlier: CpuSeconds) -> CpuSeconds:
        return CpuSeconds(self.slots - earlier.slots, self.driver - earlier.driver)


def cpu_seconds() -> CpuSeconds:
    """Of this process and all that descend from it and are still alive."""
    parent, used = _all()
    slots = driver = 0.0
    for process in used:
        if not _descends(process, os.getpid(), parent):
            continue
        if _is_worker(process):
            slots += used[process]
        else:
            driver += used[process]
    return CpuSeconds(slots, driver)


def stop(processes: Iterable[int]) -> None:
    """SIGSTOP: none of them computes any more until ``go_on``."""
    _signal(processes, signal.SIGSTOP)


def go_on(processes: Iterable[int]) -> None:
    _signal(processes, signal.SIGCONT)


def family(ancestor: int) -> tuple[int, ...]:
    """The process and all that descend from it."""
    parent, _ = _all()
    return tuple(process for process in parent if _descends(process, ancestor, parent))


def _signal(processes: Iterable[int], what: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError):  # It has just ended.
            os.kill(process, what)


def _all() -> tuple[dict[int, int], dict[int, float]]:
    parent, used = {}, {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            # The name, in parentheses, may hold anything.
            fields = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # It has just ended.
        parent[int(entry)] = int(fields[1])
        used[int(entry)] = (int(fields[11]) + int(fields[12])) / _TICKS_A_SECOND
    return parent, used


def _descends(process: int, ancestor: int, parent: dict[int, int]) -> bool:
    while process > 1:
        if process == ancestor:
            return True
        process = parent.get(process, 0)
    return False


def _is_worker(process: int) -> bool:
    try:
        return _WORKER in Path("/proc", str(process), "cmdline").read_bytes()
    except OSError:
        return False
