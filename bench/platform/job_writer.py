"""Rows of one job, written by the services that the API and the workers call, with a simulated driver. This module
itself inserts no rows."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from bench.platform import driver_events
from bench.platform.graph import SLOTS
from weir.protocol.events import (
    CommandAnswered,
    CommandOutcome,
    DriverState,
    Event,
    GraphDeployed,
    NumberedEvent,
    RunStateChanged,
    SamplesDropped,
)
from weir.protocol.ids import CommandId, EventNumber, Generation
from weir_backend.jobs import repository as jobs
from weir_backend.jobs import service as job_service
from weir_backend.jobs.event_log import record_event
from weir_backend.jobs.schemas import JobCreate, SpecCreate
from weir_backend.jobs.spec import JobSpec
from weir_backend.kit.access import Caller
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.link.service import KnownRun, store
from weir_backend.models import Job
from weir_backend.reconciler.service import Reconciler, mark_driver_lost
from weir_backend.recovery import service as recovery
from weir_backend.recovery.schemas import PlanCreate, PlanInspection, RollbackRequest
from weir_backend.runs import repository as runs
from weir_backend.runs.graph import graph_content
from weir_backend.runs.repository import store_graph
from weir_backend.runs.service import run_token
from weir_backend.settings import Settings

RUNS = 3
"""Runs per job. Every run except the last one loses its driver."""
DAYS = 30
"""Age of a job's first event, in days."""
BATCH_EVENTS = 2_000
EVENTS_OF_AN_END = 20
"""The maximum number of events that the driver and the control plane together add at the end of a job."""
_INSPECTION = PlanInspection(
    intact=True, damage=None, files=24, bytes=24 << 20, abandoned=[], reinstated=[], sources=[], sinks=[], notes=[]
)


class NoTasks:
    """A task queue that discards all tasks."""

    def enqueue(self, name: str, *arguments: int | str, queue: str | None = None, expires_s: int | None = None) -> None:
        pass


@dataclass(frozen=True, slots=True)
class JobScript:
    """The rows to write for one job: ``checkpoints`` over all its runs, ``events`` in its log, samples of the last ``samples_s``
    seconds. ``end``: the final state of the last run. None means that the last run continues."""

    name: str
    checkpoints: int
    events: int
    samples_s: int
    end: DriverState | None
    seed: int


@dataclass(slots=True)
class RowCounts:
    """Expected numbers of rows."""

    jobs: int = 0
    checkpoints: int = 0
    events: int = 0
    samples: int = 0

    def add(self, other: RowCounts) -> None:
        self.jobs += other.jobs
        self.checkpoints += other.checkpoints
        self.events += other.events
        self.samples += other.samples


@dataclass(frozen=True, slots=True)
class RunConnection:
    """The ids and the token that a driver needs to send events."""

    job_id: int
    run_id: int
    token: str


@dataclass(slots=True)
class JobWriter:
    """Deploys jobs through the services of the control plane, as ``caller``. ``digest``: the artifact of all jobs.
    ``graph``: the graph that was compiled from this artifact."""

    settings: Settings
    database: Database
    caller: Caller
    digest: str
    graph: dict[str, Any]
    tasks: NoTasks = field(default_factory=NoTasks)

    def deploy(self, name: str) -> int:
        """Create a job and start its first run. Return the id of the job."""
        labels = {"made-by": "benchmark"}
        draft = JobCreate(name=name, description="Orders by customer", labels=labels, spec=JobSpec(artifact=self.digest))
        with self.database.session() as session:
            job_id = job_service.create(session, self.tasks, self.caller, draft).id
        self._compiled(job_id, 1)
        self.reconcile(job_id)
        return job_id

    def upgrade(self, job_id: int) -> None:
        """Add version 2 of the spec. No run of the job uses version 2."""
        body = JobSpec(artifact=self.digest, parameters={"since": "2026-01-01"}, parallelism=SLOTS)
        with self.database.session() as session:
            job_service.add_spec(session, self.tasks, self.caller, job_id, "*", SpecCreate(spec=body, comment="only new orders"))
        self._compiled(job_id, 2)

    def _compiled(self, job_id: int, number: int) -> None:
        with self.database.session() as session:
            spec = jobs.find_spec(session, job_id, number)
            assert spec is not None
            graph_id = store_graph(session, graph_content(self.graph))
            job_service.compiled(session, self.tasks, spec, graph_id=graph_id, problem=None)

    def reconcile(self, job_id: int) -> None:
        with self.database.session() as session:
            Reconciler(self.settings, self.tasks).reconcile(session, job_id)

    def restart(self, job_id: int, run_id: int) -> None:
        """Mark the driver as lost and start the next run without the restart delay."""
        with self.database.session() as session:
            assert mark_driver_lost(session, job_id, run_id, "The driver process exited.")
        self.reconcile(job_id)
        with self.database.session() as session:
            session.get_one(Job, job_id).restart_at = now()
        self.reconcile(job_id)

    def live_run(self, job_id: int) -> RunConnection:
        with self.database.session() as session:
            run = runs.live_run(session, job_id)
            assert run is not None, f"job {job_id} has no run"
            return RunConnection(job_id, run.id, run_token(self.settings, run.directory))

    def propose_rollback(self, job_id: int, checkpoint: int) -> None:
        with self.database.session() as session:
            draft = PlanCreate(request=RollbackRequest(kind="rollback", checkpoint=checkpoint))
            plan = recovery.propose(session, self.settings, self.tasks, self.caller, job_id, draft)
            plan_id = plan.id
        with self.database.session() as session:
            recovery.record_inspection(session, self.settings, plan_id, _INSPECTION)


class SimulatedDriver:
    """The simulated driver of a job's live run. The driver reports events in time order."""

    def __init__(self, writer: JobWriter, job_id: int, counts: RowCounts) -> None:
        self.run = writer.live_run(job_id)
        self._author = writer
        self.generation = 1
        """The newest generation that the driver has reported."""
        self._counts = counts
        self._number = 0

    def report(self, events: Sequence[tuple[int, Event]]) -> None:
        """Report events with their times in milliseconds."""
        for begin in range(0, len(events), BATCH_EVENTS):
            chunk = events[begin : begin + BATCH_EVENTS]
            batch = [
                NumberedEvent(EventNumber(self._number + position), at_ms, event)
                for position, (at_ms, event) in enumerate(chunk, start=1)
            ]
            self._number += len(chunk)
            with self._author.database.session() as session:
                known = KnownRun(self.run.run_id, self.run.job_id, False, 0, None)
                stored = store(session, self._author.tasks, known, batch, oldest=1)
            assert stored == self._number
            for _, event in chunk:
                if isinstance(event, RunStateChanged):
                    self.generation = event.generation
            rows = driver_events.rows_of(batch)
            self._counts.samples += rows.samples
            self._counts.checkpoints += rows.triggered


def write_job(writer: JobWriter, script: JobScript) -> RowCounts:
    """Write the rows of a job from its first event until now. Return the expected numbers of rows."""
    rng = random.Random(script.seed)
    counts = RowCounts(jobs=1)
    job_id = writer.deploy(script.name)
    writer.upgrade(job_id)
    until_ms = int(now().timestamp() * 1000)
    sampled_ms = until_ms - script.samples_s * 1000
    begin_ms = sampled_ms - int(timedelta(days=DAYS).total_seconds()) * 1000
    events_by_run = list(_runs(script, rng, writer.graph))
    step_ms = max(1, (sampled_ms - begin_ms) // sum(len(events) for events in events_by_run))
    at_ms = begin_ms
    driver = SimulatedDriver(writer, job_id, counts)
    for position, events in enumerate(events_by_run):
        if position:
            writer.restart(job_id, driver.run.run_id)
            driver = SimulatedDriver(writer, job_id, counts)
        driver.report([(at_ms + number * step_ms, event) for number, event in enumerate(events)])
        at_ms += len(events) * step_ms
    number = script.checkpoints
    _take_savepoint(writer, job_id, driver, number, rng, at_ms)
    _report_samples(driver, script, begin_ms=sampled_ms)
    writer.propose_rollback(job_id, number)
    # A run that has ended cannot report events, so fill the event log before the last run ends.
    _fill_log(writer, job_id, driver, script.events - EVENTS_OF_AN_END, until_ms)
    _end(writer, job_id, driver, script.end, until_ms)
    counts.events = _top_up(writer, job_id, script.events)
    return counts


def _runs(script: JobScript, rng: random.Random, graph: dict[str, Any]) -> Iterator[list[Event]]:
    """Yield the events of each run. The events of the last checkpoint are not included, because the last checkpoint is a
    savepoint that is taken later."""
    rest = script.checkpoints - 1
    recoveries = max(0, script.events - 2 * script.checkpoints - 60) // 4
    number = 1
    for run in range(RUNS):
        count = rest // RUNS + (run < rest % RUNS)
        lost = recoveries // RUNS
        events: list[Event] = [
            GraphDeployed(graph),
            RunStateChanged(DriverState.INITIALIZING, Generation(1)),
            RunStateChanged(DriverState.RUNNING, Generation(1)),
        ]
        generation = 1
        rounds = max(count, 1)
        for round_number in range(rounds):
            for _ in range(lost * (round_number + 1) // rounds - lost * round_number // rounds):
                events += driver_events.recovery(generation, rng)
                generation += 1
            if round_number < count:
                fails = rng.random() < driver_events.FAILED_CHECKPOINTS
                events += driver_events.checkpoint(number, generation, rng, fails=fails)
                number += 1
        yield events


def _take_savepoint(writer: JobWriter, job_id: int, driver: SimulatedDriver, number: int, rng: random.Random, at_ms: int) -> None:
    with writer.database.session() as session:
        job_service.savepoint(session, writer.tasks, writer.caller, job_id)
    taken = driver_events.checkpoint(number, driver.generation, rng, trigger="savepoint")
    answered = CommandAnswered(CommandId(1), CommandOutcome.ACCEPTED)
    driver.report([(at_ms, event) for event in (answered, *taken)])
    writer.reconcile(job_id)


def _report_samples(driver: SimulatedDriver, script: JobScript, *, begin_ms: int) -> None:
    driver.report(
        [
            (begin_ms + second * 1000, driver_events.sample(slot, second, driver.generation))
            for second in range(0, script.samples_s, 2)
            for slot in range(SLOTS)
        ]
    )


def _end(writer: JobWriter, job_id: int, driver: SimulatedDriver, end: DriverState | None, at_ms: int) -> None:
    if end is None:
        return
    if end is DriverState.SUSPENDED:
        with writer.database.session() as session:
            job_service.suspend(session, writer.tasks, writer.caller, job_id)
        writer.reconcile(job_id)
        driver.report([(at_ms, CommandAnswered(CommandId(2), CommandOutcome.ACCEPTED))])
    driver.report([(at_ms, RunStateChanged(end, Generation(driver.generation)))])
    writer.reconcile(job_id)


def _fill_log(writer: JobWriter, job_id: int, driver: SimulatedDriver, events: int, at_ms: int) -> None:
    """Report events until the event log has ``events`` entries, including the entries of the control plane."""
    with writer.database.session() as session:
        so_far = session.get_one(Job, job_id).event_number
    driver.report([(at_ms, SamplesDropped(17, at_ms - 34_000, at_ms))] * max(0, events - so_far))


def _top_up(writer: JobWriter, job_id: int, events: int) -> int:
    """Add events of the control plane until the job has ``events`` events. Return the number of events of the job."""
    with writer.database.session() as session:
        job = session.get_one(Job, job_id, with_for_update=True)
        for _ in range(events - job.event_number):
            record_event(session, job, "DesiredStateChanged", desired_state=job.desired_state.value, by=writer.caller.name)
        return job.event_number
