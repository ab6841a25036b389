"""Find the processes of slots in /proc."""

from __future__ import annotations

import os
from pathlib import Path

DAEMON = b"\0-m\0weir.spark.daemon\0"
"""The part of the command line that identifies Spark's Python daemon.

The command lines of Java processes contain the daemon's name in a different form.
"""


def slot_processes(driver: int | None = None) -> list[int]:
    """Return the process ids of the slots of a driver. ``driver`` is the driver's process id; None means this process.

    Spark's Python daemon, which is a descendant of the driver, has forked the slots.
    """
    parents = _parents()
    descendants = {pid for pid in parents if (driver or os.getpid()) in _ancestors(pid, parents)}
    return sorted(pid for pid in descendants if DAEMON in _arguments(pid) and DAEMON in _arguments(parents[pid]))


def _parents() -> dict[int, int]:
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                # In /proc/PID/stat, the state and the parent follow the process name, which can contain any character.
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue  # the process has just ended
    return parents


def _ancestors(pid: int, parents: dict[int, int]) -> list[int]:
    ancestors: list[int] = []
    while pid in parents and parents[pid] not in ancestors:
        pid = parents[pid]
        ancestors.append(pid)
    return ancestors


def _arguments(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
