"""The directory of a run on the host of its driver.

RUN/lock         the driver holds this lock while it is alive; a second driver of the run cannot start
RUN/starting     the worker holds this lock while it starts the driver
RUN/process      pid and start time of the driver
RUN/code/        the job file, or the content of the archive
RUN/driver.log   the output of the driver
RUN/spool/       events that the control plane has not confirmed
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from weir_workers.file_lock import is_held


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """Identifies one process of this host, even if its pid is reused. ``started``: seconds since 1970, from psutil."""

    pid: int
    started: float


class RunDirectory:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = path / "lock"
        self.process = path / "process"
        self.code = path / "code"
        self.log = path / "driver.log"
        self.spool = path / "spool"

    @classmethod
    def of(cls, data_dir: Path, name: str) -> RunDirectory:
        """Return the directory of a run. ``name``: ``Run.directory``."""
        assert name and "/" not in name and name not in (".", ".."), name
        return cls(data_dir / "runs" / name)

    @contextmanager
    def starting(self) -> Iterator[bool]:
        """Lock the start of the driver for the duration of the context. Yields False if another process holds the lock."""
        descriptor = os.open(self.path / "starting", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True
        finally:
            os.close(descriptor)

    def make(self) -> None:
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.spool.mkdir(mode=0o700, exist_ok=True)

    def is_alive(self) -> bool:
        """Return whether the driver is alive. A living driver holds the lock of the run. Raises OSError."""
        return is_held(self.lock)

    def is_starting(self) -> bool:
        """Return whether a worker is starting the driver. Raises OSError."""
        return is_held(self.path / "starting")

    def process_identity(self) -> ProcessIdentity | None:
        """Return the identity of the driver's process. Return None if no driver has started in this directory, or if the driver has not
        written its identity yet."""
        try:
            identity = json.loads(self.process.read_bytes())
        except (FileNotFoundError, ValueError):
            return None
        return ProcessIdentity(int(identity["pid"]), float(identity["started"]))
