"""Private directories of Spark sessions on this machine, and the removal of those whose owner died."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path

_PREFIX = "weir-spark-"
_LOCK = "owner.lock"
_BASE_BYTES_MAX = 40
"""Spark's Unix sockets are in the directory, and the kernel allows 107 bytes for their whole path."""
_YOUNG_S = 60.0
"""A directory so young may belong to a process that has not locked it yet."""


class Scratch:
    """``path`` is readable by this user alone, and removed by ``close``; after a kill -9, by the next one to be made."""

    def __init__(self) -> None:
        base = tempfile.gettempdir()
        if len(os.fsencode(base)) > _BASE_BYTES_MAX:
            base = "/tmp"
        _sweep(Path(base))
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))
        # Children do not inherit the descriptor, so the lock ends with this process.
        self._lock = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def close(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def _sweep(base: Path) -> None:
    for path in base.glob(f"{_PREFIX}*"):
        try:
            state = path.lstat()
            if state.st_uid != os.getuid() or time.time() - state.st_mtime < _YOUNG_S:
                continue
            lock = os.open(path / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
        except BlockingIOError:
            pass  # Its owner lives.
        finally:
            os.close(lock)
