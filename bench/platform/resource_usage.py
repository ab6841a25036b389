"""CPU time and memory of the processes of the control plane. CPU time, unlike wall time, is comparable on a busy machine."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU seconds since the processes started. ``postgres`` includes all backends, even those that have ended. ``bench``: this
    process. ``at``: time of the reading (monotonic)."""

    at: float
    api: float
    postgres: float
    bench: float

    def since(self, earlier: Usage) -> Usage:
        return Usage(
            self.at - earlier.at, self.api - earlier.api, self.postgres - earlier.postgres, self.bench - earlier.bench
        )  # fmt: skip


def usage(api: int, postgres: int) -> Usage:
    return Usage(time.monotonic(), _tree_s(api), _tree_s(postgres), time.process_time())


def rss_bytes(process: int) -> int:
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) << 10
    raise AssertionError(f"process {process} has no VmRSS entry")


def _tree_s(root: int) -> float:
    """Return the CPU time of a process and its children. The ``stat`` file of the process includes the CPU time of
    children that have ended."""
    ticks = 0
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            fields = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # The process has just ended.
        if int(entry) == root:
            ticks += sum(int(field) for field in fields[11:15])
        elif int(fields[1]) == root:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / _TICKS_A_SECOND
