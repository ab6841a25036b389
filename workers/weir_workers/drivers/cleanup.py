"""Delete the files of a run on this host. The directory is renamed first, so that an interrupted deletion can be finished later."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from weir_workers.drivers.run_directory import RunDirectory

_DELETING = ".deleting-"
_DELETING_BEFORE = ".going-"
"""The prefix with which older versions marked a directory for deletion. Directories with the old prefix can remain after an upgrade."""


def remove(directory: RunDirectory) -> bool:
    """Delete the directory of the run, if it exists. Return False, without deleting anything, if the driver is alive. Raises OSError."""
    if directory.is_alive() or directory.is_starting():
        return False
    deleting = directory.path.with_name(_DELETING + directory.path.name)
    # A partly deleted directory must not look like the directory of a run.
    with suppress(FileNotFoundError):
        directory.path.rename(deleting)
    _remove(deleting)
    return True


def finish_interrupted(data_dir: Path) -> int:
    """Finish interrupted deletions, and return their number. Raises OSError."""
    runs = data_dir / "runs"
    paths = [*runs.glob(f"{_DELETING}*"), *runs.glob(f"{_DELETING_BEFORE}*")]
    for path in paths:
        _remove(path)
    return len(paths)


def _remove(path: Path) -> None:
    with suppress(FileNotFoundError):
        shutil.rmtree(path)
