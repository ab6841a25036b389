"""Locks on files. The kernel releases a lock when the process that holds it ends, even if it is killed."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path


class Lock:
    """A lock that child processes do not inherit, because Python closes the descriptor on exec."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def take(self, timeout_s: float = 0.0) -> bool:
        """Return False if another process holds the lock. Raises OSError."""
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        deadline_s = time.monotonic() + timeout_s
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline_s:
                    os.close(descriptor)
                    return False
                time.sleep(0.05)
            else:
                self._descriptor = descriptor
                return True

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def is_held(path: Path) -> bool:
    """Return whether a process holds the lock. Return False if the file is missing. Raises OSError.

    The check takes a shared lock for a moment. With exclusive locks, one of two simultaneous checks would wrongly report the lock as
    held."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
