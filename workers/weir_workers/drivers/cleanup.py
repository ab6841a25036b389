"""Deleting a run's files on this host. An interrupted deletion is finished later: the directory is renamed first."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from weir_workers.drivers.run_directory import RunDirectory

_GOING = ".going-"


def remove(directory: RunDirectory) -> bool:
    """Delete the run's directory, if any. False: its driver is alive, whatever the database says. Raises OSError."""
    if directory.is_alive() or directory.is_starting():
        return False
    going = directory.path.with_name(_GOING + directory.path.name)
    # A renamed directory cannot be mistaken for a complete one.
    with suppress(FileNotFoundError):
        directory.path.rename(going)
    _remove(going)
    return True


def finish_interrupted(data_dir: Path) -> int:
    """Finish interrupted deletions and return their number. Raises OSError."""
    found = list((data_dir / "runs").glob(f"{_GOING}*"))
    for one in found:
        _remove(one)
    return len(found)


def _remove(path: Path) -> None:
    with suppress(FileNotFoundError):
        shutil.rmtree(path)
