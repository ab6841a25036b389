"""What a run has on the disk of the machine that its driver is on.

RUN/lock         held by the driver's process for as long as it lives: a run has one driver, whoever starts it how often
RUN/starting     held by whoever is about to start it
RUN/process      its pid and start time, written before it becomes the driver
RUN/code/        the job's file, or what the archive holds
RUN/driver.log   what it says
RUN/spool/       events that are not delivered yet
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ProcessName:
    """Names one process of this machine for good. ``started``: seconds since 1970, as psutil says."""

    pid: int
    started: float


@dataclass(frozen=True, slots=True)
class RunDirectory:
    path: Path

    @classmethod
    def of(cls, data_dir: Path, name: str) -> RunDirectory:
        """``name``: ``Run.directory``."""
        assert name and "/" not in name and name not in (".", ".."), name
        return cls(data_dir / "runs" / name)

    @property
    def lock(self) -> Path:
        return self.path / "lock"

    @contextmanager
    def starting(self) -> Iterator[bool]:
        """Whether it is ours to start the driver, until the end of the context. False: another process is at it."""
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

    @property
    def process(self) -> Path:
        return self.path / "process"

    @property
    def code(self) -> Path:
        return self.path / "code"

    @property
    def log(self) -> Path:
        return self.path / "driver.log"

    @property
    def spool(self) -> Path:
        return self.path / "spool"

    def make(self) -> None:
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.spool.mkdir(mode=0o700, exist_ok=True)

    def is_alive(self) -> bool:
        """The driver, as far as one can tell: somebody holds its lock. Raises OSError."""
        return _is_held(self.lock)

    def is_starting(self) -> bool:
        """Raises OSError."""
        return _is_held(self.path / "starting")

    def process_name(self) -> ProcessName | None:
        """None: no driver was started here, or it has not come that far."""
        try:
            said = json.loads(self.process.read_bytes())
        except (FileNotFoundError, ValueError):
            return None
        return ProcessName(int(said["pid"]), float(said["started"]))


def _is_held(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        # Shared: who looks at the same time is not taken for a holder.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
