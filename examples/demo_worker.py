"""The processes that host slots, as the operating system shows them."""

from __future__ import annotations

import os
from pathlib import Path

DAEMON = b"\0-m\0weir.spark.daemon\0"
"""As it stands between the other arguments. Java's have the name, too."""


def slot_processes(driver: int | None = None) -> list[int]:
    """Ids of the processes that Spark's Python daemon (a descendant of ``driver``, or of this process) has forked."""
    parents = _parents()
    mine = {pid for pid in parents if (driver or os.getpid()) in _ancestors(pid, parents)}
    return sorted(pid for pid in mine if DAEMON in _arguments(pid) and DAEMON in _arguments(parents[pid]))


def _parents() -> dict[int, int]:
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                # After the name, which may hold anything, come the state and the parent.
                found[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue  # It has just ended.
    return found


def _ancestors(pid: int, parents: dict[int, int]) -> list[int]:
    line = []
    while pid in parents and parents[pid] not in line:
        pid = parents[pid]
        line.append(pid)
    return line


def _arguments(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
