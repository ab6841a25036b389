"""Fake workers and drivers in threads. The results of the fakes are invented, but their events and commands use the real API.

A word in the code of a job controls the job:

- ``broken``: the code does not compile.
- ``fails_to_start``: the run fails before it is RUNNING.
- ``fails_later``: the run fails after it is RUNNING.
- ``no_checkpoints``: the run completes only checkpoints that a command requests.
"""

from __future__ import annotations

import json
import queue
import threading
import time
import traceback
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI
from sqlalchemy import select
from sqlalchemy.orm import Session

from weir.link.delivery import EventBatch, Stored
from weir.link.http import LinkAddress, LinkClient
from weir.protocol.events import (
    Cancel,
    CheckpointCompleted,
    CheckpointTriggered,
    CommandAnswered,
    CommandOutcome,
    DriverState,
    Event,
    GraphDeployed,
    MetricsSampled,
    NumberedCommand,
    NumberedEvent,
    ProfileEnded,
    ProfileSlot,
    RunStateChanged,
    Suspend,
    TakeCheckpoint,
    TakeSavepoint,
    encode_batch,
    encode_event,
)
from weir.protocol.ids import CheckpointId, CommandId, EventNumber, Generation, SlotIndex
from weir.protocol.messages import SlotMetrics, SubtaskMetrics
from weir.protocol.profiles import ProfileFrame, SlotProfile, StackCount, ThreadProfile
from weir_backend.artifacts import repository as artifacts
from weir_backend.job_manifests import service as job_manifests
from weir_backend.jobs import repository as jobs
from weir_backend.jobs import service
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.kit.tasks import CHECK_SPEC, COMPILE, INSPECT, INSPECT_SPEC, PIN, RECONCILE, SUBMIT
from weir_backend.models import Checkpoint, Job, Run, SpecCheck
from weir_backend.reconciler.service import Reconciler
from weir_backend.recovery import repository as plans
from weir_backend.recovery import service as plan_service
from weir_backend.recovery.schemas import ExternalCheckpointRead, PlanInspection, SinkEffect, SourcePosition
from weir_backend.runs import repository
from weir_backend.runs.graph import graph_content
from weir_backend.runs.service import run_token
from weir_backend.settings import Settings

GRAPH = {
    "logical": {
        "job": "j",
        "operators": [
            {"uid": "read", "kind": "source", "name": "read", "config": {"kind": "files"}},
            {"uid": "files", "kind": "sink", "name": "files", "config": {"kind": "parquet"}},
            {"uid": "console", "kind": "sink", "name": "console", "config": {"kind": "console"}},
        ],
    },
    "slots": 2,
    "chains": [{"index": 0, "operators": ["read", "files", "console"], "parallelism": 2}],
    "edges": [],
    "max_parallelism": {},
}
SPLIT = {"id": "flights.csv", "payload": {}, "position": 4711}


@dataclass
class Worker:
    """Replaces the Celery broker and all workers."""

    settings: Settings
    database: Database
    paused: set[str] = field(default_factory=set)
    """Names of tasks that are postponed until ``resume`` is called."""
    damaged: set[int] = field(default_factory=set)
    """Numbers of checkpoints with damaged files."""
    incompatibility: str | None = None
    """The incompatibility that inspections report for every checkpoint. None means that all checkpoints are compatible."""
    graph: dict[str, Any] = field(default_factory=lambda: GRAPH)
    url: str = ""
    app: FastAPI | None = None
    problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._tasks: queue.Queue[tuple[str, tuple[int | str, ...]]] = queue.Queue()
        self._postponed: list[tuple[str, tuple[int | str, ...]]] = []
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._work)
        self._drivers: dict[int, Driver] = {}
        self._numbers: defaultdict[int, int] = defaultdict(int)

    def enqueue(self, name: str, *arguments: int | str, queue: str | None = None, expires_s: int | None = None) -> None:
        self._tasks.put((name, arguments))

    def start(self, url: str) -> None:
        self.url = url
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()
        for driver in self._drivers.values():
            driver.ended.set()
        for driver in self._drivers.values():
            driver.join()
        assert not self.problems, self.problems

    def resume(self) -> None:
        """Execute the postponed tasks."""
        self.paused.clear()
        while self._postponed:
            self._tasks.put(self._postponed.pop(0))

    def next_checkpoint(self, job_id: int) -> int:
        self._numbers[job_id] += 1
        return self._numbers[job_id]

    def driver_of(self, job_id: int) -> Driver:
        return [one for one in self._drivers.values() if one.job_id == job_id][-1]

    def starts(self, job_id: int) -> list[dict[str, Any]]:
        """Return the start modes of the job's runs, oldest first."""
        with self.database.session() as session:
            return list(session.scalars(select(Run.start).where(Run.job_id == job_id).order_by(Run.number)))

    def _work(self) -> None:
        try:
            self._work_until_stopped()
        except Exception:  # noqa: BLE001  # the end of the test reports the error
            self.problems.append(traceback.format_exc())
            traceback.print_exc()

    def _work_until_stopped(self) -> None:
        reconciled_at = 0.0
        while not self._stopped.is_set():
            try:
                name, arguments = self._tasks.get(timeout=0.05)
            except queue.Empty:
                pass
            else:
                if name in self.paused:
                    self._postponed.append((name, arguments))
                else:
                    self._execute_task(name, int(arguments[0]))
            if time.monotonic() > reconciled_at + 0.2 and RECONCILE not in self.paused:
                reconciled_at = time.monotonic()
                with self.database.session() as session:
                    due = repository.jobs_to_reconcile(session, now(), limit=100)
                for job_id in due:
                    self._execute_task(RECONCILE, job_id)

    def _execute_task(self, name: str, key: int) -> None:
        if name == COMPILE:
            self._compile(key)
        elif name == CHECK_SPEC:
            self._check_spec(key)
        elif name == INSPECT_SPEC:
            with self.database.session() as session:
                job_manifests.record_inspection(session, key, self._inspection(None, 0))
        elif name == RECONCILE:
            with self.database.session() as session:
                Reconciler(self.settings, self).reconcile(session, key)
        elif name == SUBMIT:
            self._submit(key)
        elif name == PIN:
            with self.database.session() as session:
                found = session.get_one(Checkpoint, key)
                found.pin_in_force = found.pinned
                session.get_one(Job, found.job_id).next_reconcile_at = now()
        elif name == INSPECT:
            self._inspect(key)

    def _compile(self, spec_id: int) -> None:
        with self.database.session() as session:
            spec = jobs.find_spec_by_id(session, spec_id)
            graph_id, problem = self._graph(session, spec.artifact_id)
            service.compiled(session, self, spec, graph_id=graph_id, problem=problem)

    def _check_spec(self, check_id: int) -> None:
        with self.database.session() as session:
            graph_id, problem = self._graph(session, session.get_one(SpecCheck, check_id).artifact_id)
            job_manifests.record_compilation(session, self, check_id, graph_id=graph_id, problem=problem)

    def _graph(self, session: Session, artifact_id: int) -> tuple[int | None, str | None]:
        if b"broken" in artifacts.content(session, artifact_id):
            return None, "job.py:3: there is no column 'fligth'; did you mean 'flight'?"
        return repository.store_graph(session, graph_content(self.graph)), None

    def _submit(self, run_id: int) -> None:
        with self.database.session() as session:
            run = session.get_one(Run, run_id)
            spec = jobs.find_spec_by_id(session, run.spec_id)
            code = artifacts.content(session, spec.artifact_id)
        if run_id not in self._drivers:
            self._drivers[run_id] = Driver(self, run.job_id, run_id, run.directory, code.decode())
            self._drivers[run_id].start()

    def _inspect(self, plan_id: int) -> None:
        with self.database.session() as session:
            plan = plans.find(session, plan_id)
            assert plan is not None
            preview = plan.preview
            target = preview["checkpoint"]
            if preview["without_state"] or preview["path"] is not None:
                target = 0
            newest = self._numbers[plan.job_id]
            external = ExternalCheckpointRead(
                job="old flights",
                checkpoint=plan.request.get("checkpoint") or 41,
                completed_at=now(),
                state_bytes=9,
                is_savepoint=True,
            )
            found = self._inspection(target, newest, external if preview["path"] is not None else None)
            waiting = plan_service.record_inspection(session, self.settings, plan_id, found)
        if waiting is not None:
            self.enqueue(RECONCILE, waiting)

    def _inspection(self, target: int | None, newest: int, external: ExternalCheckpointRead | None = None) -> PlanInspection:
        """Return the inspection for a plan that restores the checkpoint ``target``."""
        intact = target not in self.damaged
        return PlanInspection(
            intact=intact,
            damage=None if intact else "0001/read-0.arrow has a different checksum",
            files=2,
            bytes=2_000,
            abandoned=list(range(target + 1, newest + 1)) if target is not None else [],
            reinstated=[],
            sources=[SourcePosition(source="read", splits=[SPLIT])] if target else [],
            sinks=[
                SinkEffect(sink="files", kind="parquet", revocable=True),
                SinkEffect(sink="console", kind="console", revocable=False),
            ],
            notes=[],
            incompatibility=self.incompatibility,
            external_checkpoint=external,
        )


class Driver(threading.Thread):
    """A fake driver of one run. The driver starts, completes a checkpoint and executes commands, over the real control link."""

    def __init__(self, worker: Worker, job_id: int, run_id: int, directory: str, code: str) -> None:
        super().__init__()
        self.worker = worker
        self.job_id = job_id
        self.run_id = run_id
        self.code = code
        self.ended = threading.Event()
        self.log = worker.settings.data_dir / "runs" / directory / "driver.log"
        address = LinkAddress(f"{worker.url}/api/v1/runs/{run_id}", run_token(worker.settings, directory))
        # Only one thread at a time may use a client. Both the driver and the threads of tests send events, so a lock guards the
        # client for events.
        self._commands, self._events = LinkClient(address), LinkClient(address)
        self._sending = threading.Lock()
        self._sent = 0

    def log_line(self, text: str, **fields: Any) -> None:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("a") as file:
            file.write(json.dumps({"event": text, "level": "info", "timestamp": "2026-11-21T21:00:00Z", **fields}) + "\n")

    def send(self, *events: Event, at_ms: int | None = None) -> None:
        """Send events in order and wait until the API has stored them. After the run has ended, the driver sends no events."""
        with self._sending:
            first = self._sent + 1
            numbered = [
                NumberedEvent(EventNumber(first + offset), at_ms or _now_ms(), event) for offset, event in enumerate(events)
            ]
            last = EventNumber(first + len(events) - 1)
            post = EventBatch(encode_batch([encode_event(one) for one in numbered]), EventNumber(first), last, EventNumber(first))
            while not self.ended.is_set():
                if isinstance(self._events.post(post), Stored):
                    self._sent = int(last)
                    return
                self.ended.wait(0.1)

    def complete_checkpoint(self, trigger: str = "periodic") -> None:
        number = CheckpointId(self.worker.next_checkpoint(self.job_id))
        self.send(
            CheckpointTriggered(number, Generation(1), trigger, 2),
            CheckpointCompleted(number, Generation(1), trigger, 40, 2_000, ()),
        )

    def end(self, state: DriverState, reason: str = "", kind: str = "") -> None:
        self.send(RunStateChanged(state, Generation(1), reason, kind))
        self.ended.set()

    def run(self) -> None:
        try:
            self._run()
        finally:
            self._commands.close()
            with self._sending:
                self._events.close()

    def _run(self) -> None:
        self.log_line("driver started", run=self.run_id)
        self.send(GraphDeployed(self.worker.graph), RunStateChanged(DriverState.INITIALIZING, Generation(1)))
        if "fails_to_start" in self.code:
            self.log_line("exiting")
            self.end(DriverState.FAILED, "cannot find the input flights.csv", "ConfigError")
            return
        self.send(RunStateChanged(DriverState.RUNNING, Generation(1)))
        if "fails_later" in self.code:
            self.end(DriverState.FAILED, "cannot process the number 7", "UserCodeError")
            return
        if "no_checkpoints" not in self.code:
            self.complete_checkpoint()
        after = 0
        while not self.ended.is_set():
            for command in self._commands.commands(after=CommandId(after), wait_s=0).commands:
                after = int(command.id)
                self._execute(command)
            self.ended.wait(0.1)

    def _execute(self, command: NumberedCommand) -> None:
        self.send(CommandAnswered(command.id, CommandOutcome.ACCEPTED))
        match command.command:
            case TakeSavepoint():
                self.complete_checkpoint("savepoint")
            case TakeCheckpoint():
                self.complete_checkpoint("manual")
            case Suspend():
                self.complete_checkpoint("suspend")
                self.end(DriverState.SUSPENDED)
            case Cancel():
                self.end(DriverState.CANCELED)
            case ProfileSlot(slot, seconds):
                self.send(self._profile(command.id, slot, seconds))

    @staticmethod
    def _profile(command: CommandId, slot: SlotIndex, seconds: int) -> ProfileEnded:
        if slot > 1:
            return ProfileEnded(command, None, f"The job has no slot {slot}: its slots are 0 to 1.")
        frames = (ProfileFrame("run", "weir/subtask/process.py", 217), ProfileFrame("parse", "flights.py", 12))
        stacks = (StackCount((0, 1), 80 * seconds), StackCount((0,), 20 * seconds))
        threads = (ThreadProfile("weir-loop", 900 * seconds, stacks),)
        return ProfileEnded(command, SlotProfile(1_000 * seconds, 10, 100 * seconds, 0, frames, threads))

    def sample(self, *seconds: int) -> None:
        """Report 100 records per second at each of the times ``seconds``. The last time in ``seconds`` is the
        current time."""
        for after in seconds:
            us = 1_000_000 * after
            subtask = SubtaskMetrics(0, 0, 100 * after, 50 * after, 0, 0, us // 2, us // 4, us // 4, 0)
            metrics = SlotMetrics(Generation(1), SlotIndex(0), 200 << 20, us, (subtask,), {})
            self.send(MetricsSampled(metrics), at_ms=_now_ms() - 1000 * (seconds[-1] - after))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
