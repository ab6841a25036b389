"""A job with a fake driver and real checkpoints.

The checkpoint directory contains a job log, manifests and state files. The database contains the rows of the control plane.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import psutil
from sqlalchemy import select, update
from tests.backend.fake_workers import Driver, Platform
from tests.backend.jobs import AT_MS
from tests.unit.storage.storage_builders import RunningJob, manifest_of, nonce

from weir.protocol.events import CheckpointCompleted as Completed
from weir.protocol.events import CheckpointTriggered, DriverState, RunStateChanged
from weir.protocol.ids import CheckpointId, Generation
from weir.protocol.job_log import CheckpointCompleted
from weir.protocol.log_view import LogView
from weir.protocol.snapshots import StateFile
from weir.storage.base import CheckpointStorage, StoredObject
from weir.storage.job_log import JobLog
from weir.storage.layout import JobLayout
from weir.storage.local import LocalStorage
from weir.storage.manifests import write_manifest
from weir_backend.kit.clock import now
from weir_backend.models import Checkpoint, Event, Job, Run
from weir_workers.context import Context
from weir_workers.drivers.run_directory import RunDirectory
from weir_workers.tasks.checkpoint_gc import collect_job_garbage

_numbers = itertools.count(1)
NAME = "orders"
"""The job's name in its code, as in ``fake_workers.GRAPH``."""


class SimulatedCrash(BaseException):
    """Simulates the crash of a process. The class is not an ``Exception``, so that no ``except Exception`` clause catches it."""


@dataclass
class CrashingStorage:
    """A storage that raises ``SimulatedCrash`` at a given change, as if the process crashed at this change.

    Each created, written or deleted object is one change.
    """

    inner: CheckpointStorage
    crash_at: int = 1 << 30
    """Number of the change at which the process crashes. The first change has number 1."""
    after: bool = False
    """Whether the process crashes after the change instead of before it."""
    changes: int = 0
    """Number of changes so far, including the change at which the process crashed."""

    def _change(self, make: Callable[[], Any]) -> Any:
        self.changes += 1
        crashes = self.changes == self.crash_at
        if crashes and not self.after:
            raise SimulatedCrash
        made = make()
        if crashes:
            raise SimulatedCrash
        return made

    def put(self, path: str, data: Sequence[bytes | memoryview]) -> None:
        self._change(lambda: self.inner.put(path, data))

    def create(self, path: str, data: bytes) -> bool:
        created: bool = self._change(lambda: self.inner.create(path, data))
        return created

    def delete(self, paths: Sequence[str]) -> None:
        for path in paths:
            self._change(lambda path=path: self.inner.delete([path]))

    def get(self, path: str) -> memoryview:
        return self.inner.get(path)

    def size(self, path: str) -> int:
        return self.inner.size(path)

    def get_range(self, path: str, *, offset: int, bytes: int) -> memoryview:
        return self.inner.get_range(path, offset=offset, bytes=bytes)

    def list(self, prefix: str) -> list[StoredObject]:
        return self.inner.list(prefix)

    @property
    def url(self) -> str:
        return self.inner.url


@dataclass
class StoredRun(RunningJob):
    """A run that writes real checkpoints."""

    published_up_to: int | None = None
    """New manifests report the output up to this checkpoint as published. None means that each manifest reports the output up to
    the previous checkpoint as published."""
    written: dict[int, StateFile] = field(default_factory=dict)

    def complete(self, checkpoint: int, *, also: tuple[StateFile, ...] = (), savepoint: bool = False) -> StateFile:
        file = self.write_state(checkpoint)
        published = checkpoint - 1 if self.published_up_to is None else self.published_up_to
        manifest = replace(manifest_of(self.generation, checkpoint, (*also, file)), published_up_to=CheckpointId(published))
        written = write_manifest(self.storage, self.layout, manifest)
        self.append(
            CheckpointCompleted(
                self.generation, CheckpointId(checkpoint), written.path, written.checksum, file.bytes, nonce(), AT_MS,
                is_savepoint=savepoint,
            )
        )  # fmt: skip
        self.written[checkpoint] = file
        return file


@dataclass
class StoredJob:
    platform: Platform
    job_id: int
    driver: Driver
    directory: str
    run: StoredRun

    @classmethod
    def running(cls, platform: Platform, checkpoints: int = 5, *, retained: int = 3, directory: str | None = None) -> StoredJob:
        """Create a running job with checkpoints 1 to ``checkpoints``.

        The driver retires no checkpoint. If the driver crashes, the job restarts only after an hour.
        """
        body = {
            "artifact": platform.upload(),
            "checkpointing": {"retained": retained, "directory": directory},
            "restart": {"initial_s": 3_600, "max_s": 3_600},
        }
        job_id = platform.send("POST", "/jobs", status=201, json={"name": f"job-{next(_numbers)}", "spec": body})["id"]
        platform.compile(job_id)
        driver = platform.driver(job_id)
        driver.begin()
        with platform.database.session() as session:
            directory = session.scalars(select(Run.checkpoint_directory).where(Run.id == driver.run_id)).one()
        made = cls(platform, job_id, driver, directory, StoredRun(LocalStorage(directory), layout=JobLayout(NAME)))
        made.run.start(1)
        for number in range(1, checkpoints + 1):
            made.complete(number)
        return made

    @classmethod
    def suspended(cls, platform: Platform, checkpoints: int = 5, *, retained: int = 3, directory: str | None = None) -> StoredJob:
        made = cls.running(platform, checkpoints, retained=retained, directory=directory)
        made.suspend()
        return made

    @property
    def storage(self) -> CheckpointStorage:
        return self.run.storage

    @property
    def context(self) -> Context:
        return Context(self.platform.settings, self.platform.database, self.platform.tasks, "host", os.getpid())

    def complete(self, number: int, *, savepoint: bool = False) -> None:
        self.run.complete(number, savepoint=savepoint)
        trigger = "savepoint" if savepoint else "periodic"
        generation = self.run.generation
        first = CheckpointTriggered(CheckpointId(number), generation, trigger, 0)
        assert self.driver.send_events(first, Completed(CheckpointId(number), generation, trigger, 5, 9, ())) == 200

    def suspend(self) -> None:
        self.platform.send("POST", f"/jobs/{self.job_id}/suspend", status=202)
        self.platform.reconcile(self.job_id)
        assert self.driver.commands() == ["Suspend"]
        self.driver.send_events(RunStateChanged(DriverState.SUSPENDED, self.run.generation, "", ""))

    def start_again(self, restored_from: int | None = None) -> StoredRun:
        """Start the job again. The new driver starts the next generation in the job log."""
        self.platform.send("POST", f"/jobs/{self.job_id}/start", status=202)
        self.platform.reconcile(self.job_id)
        return self.take_next_generation(restored_from)

    def take_next_generation(self, restored_from: int | None = None) -> StoredRun:
        """Let the driver of the newest run start the next generation in the job log."""
        self.driver = self.platform.driver(self.job_id)
        view = self.view()
        assert view.newest is not None
        self.run = StoredRun(self.storage, layout=JobLayout(NAME))
        self.run.start(view.generation + 1, restored_from or view.newest.checkpoint)
        for state in (DriverState.INITIALIZING, DriverState.RUNNING):
            assert self.driver.send_events(RunStateChanged(state, Generation(view.generation + 1), "", "")) == 200
        return self.run

    def view(self) -> LogView:
        return JobLog(LocalStorage(self.directory), JobLayout(NAME)).read()[0]

    def kept(self) -> list[int]:
        return [int(record.checkpoint) for record in self.view().kept]

    def files_of(self, number: int) -> list[str]:
        """Return the paths of the manifest and the state file of a checkpoint. The list omits deleted files."""
        return [path for path in self.run.paths() if f"-c{number}-" in path or path.startswith(f"checkpoints/{number}/")]

    def path_of(self, number: int) -> str:
        """Return the path of the checkpoint's state file."""
        return os.path.join(self.directory, self.run.layout.absolute(self.run.written[number].path))

    def collect_garbage(self, storage: CheckpointStorage | None = None) -> None:
        """Collect the garbage of the job, as a worker does."""
        collect_job_garbage(self.context, self.job_id, lambda _: storage or LocalStorage(self.directory))

    def expire_lease(self) -> None:
        """Let the garbage-collection lease of a crashed worker expire."""
        with self.platform.database.session() as session:
            session.execute(
                update(Job).where(Job.id == self.job_id, Job.retention_until.is_not(None)).values(retention_until=now())
            )

    def row(self, number: int) -> Checkpoint:
        with self.platform.database.session() as session:
            return session.scalars(select(Checkpoint).where(Checkpoint.job_id == self.job_id, Checkpoint.number == number)).one()

    def discarded(self) -> list[int]:
        with self.platform.database.session() as session:
            query = select(Checkpoint.number).where(Checkpoint.job_id == self.job_id, Checkpoint.discarded_at.is_not(None))
            return sorted(session.scalars(query))

    def events_of(self, kind: str) -> list[dict[str, Any]]:
        """Return the fields of the job's events of kind ``kind``."""
        with self.platform.database.session() as session:
            query = select(Event.fields).where(Event.job_id == self.job_id, Event.kind == kind).order_by(Event.number)
            return list(session.scalars(query))

    def send(self, method: str, number: int, what: str = "", *, status: int, **more: Any) -> Any:
        """Send a request about one checkpoint."""
        return self.platform.send(method, f"/jobs/{self.job_id}/checkpoints/{number}{what}", status=status, **more)

    def pin(self, number: int, pinned: bool = True, *, status: int = 200) -> Any:
        return self.platform.send(
            "PATCH", f"/checkpoints/{self.row(number).id}", status=status, json={"pinned": pinned}, headers={"If-Match": "*"}
        )


@contextmanager
def lock_holder(directory: RunDirectory) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process that holds the lock of the directory, as a driver does, and does nothing else."""
    directory.make()
    with subprocess.Popen(["flock", directory.lock, "sleep", "600"], start_new_session=True) as process:
        try:
            identity = {"pid": process.pid, "started": psutil.Process(process.pid).create_time()}
            directory.process.write_text(json.dumps(identity))
            while not (directory.lock.exists() and directory.is_alive()):
                assert process.poll() is None
                time.sleep(0.01)  # poll, because the process writes no message when it gets the lock
            yield process
        finally:
            process.kill()
