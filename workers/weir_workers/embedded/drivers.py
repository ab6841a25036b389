"""Drivers of jobs on this machine that belong to a platform. They are nobody's children here, and outlive it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import psutil

SPOOL = "WEIR_RUN_SPOOL"
"""What a driver is told about its run; its slots inherit it (weir/cli/link.py)."""
COMMAND_CHARACTERS = 100


@dataclass(frozen=True, slots=True)
class Driver:
    process: int
    run: str
    """Its directory below the data directory."""
    command: str
    """The beginning of its command line: as much as people and programs are shown."""


def living(root: Path) -> list[Driver]:
    """Whose runs have their directories below ``root``."""
    found: dict[int, tuple[int, Driver]] = {}
    for process in psutil.process_iter():
        try:
            spool = process.environ().get(SPOOL)
            if not spool or not Path(spool).is_relative_to(root) or process.status() == psutil.STATUS_ZOMBIE:
                continue
            run = Path(spool).relative_to(root).parent
            found[process.pid] = (process.ppid(), Driver(process.pid, str(run), " ".join(process.cmdline())[:COMMAND_CHARACTERS]))
        except (psutil.Error, OSError):
            continue  # it has ended meanwhile, or is somebody else's
    # What a driver has started inherits its environment.
    return [driver for parent, driver in found.values() if parent not in found]
