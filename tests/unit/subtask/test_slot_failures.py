"""Errors in the loop of a slot are reported to the coordinator with their cause and do not end the process."""

from __future__ import annotations

from typing import Any

import pytest
from slot_cases import SOURCE, Bench, Collecting, ListSource, RoundRobin, Rows, Written

from weir.errors import ConfigError
from weir.operators.base import Batch, PendingSnapshot, Step
from weir.protocol.ids import CheckpointId, Generation, SubtaskId
from weir.protocol.messages import (
    Acknowledge,
    AssignSplit,
    Cancelled,
    CancelSubtasks,
    Decline,
    SubtaskFailed,
    TriggerCheckpoint,
    decode_from_slot,
    encode,
)
from weir.protocol.snapshots import Split
from weir.subtask.checkpointing import SubtaskCheckpoint

ONE = Generation(1)
OVERFLOW_MESSAGE = "the string offsets of this batch do not fit into 32 bits"


def bench_with_split(bench: Bench) -> Bench:
    bench.turns()
    bench.runtime.on_control(AssignSplit(ONE, SOURCE, 0, Split("all", None), CheckpointId(1)))
    return bench


class FailingPartitioner(RoundRobin):
    """A partitioner that accepts everything and raises on flush."""

    def __init__(self) -> None:
        super().__init__(1)
        self.pending_rows = 0

    def add(self, batch: Batch) -> list[tuple[int, Batch]]:
        self.pending_rows += batch.num_rows
        return []

    def flush(self) -> list[tuple[int, Batch]]:
        raise OverflowError(OVERFLOW_MESSAGE)


def test_an_error_in_the_flush_of_a_partitioner_fails_its_subtask(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(ListSource([Rows(1), Rows(2)]), Collecting())
    monkeypatch.setattr(bench, "partitioner", lambda *_: FailingPartitioner())
    bench_with_split(bench.deploy()).turns()
    (failed,) = bench.messages(SubtaskFailed)
    assert (failed.generation, failed.subtask, failed.kind) == (1, SubtaskId(0, 0), "OverflowError")
    assert OVERFLOW_MESSAGE in failed.reason
    assert not bench.runtime.turn()


class Handle:
    """A snapshot handle. ``fails`` names the method that fails."""

    def __init__(self, fails: str) -> None:
        self._fails = fails

    def advance(self) -> bool:
        return True

    def write(self, writer: object) -> Any:
        return None if self._fails == "write" else []

    def discard(self) -> None:
        if self._fails == "discard":
            raise KeyError("no such row")


class FullDiskHandle(Handle):
    def write(self, writer: object) -> Any:
        raise OSError("disk full")


class FailingSnapshots(Collecting):
    def __init__(self, fails: str) -> None:
        super().__init__()
        self._fails = fails

    def snapshot(self, checkpoint: CheckpointId) -> PendingSnapshot:
        return Handle(self._fails)


def bench_with_triggered_checkpoint(fails: str) -> Bench:
    bench = bench_with_split(Bench(ListSource([Rows(1)]), FailingSnapshots(fails)).deploy())
    bench.runtime.on_control(TriggerCheckpoint(ONE, CheckpointId(1)))
    bench.turns()
    return bench


def test_a_slot_that_cannot_have_its_connections_fails_the_job_without_a_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ConfigError("Slot 0 needs 2,000 file descriptors")

    bench = Bench(ListSource([]), Collecting())
    monkeypatch.setattr(bench, "open_channels", refuse)
    bench.deploy()
    (failed,) = bench.messages(SubtaskFailed)
    assert (failed.kind, failed.restartable) == ("ConfigError", False)
    assert failed.reason == "Slot 0 needs 2,000 file descriptors"


def test_an_acknowledgement_that_cannot_be_sent_fails_the_subtask() -> None:
    bench = bench_with_triggered_checkpoint("write")
    work, done = bench.background_work.pop()
    done(work(), None)
    (failed,) = bench.messages(SubtaskFailed)
    assert (failed.subtask, failed.kind) == (SubtaskId(1, 0), "AttributeError")
    assert not bench.messages(Acknowledge)


def bench_writing(*handles: Any) -> tuple[Bench, Any, Any]:
    """Let a slot write checkpoint 1 with one snapshot for each of ``handles``. Return the slot, the background work that writes
    the snapshots, and the callback of this work."""
    bench = bench_with_split(Bench(ListSource([Rows(1)]), Collecting()).deploy())
    bench.turns()
    deployment = bench.runtime._deployment
    assert deployment is not None
    due = [
        SubtaskCheckpoint(CheckpointId(1), SubtaskId(chain, 0), [handle], (), (), (), False, 0, 0, 0, 0, bench.now_ns)
        for chain, handle in enumerate(handles)
    ]
    bench.runtime._write(deployment, CheckpointId(1), due)
    ((work, done),) = bench.background_work
    return bench, work, done


def test_a_failed_slot_sends_no_acknowledgements() -> None:
    bench, work, done = bench_writing(FullDiskHandle("discard"), Written(SOURCE, 0), FullDiskHandle("discard"))
    done(work(), None)
    (failed,) = bench.messages(SubtaskFailed)
    assert failed.subtask == SubtaskId(0, 0)
    assert not bench.messages(Acknowledge)


def test_a_slot_declines_only_the_snapshot_that_cannot_be_written() -> None:
    bench, work, done = bench_writing(FullDiskHandle(""), Written(SOURCE, 0))
    bench.now_ns += 5_000_000
    done(work(), None)
    (declined,) = bench.messages(Decline)
    assert (declined.subtask, declined.reason) == (SubtaskId(0, 0), "OSError: disk full")
    ((acknowledged,),) = [message.snapshots for message in bench.messages(Acknowledge)]
    assert (acknowledged.chain, acknowledged.statistics.async_ms) == (1, 5.0)
    assert bench.files.flushes == 1


def test_a_slot_declines_all_snapshots_if_the_final_flush_fails() -> None:
    bench, work, done = bench_writing(Written(SOURCE, 0), Written(SOURCE, 0))
    bench.files.fails = True
    with pytest.raises(OSError, match="disk full") as failed:
        work()
    done(None, failed.value)
    assert [one.reason for one in bench.messages(Decline)] == ["OSError: disk full"] * 2
    assert not bench.messages(Acknowledge)


def test_a_subtask_fails_if_its_snapshot_can_be_neither_written_nor_discarded() -> None:
    bench = bench_with_triggered_checkpoint("discard")
    bench.background_work.pop()[1](None, OSError("disk full"))
    (failed,) = bench.messages(SubtaskFailed)
    assert (failed.subtask, failed.kind) == (SubtaskId(1, 0), "KeyError")


def test_a_slot_fails_if_an_acknowledgement_is_too_long_for_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = bench_with_split(Bench(ListSource([Rows(1)]), Collecting()).deploy())
    send = bench.send_control

    def refuse(message: Any) -> None:
        if isinstance(message, Acknowledge):
            raise ValueError("too long")
        send(message)

    monkeypatch.setattr(bench, "send_control", refuse)
    bench.runtime.on_control(TriggerCheckpoint(ONE, CheckpointId(1)))
    bench.turns()
    work, done = bench.background_work.pop()
    done(work(), None)
    (failed,) = bench.messages(SubtaskFailed)
    assert "too long" in failed.reason


def test_a_cancel_succeeds_although_a_snapshot_cannot_be_discarded() -> None:
    bench = Bench(ListSource([Rows(1)]), FailingSnapshots("discard"), slots=2).deploy()
    bench.runtime.on_control(TriggerCheckpoint(ONE, CheckpointId(1)))
    bench.turns()
    deployment = bench.runtime._deployment
    assert deployment is not None
    deployment.checkpoints._gathered.append(_gathered())
    bench.runtime.on_control(CancelSubtasks(ONE))
    assert bench.messages(Cancelled) == [Cancelled(ONE)]
    assert bench.runtime.generation is None


def _gathered() -> Any:
    return SubtaskCheckpoint(CheckpointId(1), SubtaskId(1, 0), [Handle("discard")], (), (), (), False, 0, 0, 0, 0, 0)


def test_the_metrics_do_not_include_gauges_that_raise_an_error() -> None:
    class OperatorWithGauges(Collecting):
        def gauges(self) -> dict[str, int | float]:
            raise ZeroDivisionError

    bench = bench_with_split(Bench(ListSource([Rows(1)]), OperatorWithGauges()).deploy())
    bench.turns()
    metrics = bench.runtime.metrics()
    assert metrics is not None
    assert metrics.gauges == {}
    assert [subtask.chain for subtask in metrics.subtasks] == [1, 0]
    assert not bench.messages(SubtaskFailed)


@pytest.mark.parametrize("reason", ["x" * 100_000_000, "caf\udce9.txt: no such file"])
def test_a_failure_reason_is_shortened_and_encoded_so_that_it_fits_into_a_message(reason: str) -> None:
    def work(batch: Batch) -> Step:
        raise OSError(reason)

    bench = bench_with_split(Bench(ListSource([Rows(1)]), Collecting(work)).deploy())
    bench.turns()
    (failed,) = bench.messages(SubtaskFailed)
    data = encode(failed)
    assert len(data) < 1_000_000
    assert decode_from_slot(data) == failed
    assert not bench.messages(Decline)


def test_the_metrics_do_not_include_gauges_that_are_nan_or_infinite() -> None:
    class OperatorWithGauges(Collecting):
        def gauges(self) -> dict[str, int | float]:
            return {"keys": 3, "rate": float("nan"), "lag": float("inf")}

    bench = bench_with_split(Bench(ListSource([Rows(1)]), OperatorWithGauges()).deploy())
    bench.turns()
    metrics = bench.runtime.metrics()
    assert metrics is not None
    assert list(metrics.gauges.values()) == [3]


def test_a_slot_answers_cancel_after_all_background_calls_of_the_deployment_have_ended() -> None:
    bench = Bench(ListSource([]), Collecting()).deploy()
    (background,) = bench.backgrounds
    background.is_idle = False
    bench.runtime.on_control(CancelSubtasks(ONE))
    assert background.log == ["cancel queued", "close"]
    bench.turns()
    assert bench.messages(Cancelled) == []
    background.is_idle = True
    bench.turns()
    bench.turns()
    assert bench.messages(Cancelled) == [Cancelled(ONE)]
    assert bench.runtime.close_earlier_deployments()


def test_a_snapshot_of_a_cancelled_deployment_is_not_written() -> None:
    bench = bench_with_split(Bench(ListSource([Rows(1)]), Collecting()).deploy())
    bench.runtime.on_control(TriggerCheckpoint(ONE, CheckpointId(1)))
    bench.turns()
    ((work, _),) = bench.background_work
    bench.runtime.on_control(CancelSubtasks(ONE))
    work()
    assert bench.files.flushes == 0
