"""Reads process details that only the owner of the process may read, such as open files and environment variables."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import psutil

T = TypeVar("T")
WAIT_S = 120.0
POLL_S = 0.01
_ENDED = (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)


def unless_ended(process: psutil.Process, read: Callable[[psutil.Process], T], *, wait_s: float = WAIT_S) -> T | None:
    """Return ``read(process)``, or None if the process has ended.

    After an ending process has released its memory, Linux treats the process as owned by root, and denies an ordinary user
    access to the details. Denied access does not prove that the process has ended. The function repeats ``read`` until
    ``read`` succeeds or the process has ended. Raises psutil.AccessDenied if the process still runs after ``wait_s`` seconds
    and Linux still denies access.
    """
    deadline_s = time.monotonic() + wait_s
    while True:
        try:
            return read(process)
        except psutil.NoSuchProcess:
            return None
        except psutil.AccessDenied:
            if _has_ended(process):
                return None
            if time.monotonic() >= deadline_s:
                raise
        time.sleep(POLL_S)


def _has_ended(process: psutil.Process) -> bool:
    try:
        # If only the main thread has ended, the process has the status of a zombie, but its other threads still run.
        return process.status() in _ENDED and process.num_threads() <= 1
    except psutil.NoSuchProcess:
        return True
