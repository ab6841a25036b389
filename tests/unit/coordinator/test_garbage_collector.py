"""Retention and log summaries: only the process that runs the job makes them, and only while no append is open."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest
from tests.unit.coordinator.test_log_executor import GRAPH

from weir.coordinator.compiled_job import CompiledJob
from weir.coordinator.effect_runner import EffectRunner, Executors
from weir.errors import StorageError, UnknownOutcome
from weir.kernel.checkpoints import CheckpointKind, CommitPermit, PendingCheckpoint
from weir.kernel.effects import AppendLog, Commit, RecordCompleted, StartGeneration, WriteManifest
from weir.protocol.ids import CheckpointId, Generation
from weir.protocol.job_log import CheckpointCompleted, GenerationStarted
from weir.storage.base import StoredObject
from weir.storage.job_log import Appended, JobLog
from weir.storage.layout import JobLayout
from weir.storage.memory import MemoryStorage

LAYOUT = JobLayout("job")


class _AtOnce:
    """An executor that runs each call immediately."""

    def submit(self, work: Callable[..., Any], /, *args: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(work(*args))
        return done

    def shutdown(self, wait: bool = True) -> None:
        """All calls have finished."""


class _Storage(MemoryStorage):
    """Storage with a given number of creates without an answer and of failing listings."""

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
            CompiledJob(GRAPH, {}, {}, retained=retained),
            storage,
            self.log,
            summary_every=summary_every,
            executors=Executors(lane, lane, lane, threading.Event()),
        )
        self.runner.start(self.events.append)
        self.start = AppendLog(StartGeneration(view.next_generation, None, view.next_checkpoint))
        self.generation = view.next_generation

    def started(self) -> _Run:
        self.runner.submit(self.start)
        return self

    def calls(self) -> list[str]:
        """Return the calls of the job master."""
        calls: list[str] = []

        class Master:
            def __getattr__(self, name: str) -> Callable[..., None]:
                return lambda *args: calls.append(name.removeprefix("on_").removeprefix("log_"))

        for event in self.events:
            event(Master(), 0)
        return calls

    def complete(self, checkpoint: int) -> None:
        """Append an entry, so that the log grows, then run what follows a commit."""
        number = self.log.read()[1]
        entry = CheckpointCompleted(self.generation, CheckpointId(checkpoint), "m", "c", 0, f"n{checkpoint}", 0)
        self.log.append(entry, at=number)
        self.after_commit(checkpoint)

    def after_commit(self, checkpoint: int) -> None:
        self.runner.submit(Commit(CommitPermit(CheckpointId(checkpoint), self.generation), ()))


def test_the_last_commit_of_a_job_retires_checkpoints() -> None:
    run = _Run(_Storage(), retained=1).started()
    run.complete(1)
    # What the job master does when it hears of the last one.
    run.runner.start(lambda event: run.runner.close())
    run.complete(2)
    assert run.log.view.current == (CheckpointId(2),)


def test_a_process_that_detects_a_successor_while_retiring_writes_no_summary() -> None:
    """Found by the simulator: a summary with the generation of the successor made the successor stop as superseded."""
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


def test_the_log_length_stays_below_the_limit() -> None:
    storage = _Storage()
    run = _Run(storage).started()
    longest = 0
    for checkpoint in range(1, 40):
        run.complete(checkpoint)
        longest = max(longest, len(storage.log))
    assert longest == 3, "the summary, and less than three entries after it"
    assert JobLog(storage, LAYOUT).read()[0] == run.log.view
    assert len(run.log.view.kept) == 39


def test_the_log_is_not_summarised_while_an_append_is_open() -> None:
    """A summary after the entry would hide it, and the run would treat its own checkpoint id as used."""
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
    assert run.calls() == ["created", "manifest_written", "failed", *["committed"] * 3, "created", "committed"]


def test_a_superseded_run_does_not_change_the_log() -> None:
    storage = _Storage()
    run = _Run(storage, summary_every=1).started()
    newer = GenerationStarted(Generation(2), None, "b2", CheckpointId(9), "n", 0)
    JobLog(storage, LAYOUT).append(newer, at=2)
    run.log.read()
    run.after_commit(1)
    assert storage.log == [1, 2]


@pytest.mark.parametrize("landed", [False, True])
def test_nothing_is_deleted_while_a_summary_is_unconfirmed(landed: bool) -> None:
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
