"""A disk that does not answer for a moment: what the same call can do a moment later is tried again, nothing else is."""

from __future__ import annotations

import errno
import os
import queue
from pathlib import Path
from typing import Any

import pytest
from tests.unit.connectors.output_harness import Output, PausingDisk, snapshot, write
from tests.unit.coordinator.test_log_lane import GRAPH

from weir.connectors import line_blocks
from weir.connectors.file_listing import list_files
from weir.coordinator.plan import JobPlan
from weir.coordinator.runner import EffectRunner, Event
from weir.errors import InputError, Retry, SinkError
from weir.kernel.checkpoints import CommitPermit
from weir.kernel.commits import CommitQueue
from weir.kernel.effects import AppendLog, Commit, Prepare, StartGeneration
from weir.protocol.ids import CheckpointId, Generation, OperatorUid
from weir.storage.joblog import JobLog
from weir.storage.layout import JobLayout
from weir.storage.memory import MemoryStorage


def failing_disk(fails: int, number: int) -> PausingDisk:
    """Its n-th changing operation fails, once."""

    def fail() -> None:
        raise OSError(number, os.strerror(number))

    return PausingDisk(fails, fail)


@pytest.fixture
def output(tmp_path: Path) -> Output:
    return Output(str(tmp_path / "out"))


@pytest.mark.parametrize("number", [errno.EIO, errno.ESTALE, errno.ETIMEDOUT, errno.ENOSPC])
@pytest.mark.parametrize("fails", range(5))
def test_a_commit_that_failed_at_any_step_is_worth_trying_again_and_done_by_it(output: Output, fails: int, number: int) -> None:
    committables = output.stage([1], 1) + output.stage([2], 1, writer=1)
    output.disk = failing_disk(fails, number)
    with pytest.raises(SinkError, match="committing checkpoint 1 failed") as failed:
        output.commit(committables)
    assert failed.value.retry is Retry.BACKOFF
    output.commit(committables)
    assert output.visible() == [1, 2] and output.staged() == []


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.EXDEV])
def test_what_stays_as_it_is_is_not_tried_again(output: Output, number: int) -> None:
    committables = output.stage([1], 1)
    output.disk = failing_disk(0, number)
    with pytest.raises(SinkError) as failed:
        output.commit(committables)
    assert failed.value.retry is Retry.NEVER


class Master:
    """As much of the job master as a commit needs: its real queue."""

    def __init__(self) -> None:
        self.queue = CommitQueue(attempts_max=3)
        self.failures: list[str] = []
        self.committed = False

    def on_committed(self, permit: CommitPermit, now_ms: int) -> list[Commit]:
        self.committed = True
        return self.queue.done(permit)

    def on_commit_failed(self, permit: CommitPermit, reason: str, retry: bool, now_ms: int) -> list[Commit]:
        self.failures.append(reason)
        again = self.queue.again(permit) if retry else None
        assert again is not None, reason
        return [again]

    def __getattr__(self, name: str) -> Any:
        """All else that it is told has no consequence here."""
        return lambda *facts: []


def test_the_coordinator_commits_after_a_disk_that_did_not_answer_once(output: Output) -> None:
    disk = failing_disk(1_000, errno.EIO)
    output.disk = disk
    storage = MemoryStorage()
    log = JobLog(storage, JobLayout("job"))
    log.read()
    runner = EffectRunner(JobPlan(GRAPH, {}, {OperatorUid("op"): output.committer}), storage, log)
    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    runner.start(events.put)
    master: Any = Master()
    try:
        runner.submit(AppendLog(StartGeneration(Generation(1), None, CheckpointId(1))))
        events.get(timeout=10)(master, 0)
        runner.submit(Prepare(Generation(1), None, None, ()))
        events.get(timeout=10)(master, 0)
        committables = output.stage([1, 2], 1)
        disk.before = disk.steps
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
def test_a_slot_starts_again_after_a_disk_that_did_not_answer_and_not_after_a_full_one(
    output: Output, number: int, retry: Retry
) -> None:
    output.disk = disk = failing_disk(1_000, number)
    sink = output.sink()
    write(sink, [1])
    disk.before = disk.steps
    with pytest.raises(SinkError, match="sink 'op' could not pre-commit") as failed:
        snapshot(sink, 1)
    assert failed.value.retry is retry


def test_an_input_that_does_not_answer_is_worth_reading_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "in.txt"
    path.write_text("a\n")
    (file,) = list_files([str(path)])
    with pytest.raises(InputError, match="there is no file here") as missing:
        list_files([str(tmp_path / "none")])
    assert missing.value.retry is Retry.NEVER

    def refuse(number: int) -> Any:
        def fail(*arguments: object, **more: object) -> None:
            raise OSError(number, os.strerror(number))

        return fail

    for number, retry in ((errno.ESTALE, Retry.BACKOFF), (errno.EACCES, Retry.NEVER)):
        with monkeypatch.context() as patch:
            patch.setattr(line_blocks, "_line_blocks", refuse(number))
            with pytest.raises(InputError, match="cannot be read") as failed:
                next(line_blocks.line_blocks(line_blocks.LineRange(file.path, 0, 2, 2, 0), None))
            assert failed.value.retry is retry
        with monkeypatch.context() as patch:
            patch.setattr(os, "stat", refuse(number))
            with pytest.raises(InputError, match="cannot be listed") as failed:
                list_files([str(path)])
            assert failed.value.retry is retry
