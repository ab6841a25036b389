"""The runner summarises the log of the job it runs, and only that, and only when nothing of its own is in doubt."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest
from tests.unit.coordinator.test_log_lane import GRAPH

from weir.coordinator.lanes import Lanes
from weir.coordinator.plan import JobPlan
from weir.coordinator.runner import EffectRunner
from weir.errors import StorageError, UnknownOutcome
from weir.kernel.checkpoints import CheckpointKind, CommitPermit, PendingCheckpoint
from weir.kernel.effects import AppendLog, Commit, RecordCompleted, StartGeneration, WriteManifest
from weir.protocol.ids import CheckpointId, Generation
from weir.protocol.joblog import CheckpointCompleted, GenerationStarted
from weir.storage.base import StoredObject
from weir.storage.joblog import Appended, JobLog
from weir.storage.layout import JobLayout
from weir.storage.memory import MemoryStorage

LAYOUT = JobLayout("job")


class _AtOnce:
    """A lane that does its work where it is given."""

    def submit(self, work: Callable[..., Any], /, *args: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(work(*args))
        return done

    def shutdown(self, wait: bool = True) -> None:
        """Nothing is left to wait for."""


class _Storage(MemoryStorage):
    """Creates whose outcome stays unknown, listings that fail: as many as said."""

    unknown = 0
    landed = True
    lists_failing = 0
    before_create: Callable[[], None] | None = None

    def create(self, path: str, data: bytes) -> bool:
        meanwhile, self.before_create = self.before_create, None
        if meanwhile is not None:
            meanwhile()
        if self.unknown:
            self.unknown -= 1
            if self.landed:
                super().create(path, data)
            raise UnknownOutcome("the connection was cut")
        return super().create(path, data)

    def list(self, prefix: str) -> list[StoredObject]:
        if self.lists_failing:
            self.lists_failing -= 1
            raise StorageError("the connection was cut")
        return super().list(prefix)

    @property
    def log(self) -> list[int]:
        return [int(found.path[-13:-5]) for found in super().list(LAYOUT.log)]


class _Run:
    def __init__(self, storage: _Storage, *, summary_every: int = 3, retained: int = 100) -> None:
        self.log = JobLog(storage, LAYOUT)
        view, _ = self.log.read()
        lane = _AtOnce()
        self.events: list[Any] = []
        self.runner = EffectRunner(
            JobPlan(GRAPH, {}, {}, retained=retained),
            storage,
            self.log,
            summary_every=summary_every,
            lanes=Lanes(lane, lane, lane, threading.Event()),
        )
        self.runner.start(self.events.append)
        self.start = AppendLog(StartGeneration(view.next_generation, None, view.next_checkpoint))
        self.generation = view.next_generation

    def started(self) -> _Run:
        self.runner.submit(self.start)
        return self

    def told(self) -> list[str]:
        """What the job master was told."""
        told: list[str] = []

        class Master:
            def __getattr__(self, name: str) -> Callable[..., None]:
                return lambda *args: told.append(name.removeprefix("on_").removeprefix("log_"))

        for event in self.events:
            event(Master(), 0)
        return told

    def complete(self, checkpoint: int) -> None:
        """Somebody's entry, so that the log grows; then what follows a commit."""
        number = self.log.read()[1]
        entry = CheckpointCompleted(self.generation, CheckpointId(checkpoint), "m", "c", 0, f"n{checkpoint}", 0)
        self.log.append(entry, at=number)
        self.after_commit(checkpoint)

    def after_commit(self, checkpoint: int) -> None:
        self.runner.submit(Commit(CommitPermit(CheckpointId(checkpoint), self.generation), ()))


def test_the_commit_that_ends_the_job_retires_what_is_not_to_be_kept_any_more() -> None:
    run = _Run(_Storage(), retained=1).started()
    run.complete(1)
    # What the job master does when it hears of the last one.
    run.runner.start(lambda event: run.runner.close())
    run.complete(2)
    assert run.log.view.current == (CheckpointId(2),)


def test_who_learns_of_its_successor_while_it_retires_summarises_nothing_any_more() -> None:
    """Found by the simulator: its summary, as of the successor's generation, made the successor take itself for superseded."""
    storage = _Storage()
    run = _Run(storage, summary_every=1, retained=1).started()
    run.complete(1)
    number = run.log.read()[1]
    run.log.append(CheckpointCompleted(run.generation, CheckpointId(2), "m", "c", 0, "n2", 0), at=number)
    successor = JobLog(storage, LAYOUT)

    def start() -> None:
        view, next_number = successor.read()
        outcome = successor.append(
            GenerationStarted(view.next_generation, CheckpointId(2), view.branch, view.next_checkpoint, "successor", 0),
            at=next_number,
        )
        assert isinstance(outcome, Appended)

    storage.before_create = start
    run.after_commit(2)
    assert storage.before_create is None and run.log.view.generation == run.generation + 1
    assert storage.log[-1] == successor.next_number - 1, "nothing above the successor's start"


def test_the_log_stays_as_short_as_it_is_said_to() -> None:
    storage = _Storage()
    run = _Run(storage).started()
    longest = 0
    for checkpoint in range(1, 40):
        run.complete(checkpoint)
        longest = max(longest, len(storage.log))
    assert longest == 3, "the summary, and less than three entries after it"
    assert JobLog(storage, LAYOUT).read()[0] == run.log.view
    assert len(run.log.view.kept) == 39


def test_a_log_is_not_summarised_while_an_entry_of_the_run_is_in_doubt() -> None:
    """A summary above the entry would hide that it is there, and the run would take its own checkpoint for one it may not use."""
    storage = _Storage()
    run = _Run(storage, summary_every=1).started()
    pending = PendingCheckpoint(CheckpointId(1), CheckpointKind.PERIODIC, triggered_ms=0)
    run.runner.submit(WriteManifest(run.generation, pending, {}))
    record = AppendLog(RecordCompleted(run.generation, pending))
    storage.unknown, storage.lists_failing = 1, 1
    run.runner.submit(record)
    for _ in range(3):
        run.after_commit(0)
    assert storage.log == [1, 2]
    run.runner.submit(record)
    run.after_commit(1)
    assert storage.log == [3]
    assert run.told() == ["created", "manifest_written", "failed", *["committed"] * 3, "created", "committed"]


def test_a_run_that_is_superseded_leaves_the_log_alone() -> None:
    storage = _Storage()
    run = _Run(storage, summary_every=1).started()
    newer = GenerationStarted(Generation(2), None, "b2", CheckpointId(9), "n", 0)
    JobLog(storage, LAYOUT).append(newer, at=2)
    run.log.read()
    run.after_commit(1)
    assert storage.log == [1, 2]


@pytest.mark.parametrize("landed", [False, True])
def test_nothing_is_deleted_for_a_summary_that_is_in_doubt(landed: bool) -> None:
    storage = _Storage()
    run = _Run(storage, summary_every=2).started()
    run.log.append(CheckpointCompleted(Generation(1), CheckpointId(1), "m", "c", 0, "n1", 0), at=2)
    storage.landed, storage.unknown, storage.lists_failing = landed, 3, 3
    run.after_commit(1)
    assert storage.log == ([1, 2, 3] if landed else [1, 2])
    storage.unknown = storage.lists_failing = 0
    for checkpoint in (2, 3, 4):
        run.complete(checkpoint)
    assert len(storage.log) <= 3
    assert JobLog(storage, LAYOUT).read()[0].highest_checkpoint == 4
