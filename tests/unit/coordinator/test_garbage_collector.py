"""Retention and log summaries. Only the process that runs the job retires checkpoints and writes summaries. A process
writes no summary while the outcome of one of its appends is unknown."""

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
from weir.protocol.job_log import CheckpointCompleted, CheckpointPublished, GenerationStarted
from weir.storage.base import StoredObject
from weir.storage.job_log import Appended, JobLog
from weir.storage.layout import JobLayout
from weir.storage.memory import MemoryStorage

LAYOUT = JobLayout("job")


class _ImmediateExecutor:
    """A thread pool that runs each call immediately, in the thread of the caller."""

    def submit(self, work: Callable[..., Any], /, *args: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(work(*args))
        except BaseException as error:  # noqa: BLE001  # raised by the future
            done.set_exception(error)
        return done

    def shutdown(self, wait: bool = True) -> None:
        """Closing has no effect, because all calls have finished."""


class _Storage(MemoryStorage):
    """Storage in which the next ``unknown`` calls of ``create`` raise UnknownOutcome and the next ``lists_failing`` listings
    fail."""

    unknown = 0
    written = True
    lists_failing = 0
    before_create: Callable[[], None] | None = None

    def create(self, path: str, data: bytes) -> bool:
        callback, self.before_create = self.before_create, None
        if callback is not None:
            callback()
        if self.unknown:
            self.unknown -= 1
            if self.written:
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
        executor = _ImmediateExecutor()
        self.events: list[Any] = []
        self.runner = EffectRunner(
            CompiledJob(GRAPH, {}, {}, retained=retained),
            storage,
            self.log,
            summary_every=summary_every,
            executors=Executors(executor, executor, executor, threading.Event(), executor, executor),
        )
        self.runner.start(self.events.append)
        self.start = AppendLog(StartGeneration(view.next_generation, None, view.next_checkpoint))
        self.generation = view.next_generation

    def started(self) -> _Run:
        self.runner.submit(self.start)
        return self

    def calls(self) -> list[str]:
        """Return the names of the calls that the job master received."""
        calls: list[str] = []

        class Master:
            def __getattr__(self, name: str) -> Callable[..., None]:
                return lambda *args: calls.append(name.removeprefix("on_").removeprefix("log_"))

        for event in self.events:
            event(Master(), 0)
        return calls

    def complete(self, checkpoint: int) -> None:
        """Append the log entry of a completed checkpoint, then commit the checkpoint."""
        number = self.log.read()[1]
        entry = CheckpointCompleted(self.generation, CheckpointId(checkpoint), "m", "c", 0, f"n{checkpoint}", 0)
        self.log.append(entry, at=number)
        self.after_commit(checkpoint)

    def after_commit(self, checkpoint: int) -> None:
        self.runner.submit(Commit(CommitPermit(CheckpointId(checkpoint), self.generation), ()))


def test_checkpoints_are_retired_after_the_last_commit_of_a_job() -> None:
    run = _Run(_Storage(), retained=1).started()
    run.complete(1)
    # The job master closes the runner when the last commit completes.
    run.runner.start(lambda event: run.runner.close())
    run.complete(2)
    assert run.log.view.current == (CheckpointId(2),)


def test_a_process_that_detects_a_successor_while_it_retires_checkpoints_writes_no_summary() -> None:
    """If the process wrote a summary with the generation of its successor, the successor would stop as superseded."""
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

    run.log.append(CheckpointPublished(run.generation, CheckpointId(2), "p2", 0), at=number + 1)
    run.runner._sinks.confirmed = CheckpointId(2)
    storage.before_create = start
    run.runner._retain()
    assert storage.before_create is None and run.log.view.generation == run.generation + 1
    assert storage.log[-1] == successor.next_number - 1, "the start of the successor is still the last log entry"


def test_summaries_limit_the_length_of_the_log() -> None:
    storage = _Storage()
    run = _Run(storage).started()
    longest = 0
    for checkpoint in range(1, 40):
        run.complete(checkpoint)
        longest = max(longest, len(storage.log))
    assert longest == 3, "the log has a summary and at most two later entries"
    assert JobLog(storage, LAYOUT).read()[0] == run.log.view
    assert len(run.log.view.kept) == 39


def test_no_summary_is_written_while_an_append_is_open() -> None:
    """If a summary replaced the log entry of the open append, a retry of the append would not find this entry. If a
    retry does not find its log entry, the job log refuses the checkpoint id as already used."""
    storage = _Storage()
    run = _Run(storage, summary_every=1).started()
    pending = PendingCheckpoint(CheckpointId(1), CheckpointKind.PERIODIC, triggered_ms=0)
    run.runner.submit(WriteManifest(run.generation, pending, {}))
    record = AppendLog(RecordCompleted(run.generation, pending))
    storage.unknown, storage.lists_failing = 1, 1
    run.runner.submit(record)
    for _ in range(3):
        run.runner._retain()
    assert storage.log == [1, 2]
    run.runner.submit(record)
    run.after_commit(1)
    assert storage.log == [4], "entry 3 records that checkpoint 1 is published, and entry 4 is the summary"
    assert run.calls() == ["created", "manifest_written", "failed", "created", "committed"]


def test_a_superseded_run_does_not_change_the_job_log() -> None:
    storage = _Storage()
    run = _Run(storage, summary_every=1).started()
    newer = GenerationStarted(Generation(2), None, "b2", CheckpointId(9), "n", 0)
    JobLog(storage, LAYOUT).append(newer, at=2)
    run.log.read()
    run.after_commit(1)
    assert storage.log == [1, 2]


@pytest.mark.parametrize("written", [False, True])
def test_no_log_entry_is_deleted_while_a_summary_is_unconfirmed(written: bool) -> None:
    storage = _Storage()
    run = _Run(storage, summary_every=2).started()
    run.log.append(CheckpointCompleted(Generation(1), CheckpointId(1), "m", "c", 0, "n1", 0), at=2)
    storage.written, storage.unknown, storage.lists_failing = written, 3, 3
    run.runner._retain()
    assert storage.log == ([1, 2, 3] if written else [1, 2])
    storage.unknown = storage.lists_failing = 0
    for checkpoint in (2, 3, 4):
        run.complete(checkpoint)
    assert len(storage.log) <= 3
    assert JobLog(storage, LAYOUT).read()[0].highest_checkpoint == 4
