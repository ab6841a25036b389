"""Becomes the driver of a run: ``python -m weir_workers.drivers.launcher RUN_DIRECTORY``, what to run as JSON on standard input.

It leaves its parent and its session, so that neither the death of the worker that started it nor a closed terminal takes it along; takes the
lock of the run, or ends if somebody has it (then the run has a driver already: work may be asked for twice); writes down who it is;
and becomes the driver by exec, lock in hand. Standard library only: it is started for each run.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time
from pathlib import Path

LOG_MODE = 0o600
LOCK_S = 1.0


def main() -> None:
    directory = Path(sys.argv[1])
    what = json.load(sys.stdin)
    if os.fork():
        # Whoever started us waits for this, and for no driver.
        os._exit(0)
    os.setsid()
    descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    if not _locked(descriptor):
        os._exit(0)
    os.set_inheritable(descriptor, True)
    _say_who_we_are(directory)
    log = os.open(directory / "driver.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, LOG_MODE)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.chdir(directory)
    os.umask(0o077)
    os.execve(what["command"][0], what["command"], what["environment"])


def _locked(descriptor: int) -> bool:
    """Whoever looks whether a driver lives has the lock for a moment."""
    until = time.monotonic() + LOCK_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(0.02)
        else:
            return True


def _say_who_we_are(directory: Path) -> None:
    fresh = directory / "process.new"
    fresh.write_text(json.dumps({"pid": os.getpid(), "started": _started()}))
    fresh.replace(directory / "process")


def _started() -> float:
    """When this process began, as psutil says it. Exec does not change that."""
    try:
        import psutil
    except ImportError:
        return time.time()
    return float(psutil.Process().create_time())


if __name__ == "__main__":
    main()
