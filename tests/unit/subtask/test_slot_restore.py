"""A slot restores state files on the snapshot thread, outside its loop."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from slot_cases import KEYED, Bench, Collecting, ListSource

from weir.errors import CheckpointError
from weir.operators.base import SnapshotReader
from weir.protocol.ids import CheckpointId, Generation
from weir.protocol.messages import Cancelled, CancelSubtasks, Deployed, RestoredOperator, Restoring, Stop, SubtaskFailed
from weir.protocol.snapshots import OperatorSnapshot, StateFile
from weir.storage.state_files import RestoreCancelled

ONE = Generation(1)
FILES = (StateFile("state/a", 60, "x", 3, (0, 9)), StateFile("state/b", 40, "x", 2, (0, 9)))
STATE = (RestoredOperator(KEYED, 0, (OperatorSnapshot(KEYED, 0, FILES),)),)


class Restored(Collecting):
    def __init__(self) -> None:
        super().__init__()
        self.restores = 0
        self.closes = 0

    def restore(self, snapshots: Sequence[OperatorSnapshot], reader: SnapshotReader) -> None:
        assert not self.closes, "an operator must not be closed before its restore has ended"
        self.restores += 1

    def close(self) -> None:
        self.closes += 1


def restoring_bench() -> tuple[Bench, Restored]:
    operator = Restored()
    bench = Bench(ListSource([]), operator).deploy(operators=STATE, restored=CheckpointId(1), started=False)
    bench.backgrounds[-1].is_idle = False
    bench.turns()
    assert bench.messages(Restoring) == [Restoring(ONE, bench.messages(Restoring)[0].slot, 0, 100)]
    return bench, operator


def finish_restore(bench: Bench, error: BaseException | None = None) -> None:
    work, done = bench.background_work.pop()
    if error is None:
        work()
    bench.backgrounds[-1].is_idle = True
    done(None, error)


def test_a_slot_reports_deployed_after_its_background_restore_has_ended() -> None:
    bench, operator = restoring_bench()
    assert operator.restores == 0 and bench.messages(Deployed) == []
    finish_restore(bench)
    bench.turns()
    assert operator.restores == 1 and bench.messages(Deployed) == [Deployed(ONE)]
    ((files, _),) = bench.readers
    assert tuple(files) == FILES


def test_a_slot_without_state_files_restores_without_a_background_call() -> None:
    inline = (RestoredOperator(KEYED, 0, (OperatorSnapshot(KEYED, 0, inline=7),)),)
    operator = Restored()
    bench = Bench(ListSource([]), operator).deploy(operators=inline, restored=CheckpointId(1), started=False)
    bench.turns()
    assert operator.restores == 1 and bench.messages(Deployed) == [Deployed(ONE)] and bench.background_work == []


def test_a_slot_reports_the_progress_of_a_restore_every_second() -> None:
    bench, _ = restoring_bench()
    work, _done = bench.background_work[0]
    work()
    progress = bench.readers[0][1]
    progress.advance(25)
    bench.turns()
    assert len(bench.messages(Restoring)) == 1
    wake_at_ns = bench.runtime.wake_at_ns()
    assert wake_at_ns is not None and wake_at_ns - bench.now_ns <= 1_000_000_000
    bench.now_ns = wake_at_ns
    bench.turns()
    assert [(one.restored_bytes, one.total_bytes) for one in bench.messages(Restoring)] == [(0, 100), (25, 100)]


def test_a_slot_answers_cancel_after_its_cancelled_restore_has_ended() -> None:
    bench, operator = restoring_bench()
    work, _done = bench.background_work[0]
    work()
    progress = bench.readers[0][1]
    bench.runtime.on_control(CancelSubtasks(ONE))
    assert bench.messages(Cancelled) == [] and operator.closes == 0
    with pytest.raises(RestoreCancelled):
        progress.advance(1)
    finish_restore(bench, RestoreCancelled())
    bench.turns()
    assert bench.messages(Cancelled) == [Cancelled(ONE)] and operator.closes == 1
    assert bench.messages(Deployed) == [] and bench.messages(SubtaskFailed) == []
    bench.runtime.on_control(CancelSubtasks(Generation(2)))
    assert bench.messages(Cancelled)[1:] == [Cancelled(Generation(2))]


def test_a_stopped_slot_cancels_its_restore() -> None:
    bench, operator = restoring_bench()
    bench.runtime.on_control(Stop("the job has ended"))
    finish_restore(bench, RestoreCancelled())
    assert bench.runtime.close_earlier_deployments()
    assert bench.runtime.stop_reason == "the job has ended" and operator.closes == 1


def test_a_failed_restore_fails_the_deployment() -> None:
    bench, operator = restoring_bench()
    finish_restore(bench, CheckpointError("Cannot restore checkpoint 1: state/a is missing."))
    bench.turns()
    (failed,) = bench.messages(SubtaskFailed)
    assert (failed.kind, failed.reason) == ("CheckpointError", "Cannot restore checkpoint 1: state/a is missing.")
    bench.runtime.on_control(CancelSubtasks(ONE))
    assert bench.messages(Cancelled) == [Cancelled(ONE)] and operator.closes == 1
