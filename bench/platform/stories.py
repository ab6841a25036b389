"""How one job gets its rows: by the services that the API and the workers call, with a driver that is played. No row is made by hand."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from bench.platform import history
from bench.platform.graph import SLOTS
from weir.protocol.events import (
    CommandAnswered,
    CommandOutcome,
    Event,
    GraphDeployed,
    NumberedEvent,
    RunState,
    RunStateChanged,
    SamplesDropped,
)
from weir.protocol.ids import CommandId, EventNumber, Generation
from weir_backend.graphs import repository as graphs
from weir_backend.graphs.content import content_of
from weir_backend.jobs import repository as jobs
from weir_backend.jobs import service as job_service
from weir_backend.jobs.history import record
from weir_backend.jobs.schemas import JobDraft, SpecDraft
from weir_backend.jobs.spec import SpecBody
from weir_backend.kit.access import Caller
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.link.service import KnownRun, store
from weir_backend.models import Job
from weir_backend.reconciling import repository as runs
from weir_backend.reconciling.runs import token
from weir_backend.reconciling.service import Reconciler, driver_gone
from weir_backend.recovery import service as recovery
from weir_backend.recovery.schemas import Inspection, PlanDraft, RollbackRequest
from weir_backend.settings import Settings

RUNS = 3
"""Of each job: the first ones lose their driver."""
DAYS = 30
"""So long ago the first event of a job happened."""
BATCH_EVENTS = 2_000
EVENTS_OF_AN_END = 20
"""Of the driver and the control plane together, at most."""
_WHOLE = Inspection(whole=True, damage=None, files=24, bytes=24 << 20, abandoned=[], returning=[], sources=[], sinks=[], notes=[])


class NoTasks:
    """Nobody works here but us."""

    def enqueue(self, name: str, *arguments: int | str, queue: str | None = None, expires_s: int | None = None) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Wanted:
    """Of one job: ``checkpoints`` in all its runs, ``events`` in its log, samples of the last ``samples_s`` seconds. ``end``: what becomes
    of its last run; None: it runs on."""

    name: str
    checkpoints: int
    events: int
    samples_s: int
    end: RunState | None
    seed: int


@dataclass(slots=True)
class Told:
    """Rows that there have to be."""

    jobs: int = 0
    checkpoints: int = 0
    events: int = 0
    samples: int = 0

    def add(self, other: Told) -> None:
        self.jobs += other.jobs
        self.checkpoints += other.checkpoints
        self.events += other.events
        self.samples += other.samples


@dataclass(frozen=True, slots=True)
class LiveRun:
    """What a driver needs to report."""

    job_id: int
    run_id: int
    token: str


@dataclass(slots=True)
class Author:
    """Whoever deploys: ``caller``, with an artifact of ``digest`` whose code makes ``graph``."""

    settings: Settings
    database: Database
    caller: Caller
    digest: str
    graph: dict[str, Any]
    tasks: NoTasks = field(default_factory=NoTasks)

    def deploy(self, name: str) -> int:
        """A job whose first run has been begun."""
        labels = {"made-by": "benchmark"}
        draft = JobDraft(name=name, description="Orders by customer", labels=labels, spec=SpecBody(artifact=self.digest))
        with self.database.session() as session:
            job_id = job_service.create(session, self.tasks, self.caller, draft).id
        self._compiled(job_id, 1)
        self.look(job_id)
        return job_id

    def upgrade(self, job_id: int) -> None:
        """A second version, which nobody applies."""
        body = SpecBody(artifact=self.digest, parameters={"since": "2026-01-01"}, parallelism=SLOTS)
        with self.database.session() as session:
            job_service.add_spec(session, self.tasks, self.caller, job_id, "*", SpecDraft(spec=body, comment="only what is new"))
        self._compiled(job_id, 2)

    def _compiled(self, job_id: int, number: int) -> None:
        with self.database.session() as session:
            spec = jobs.find_spec(session, job_id, number)
            assert spec is not None
            graph_id = graphs.store(session, content_of(self.graph))
            job_service.compiled(session, self.tasks, spec, graph_id=graph_id, problem=None)

    def look(self, job_id: int) -> None:
        with self.database.session() as session:
            Reconciler(self.settings, self.tasks).look(session, job_id)

    def restart(self, job_id: int, run_id: int) -> None:
        """Its driver is gone, and the delay before the next one over at once."""
        with self.database.session() as session:
            assert driver_gone(session, job_id, run_id, "its process is gone")
        self.look(job_id)
        with self.database.session() as session:
            session.get_one(Job, job_id).not_before = now()
        self.look(job_id)

    def live_run(self, job_id: int) -> LiveRun:
        with self.database.session() as session:
            run = runs.live(session, job_id)
            assert run is not None, f"job {job_id} has no run"
            return LiveRun(job_id, run.id, token(self.settings, run.directory))

    def propose_rollback(self, job_id: int, checkpoint: int) -> None:
        with self.database.session() as session:
            draft = PlanDraft(request=RollbackRequest(kind="rollback", checkpoint=checkpoint))
            plan = recovery.propose(session, self.settings, self.tasks, self.caller, job_id, draft)
            plan_id = plan.id
        with self.database.session() as session:
            recovery.inspected(session, self.settings, plan_id, _WHOLE)


class Driver:
    """Of the live run of a job: tells what happened at which time, in the order of time."""

    def __init__(self, author: Author, job_id: int, told: Told) -> None:
        self.run = author.live_run(job_id)
        self._author = author
        self.generation = 1
        """Of the runtime, as it was told last."""
        self._told = told
        self._number = 0

    def tell(self, events: Sequence[tuple[int, Event]]) -> None:
        """Time in milliseconds, and what happened."""
        for begin in range(0, len(events), BATCH_EVENTS):
            piece = events[begin : begin + BATCH_EVENTS]
            batch = [
                NumberedEvent(EventNumber(self._number + place), at_ms, event)
                for place, (at_ms, event) in enumerate(piece, start=1)
            ]
            self._number += len(piece)
            with self._author.database.session() as session:
                known = KnownRun(self.run.run_id, self.run.job_id, False, 0, None)
                stored = store(session, self._author.tasks, known, batch, oldest=1)
            assert stored == self._number
            for _, event in piece:
                if isinstance(event, RunStateChanged):
                    self.generation = event.generation
            rows = history.rows_of(batch)
            self._told.samples += rows.samples
            self._told.checkpoints += rows.triggered


def tell_story(author: Author, wanted: Wanted) -> Told:
    """The whole life of a job until today. What there has to be in the tables of it."""
    luck = random.Random(wanted.seed)
    told = Told(jobs=1)
    job_id = author.deploy(wanted.name)
    author.upgrade(job_id)
    until_ms = int(now().timestamp() * 1000)
    sampled_ms = until_ms - wanted.samples_s * 1000
    begin_ms = sampled_ms - int(timedelta(days=DAYS).total_seconds()) * 1000
    life = list(_life(wanted, luck, author.graph))
    step_ms = max(1, (sampled_ms - begin_ms) // sum(len(events) for events in life))
    at_ms = begin_ms
    driver = Driver(author, job_id, told)
    for place, events in enumerate(life):
        if place:
            author.restart(job_id, driver.run.run_id)
            driver = Driver(author, job_id, told)
        driver.tell([(at_ms + number * step_ms, event) for number, event in enumerate(events)])
        at_ms += len(events) * step_ms
    number = wanted.checkpoints
    _take_savepoint(author, job_id, driver, number, luck, at_ms)
    _tell_samples(driver, wanted, begin_ms=sampled_ms)
    author.propose_rollback(job_id, number)
    # A run that is over tells nothing any more, so the log is filled before that.
    _fill_log(author, job_id, driver, wanted.events - EVENTS_OF_AN_END, until_ms)
    _end(author, job_id, driver, wanted.end, until_ms)
    told.events = _top_up(author, job_id, wanted.events)
    return told


def _life(wanted: Wanted, luck: random.Random, graph: dict[str, Any]) -> Iterator[list[Event]]:
    """Of each run. The last checkpoint of all is taken later, as a savepoint."""
    rest = wanted.checkpoints - 1
    recoveries = max(0, wanted.events - 2 * wanted.checkpoints - 60) // 4
    number = 1
    for run in range(RUNS):
        count = rest // RUNS + (run < rest % RUNS)
        lost = recoveries // RUNS
        events: list[Event] = [
            GraphDeployed(graph),
            RunStateChanged(RunState.INITIALIZING, Generation(1)),
            RunStateChanged(RunState.RUNNING, Generation(1)),
        ]
        generation = 1
        turns = max(count, 1)
        for turn in range(turns):
            for _ in range(lost * (turn + 1) // turns - lost * turn // turns):
                events += history.recovery(generation, luck)
                generation += 1
            if turn < count:
                fails = luck.random() < history.FAILED_CHECKPOINTS
                events += history.checkpoint(number, generation, luck, fails=fails)
                number += 1
        yield events


def _take_savepoint(author: Author, job_id: int, driver: Driver, number: int, luck: random.Random, at_ms: int) -> None:
    with author.database.session() as session:
        job_service.savepoint(session, author.tasks, author.caller, job_id)
    taken = history.checkpoint(number, driver.generation, luck, trigger="savepoint")
    answered = CommandAnswered(CommandId(1), CommandOutcome.ACCEPTED)
    driver.tell([(at_ms, event) for event in (answered, *taken)])
    author.look(job_id)


def _tell_samples(driver: Driver, wanted: Wanted, *, begin_ms: int) -> None:
    driver.tell(
        [
            (begin_ms + second * 1000, history.sample(slot, second, driver.generation))
            for second in range(0, wanted.samples_s, 2)
            for slot in range(SLOTS)
        ]
    )


def _end(author: Author, job_id: int, driver: Driver, end: RunState | None, at_ms: int) -> None:
    if end is None:
        return
    if end is RunState.SUSPENDED:
        with author.database.session() as session:
            job_service.suspend(session, author.tasks, author.caller, job_id)
        author.look(job_id)
        driver.tell([(at_ms, CommandAnswered(CommandId(2), CommandOutcome.ACCEPTED))])
    driver.tell([(at_ms, RunStateChanged(end, Generation(driver.generation)))])
    author.look(job_id)


def _fill_log(author: Author, job_id: int, driver: Driver, events: int, at_ms: int) -> None:
    """Until there are so many: what the control plane itself has said is counted first."""
    with author.database.session() as session:
        so_far = session.get_one(Job, job_id).event_number
    driver.tell([(at_ms, SamplesDropped(17, at_ms - 34_000, at_ms))] * max(0, events - so_far))


def _top_up(author: Author, job_id: int, events: int) -> int:
    """By the control plane. How many there are."""
    with author.database.session() as session:
        job = session.get_one(Job, job_id, with_for_update=True)
        for _ in range(events - job.event_number):
            record(session, job, "StateWanted", desired=job.desired_state.value, by=author.caller.name)
        return job.event_number
