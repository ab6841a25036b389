"""Transient I/O errors are retried, and permanent errors are not."""

from __future__ import annotations

import errno
import os
import queue
from pathlib import Path
from typing import Any

import pytest
from tests.unit.connectors.files.output_harness import Output, PausingFileSystem, snapshot, write
from tests.unit.coordinator.test_log_executor import GRAPH

from weir.connectors.files import line_reader
from weir.connectors.files.file_listing import list_files
from weir.coordinator.compiled_job import CompiledJob
from weir.coordinator.effect_runner import EffectRunner, MasterEvent
from weir.errors import InputError, Retry, SinkError
from weir.kernel.checkpoints import CommitPermit
from weir.kernel.effects import AppendLog, Commit, Prepare, StartGeneration
from weir.kernel.requests import CommitQueue
from weir.protocol.ids import CheckpointId, Generation, OperatorUid
from weir.protocol.job_log import CheckpointCompleted
from weir.storage.job_log import JobLog
from weir.storage.layout import JobLayout
from weir.storage.memory import MemoryStorage


def failing_file_system(fails: int, number: int) -> PausingFileSystem:
    """Return a file system that raises one OSError with the errno ``number``. The write operation with the index ``fails``
    raises this error. The first write operation has the index 0."""

    def fail() -> None:
        raise OSError(number, os.strerror(number))

    return PausingFileSystem(fails, fail)


@pytest.fixture
def output(tmp_path: Path) -> Output:
    return Output(str(tmp_path / "out"))


@pytest.mark.parametrize("number", [errno.EIO, errno.ESTALE, errno.ETIMEDOUT, errno.ENOSPC])
@pytest.mark.parametrize("fails", range(16))
def test_a_retry_completes_a_commit_that_failed_at_any_operation(output: Output, fails: int, number: int) -> None:
    committables = output.stage([1], 1) + output.stage([2], 1, writer=1)
    output.file_system = failing_file_system(fails, number)
    with pytest.raises(SinkError, match="committing checkpoint 1 failed") as failed:
        output.commit(committables)
    assert failed.value.retry is Retry.BACKOFF
    output.commit(committables)
    assert output.visible() == [1, 2] and output.staged() == []


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.EXDEV])
def test_a_permanent_error_of_a_commit_is_not_retryable(output: Output, number: int) -> None:
    committables = output.stage([1], 1)
    output.file_system = failing_file_system(0, number)
    with pytest.raises(SinkError) as failed:
        output.commit(committables)
    assert failed.value.retry is Retry.NEVER


class Master:
    """The part of the job master that handles commits, with the real commit queue."""

    def __init__(self) -> None:
        self.queue = CommitQueue(attempts_max=3)
        self.failures: list[str] = []
        self.committed = False

    def on_committed(self, permit: CommitPermit, now_ms: int) -> list[Commit]:
        self.committed = True
        return self.queue.done(permit)

    def on_commit_failed(self, permit: CommitPermit, reason: str, retry: bool, now_ms: int) -> list[Commit]:
        self.failures.append(reason)
        again = self.queue.retry(permit) if retry else None
        assert again is not None, reason
        return [again]

    def __getattr__(self, name: str) -> Any:
        """Return a method that ignores its arguments."""
        return lambda *arguments: []


def test_the_coordinator_retries_a_commit_after_one_transient_error(output: Output) -> None:
    file_system = failing_file_system(1_000, errno.EIO)
    output.file_system = file_system
    storage = MemoryStorage()
    log = JobLog(storage, JobLayout("job"))
    log.read()
    runner = EffectRunner(CompiledJob(GRAPH, {}, {OperatorUid("op"): output.committer}), storage, log)
    events: queue.SimpleQueue[MasterEvent] = queue.SimpleQueue()
    runner.start(events.put)
    master: Any = Master()
    try:
        runner.submit(AppendLog(StartGeneration(Generation(1), None, CheckpointId(1))))
        events.get(timeout=10)(master, 0)
        runner.submit(Prepare(Generation(1), None, None, ()))
        events.get(timeout=10)(master, 0)
        committables = output.stage([1, 2], 1)
        log.append(CheckpointCompleted(Generation(1), CheckpointId(1), "m", "c", 0, "n", 0), at=log.next_number)
        file_system.before = file_system.steps
        for effect in master.queue.add(CommitPermit(CheckpointId(1), Generation(1)), committables):
            runner.submit(effect)
        while not master.committed:
            for again in events.get(timeout=10)(master, 0):
                assert isinstance(again, Commit)
                runner.submit(again)
    finally:
        runner.close()
    assert len(master.failures) == 1 and "Input/output error" in master.failures[0]
    assert output.visible() == [1, 2]


@pytest.mark.parametrize(("number", "retry"), [(errno.EIO, Retry.BACKOFF), (errno.ENOSPC, Retry.NEVER)])
def test_a_transient_pre_commit_error_is_retryable_and_a_full_disk_is_not(output: Output, number: int, retry: Retry) -> None:
    output.file_system = file_system = failing_file_system(1_000, number)
    sink = output.sink()
    write(sink, [1])
    file_system.before = file_system.steps
    with pytest.raises(SinkError, match="sink 'op' could not pre-commit") as failed:
        snapshot(sink, 1)
    assert failed.value.retry is retry


def test_only_transient_input_errors_are_retryable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "in.txt"
    path.write_text("a\n")
    (file,) = list_files([str(path)])
    with pytest.raises(InputError, match="no input file found") as missing:
        list_files([str(tmp_path / "none")])
    assert missing.value.retry is Retry.NEVER

    def refuse(number: int) -> Any:
        def fail(*arguments: object, **options: object) -> None:
            raise OSError(number, os.strerror(number))

        return fail

    for number, retry in ((errno.ESTALE, Retry.BACKOFF), (errno.EACCES, Retry.NEVER)):
        with monkeypatch.context() as patch:
            patch.setattr(line_reader, "_line_blocks", refuse(number))
            with pytest.raises(InputError, match="cannot read") as failed:
                next(line_reader.line_blocks(line_reader.LineRange(file.path, 0, 2, 2, 0), None))
            assert failed.value.retry is retry
        with monkeypatch.context() as patch:
            patch.setattr(os, "stat", refuse(number))
            with pytest.raises(InputError, match="cannot list") as failed:
                list_files([str(path)])
            assert failed.value.retry is retry
