"""The lock of the data directory. The kernel releases it when its holder ends, however that happens."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path


class Lock:
    """Not inherited by children: Python closes the descriptor on exec."""

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

    def give_back(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def is_held(path: Path) -> bool:
    """Return whether a live supervisor holds the lock. The shared lock used here does not prevent another process from taking it."""
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
