"""Measures the CPU time of the processes that a benchmark started, and pauses these processes. On a busy machine, the CPU times
of two runs are comparable, but their wall times are not."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
_WORKER = b"\0-m\0weir.spark.daemon\0"
"""The command lines of Spark's Python daemon and of the workers that it forks contain this text."""


@dataclass(frozen=True, slots=True)
class CpuSeconds:
    """CPU seconds since the processes started. ``slots``: Python workers of Spark. ``driver``: all other processes (this process,
    Java and others)."""

    slots: float
    driver: float

    def since(self, earlier: CpuSeconds) -> CpuSeconds:
        return CpuSeconds(self.slots - earlier.slots, self.driver - earlier.driver)


def cpu_seconds() -> CpuSeconds:
    """Return the CPU time of this process and its descendants that are still alive."""
    parent, used = _all()
    slots = driver = 0.0
    for process in used:
        if not _is_descendant(process, os.getpid(), parent):
            continue
        if _is_worker(process):
            slots += used[process]
        else:
            driver += used[process]
    return CpuSeconds(slots, driver)


def pause(processes: Iterable[int]) -> None:
    """Send SIGSTOP: the processes do not run until ``resume``."""
    _signal(processes, signal.SIGSTOP)


def resume(processes: Iterable[int]) -> None:
    _signal(processes, signal.SIGCONT)


def process_tree(ancestor: int) -> tuple[int, ...]:
    """Return the process and all its descendants."""
    parent, _ = _all()
    return tuple(process for process in parent if _is_descendant(process, ancestor, parent))


def _signal(processes: Iterable[int], what: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError):  # The process has just ended.
            os.kill(process, what)


def _all() -> tuple[dict[int, int], dict[int, float]]:
    parent, used = {}, {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            # The process name, which is in parentheses, can contain any character.
            fields = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # The process has just ended.
        parent[int(entry)] = int(fields[1])
        used[int(entry)] = (int(fields[11]) + int(fields[12])) / _TICKS_A_SECOND
    return parent, used


def _is_descendant(process: int, ancestor: int, parent: dict[int, int]) -> bool:
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
