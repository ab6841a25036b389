"""Removing what a run has on this disk. Safe to be cut off anywhere: what is half removed has another name, and is found again."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from weir_workers.drivers.directory import RunDirectory

_GOING = ".going-"


def remove(directory: RunDirectory) -> bool:
    """Also if there is nothing. False: its driver lives, whatever is known of it elsewhere. Raises OSError."""
    if directory.is_alive() or directory.is_starting():
        return False
    going = directory.path.with_name(_GOING + directory.path.name)
    # Nobody is to read a log whose end is missing.
    with suppress(FileNotFoundError):
        directory.path.rename(going)
    _remove(going)
    return True


def finish(data_dir: Path) -> int:
    """What others have begun to remove and had no time to. How many that were. Raises OSError."""
    found = list((data_dir / "runs").glob(f"{_GOING}*"))
    for one in found:
        _remove(one)
    return len(found)


def _remove(path: Path) -> None:
    with suppress(FileNotFoundError):
        shutil.rmtree(path)
