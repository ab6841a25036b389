"""Become the driver of a run: ``python -m weir_workers.drivers.launcher RUN_DIRECTORY``, with the command as JSON on standard
input.

The process detaches from its parent and its session, so that it continues if the worker crashes or the terminal is closed. The process
takes the lock of the run. If another process holds the lock, the run was submitted twice and has a driver already, so this process exits.
If this process gets the lock, it writes its identity to a file and becomes the driver by exec, which keeps the lock. This module imports
little, because it runs for every driver."""

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
    request = json.load(sys.stdin)
    if os.fork():
        # The worker waits for the end of this process, but not for the end of the driver.
        os._exit(0)
    os.setsid()
    descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    if not _locked(descriptor):
        os._exit(0)
    os.set_inheritable(descriptor, True)
    _write_identity(directory)
    log = os.open(directory / "driver.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, LOG_MODE)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.chdir(directory)
    os.umask(0o077)
    environment = request["environment"]
    # During an upgrade, a worker of the previous version sends no secrets.
    if request.get("secrets") is not None:
        environment["WEIR_SECRETS_FD"] = str(_pipe_with(request["secrets"].encode()))
    os.execve(request["command"][0], request["command"], environment)


def _pipe_with(data: bytes) -> int:
    """Return the file descriptor of a pipe that contains ``data``, which must fit into a pipe. The driver inherits the pipe."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    written = os.write(writer, data)
    assert written == len(data), "a worker checks the size of the secrets"
    os.close(writer)
    os.set_inheritable(reader, True)
    return reader


def _locked(descriptor: int) -> bool:
    """Take the lock. Retry for a second, because a process that checks whether the driver is alive holds the lock briefly."""
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


def _write_identity(directory: Path) -> None:
    fresh = directory / "process.new"
    fresh.write_text(json.dumps({"pid": os.getpid(), "started": _started()}))
    fresh.replace(directory / "process")


def _started() -> float:
    """Return the start time of this process as psutil reports it. The start time does not change when the process becomes the driver by
    exec."""
    try:
        import psutil
    except ImportError:
        return time.time()
    return float(psutil.Process().create_time())


if __name__ == "__main__":
    main()
