"""The lifecycle of checkpoints, and the last checkpoint of a job."""

from __future__ import annotations

import itertools

import pytest
from kernel_cases import graph, snapshot

from weir.kernel.checkpoints import (
    LEGAL,
    Aborted,
    AllAcknowledged,
    CheckpointCoordinator,
    CheckpointKind,
    CheckpointPhase,
    Completed,
    LastCheckpoint,
    ManifestWritten,
    PendingCheckpoint,
    TooManyFailures,
    Trigger,
)
from weir.kernel.config import CheckpointConfig
from weir.protocol.ids import CheckpointId, Generation, SubtaskId
from weir.protocol.manifest import CheckpointStatistics

GRAPH = graph(1)
SUBTASKS = tuple(GRAPH.subtasks())
ONE = CheckpointId(1)


def coordinator(
    *, interval_ms: int | None = 100, tolerable_failed_checkpoints: int | None = 1, **settings: int
) -> CheckpointCoordinator:
    config = CheckpointConfig(
        **{"timeout_ms": 50, **settings}, interval_ms=interval_ms, tolerable_failed_checkpoints=tolerable_failed_checkpoints
    )
    return CheckpointCoordinator(config, generation=Generation(3), subtasks=SUBTASKS, next_checkpoint=ONE, now_ms=0)


def acknowledge_all(of: CheckpointCoordinator, checkpoint: CheckpointId, now_ms: int = 0) -> list[object]:
    return [effect for subtask in SUBTASKS for effect in of.acknowledge(checkpoint, (snapshot(GRAPH, subtask),), now_ms=now_ms)]


@pytest.mark.parametrize(("before", "after"), list(itertools.product(CheckpointPhase, CheckpointPhase)))
def test_a_checkpoint_makes_only_legal_phase_changes(before: CheckpointPhase, after: CheckpointPhase) -> None:
    pending = PendingCheckpoint(ONE, CheckpointKind.PERIODIC, 0, before)
    if after in LEGAL[before]:
        pending.move(after)
        assert pending.phase is after
    else:
        with pytest.raises(AssertionError):
            pending.move(after)


def test_a_checkpoint_in_phase_recording_cannot_be_aborted() -> None:
    assert LEGAL[CheckpointPhase.RECORDING] == {CheckpointPhase.COMPLETED}


def test_a_checkpoint_completes_only_after_all_acknowledgements_and_its_manifest_and_its_log_entry() -> None:
    checkpoints = coordinator()
    assert checkpoints.trigger(CheckpointKind.PERIODIC, now_ms=0) == [Trigger(ONE, CheckpointKind.PERIODIC)]
    (acknowledged,) = acknowledge_all(checkpoints, ONE)
    assert isinstance(acknowledged, AllAcknowledged)
    (record,) = checkpoints.manifest_written(ONE, (), CheckpointStatistics())
    assert isinstance(record, ManifestWritten)
    assert [pending.phase for pending in checkpoints.pending] == [CheckpointPhase.RECORDING]
    (completed,) = checkpoints.entry_created(ONE, now_ms=9)
    assert isinstance(completed, Completed)
    assert (completed.permit.checkpoint, completed.permit.generation) == (1, 3)
    assert len(completed.pending.committables()) == 1
    assert checkpoints.pending == ()


def test_acknowledgements_that_are_late_or_repeated_or_unknown_have_no_effect() -> None:
    checkpoints = coordinator()
    checkpoints.trigger(CheckpointKind.PERIODIC, now_ms=0)
    first = snapshot(GRAPH, SUBTASKS[0])
    assert checkpoints.acknowledge(ONE, (first,), now_ms=0) == []
    assert checkpoints.acknowledge(ONE, (first,), now_ms=0) == []
    assert checkpoints.acknowledge(CheckpointId(9), (first,), now_ms=0) == []
    unknown = graph(2)
    assert checkpoints.acknowledge(ONE, (snapshot(unknown, SubtaskId(1, 1)),), now_ms=0) == []
    assert [len(pending.snapshots) for pending in checkpoints.pending] == [1]
    checkpoints.decline(ONE, SUBTASKS[0], "no", now_ms=0)
    assert acknowledge_all(checkpoints, ONE) == []


def test_the_reason_of_a_checkpoint_timeout_names_the_subtasks_that_have_not_acknowledged() -> None:
    checkpoints = coordinator(interval_ms=None)
    checkpoints.trigger(CheckpointKind.SAVEPOINT, now_ms=0)
    checkpoints.acknowledge(ONE, (snapshot(GRAPH, SUBTASKS[0]),), now_ms=1)
    assert checkpoints.tick(49) == []
    (aborted,) = checkpoints.tick(50)
    assert isinstance(aborted, Aborted)
    assert str(SUBTASKS[1]) in aborted.reason
    assert str(SUBTASKS[0]) not in aborted.reason


def test_a_checkpoint_can_be_aborted_only_until_its_manifest_is_written() -> None:
    checkpoints = coordinator()
    checkpoints.trigger(CheckpointKind.PERIODIC, now_ms=0)
    acknowledge_all(checkpoints, ONE)
    (aborted,) = checkpoints.manifest_failed(ONE, "disk full", now_ms=1)
    assert isinstance(aborted, Aborted)
    assert "disk full" in aborted.reason
    two = CheckpointId(2)
    checkpoints.trigger(CheckpointKind.PERIODIC, now_ms=2)
    acknowledge_all(checkpoints, two)
    checkpoints.manifest_written(two, (), CheckpointStatistics())
    assert checkpoints.abort_all("shutdown", now_ms=3) == []
    assert [pending.phase for pending in checkpoints.pending] == [CheckpointPhase.RECORDING]


def test_the_job_fails_after_too_many_consecutive_failed_checkpoints() -> None:
    checkpoints = coordinator(interval_ms=10)
    assert checkpoints.tick(10) == [Trigger(ONE, CheckpointKind.PERIODIC)]
    effects = checkpoints.tick(60)
    assert [type(effect) for effect in effects] == [Aborted, Trigger]
    effects = checkpoints.tick(120)
    assert [type(effect) for effect in effects] == [Aborted, TooManyFailures]
    assert checkpoints.pending == ()


@pytest.mark.parametrize(("tolerable", "failing"), [(0, 1), (3, 4), (None, None)])
def test_the_job_fails_when_the_number_of_failed_checkpoints_in_a_row_exceeds_the_limit(
    tolerable: int | None, failing: int | None
) -> None:
    checkpoints = coordinator(interval_ms=None, tolerable_failed_checkpoints=tolerable)
    for number in range(1, 50):
        checkpoints.trigger(CheckpointKind.MANUAL, now_ms=0)
        declined = checkpoints.decline(CheckpointId(number), SUBTASKS[0], "no", now_ms=0)
        if any(isinstance(effect, TooManyFailures) for effect in declined):
            assert number == failing
            return
    assert failing is None


def test_a_completed_checkpoint_resets_the_number_of_consecutive_failures() -> None:
    checkpoints = coordinator(interval_ms=None)
    for number in (1, 3):
        checkpoints.trigger(CheckpointKind.SAVEPOINT, now_ms=0)
        declined = checkpoints.decline(CheckpointId(number), SUBTASKS[0], "no", now_ms=0)
        assert [type(effect) for effect in declined] == [Aborted]
        checkpoints.trigger(CheckpointKind.SAVEPOINT, now_ms=0)
        acknowledge_all(checkpoints, CheckpointId(number + 1))
        checkpoints.manifest_written(CheckpointId(number + 1), (), CheckpointStatistics())
        checkpoints.entry_created(CheckpointId(number + 1), now_ms=0)


def test_the_minimum_pause_between_checkpoints_starts_at_the_end_of_the_previous_checkpoint() -> None:
    checkpoints = coordinator(interval_ms=10, min_pause_ms=30, timeout_ms=1_000)
    assert checkpoints.due_ms == 10
    checkpoints.tick(10)
    assert checkpoints.due_ms is None
    acknowledge_all(checkpoints, ONE)
    checkpoints.manifest_written(ONE, (), CheckpointStatistics())
    checkpoints.entry_created(ONE, now_ms=25)
    assert checkpoints.due_ms == 55
    assert checkpoints.tick(54) == []
    assert checkpoints.tick(55) == [Trigger(CheckpointId(2), CheckpointKind.PERIODIC)]


def test_ids_of_aborted_checkpoints_are_not_reused() -> None:
    checkpoints = coordinator(interval_ms=None)
    for expected in (1, 2, 3):
        assert checkpoints.trigger(CheckpointKind.SAVEPOINT, now_ms=0) == [
            Trigger(CheckpointId(expected), CheckpointKind.SAVEPOINT)
        ]
        checkpoints.abort_all("again", now_ms=0)
    assert checkpoints.next_checkpoint == 4


SOURCE_AND_SINK = (SubtaskId(0, 0), SubtaskId(1, 0))
FIRST, SECOND = Generation(1), Generation(2)


def test_the_last_checkpoint_of_a_run_has_kind_final_once_all_subtasks_have_ended() -> None:
    last = LastCheckpoint(SOURCE_AND_SINK)
    last.subtask_ended(SOURCE_AND_SINK[0])
    assert last.kind is None
    last.subtask_ended(SOURCE_AND_SINK[1])
    assert last.kind is CheckpointKind.FINAL


def test_the_last_checkpoint_of_a_suspended_run_has_kind_final_once_all_subtasks_have_ended() -> None:
    last = LastCheckpoint(SOURCE_AND_SINK)
    last.suspend()
    assert last.kind is CheckpointKind.SUSPEND
    for subtask in SOURCE_AND_SINK:
        last.subtask_ended(subtask)
    assert last.kind is CheckpointKind.FINAL


def test_a_suspend_request_stays_pending_after_a_recovery() -> None:
    last = LastCheckpoint(SOURCE_AND_SINK)
    for subtask in SOURCE_AND_SINK:
        last.subtask_ended(subtask)
    last.generation_started()
    assert last.kind is None
    last.suspend()
    last.generation_started()
    assert last.kind is CheckpointKind.SUSPEND


def test_a_suspend_request_completes_only_with_the_checkpoint_that_was_taken_for_it() -> None:
    last = LastCheckpoint(SOURCE_AND_SINK)
    last.suspend()
    assert not last.is_completed(FIRST, CheckpointId(4)), "checkpoint 4 was not taken for the suspend request"
    last.expect(FIRST, CheckpointId(5))
    assert not last.is_completed(FIRST, None)
    assert not last.is_completed(FIRST, CheckpointId(4))
    assert last.is_completed(FIRST, CheckpointId(5))
    assert not last.is_completed(SECOND, CheckpointId(5)), "the new generation has emitted records since checkpoint 5"


def test_a_checkpoint_of_kind_suspend_does_not_count_as_the_checkpoint_of_kind_final() -> None:
    last = LastCheckpoint(SOURCE_AND_SINK)
    last.suspend()
    last.expect(FIRST, CheckpointId(5))
    for subtask in SOURCE_AND_SINK:
        last.subtask_ended(subtask)
    assert not last.is_completed(FIRST, CheckpointId(5))


def test_a_last_checkpoint_can_be_triggered_only_if_the_job_is_ending() -> None:
    with pytest.raises(AssertionError, match="not ending"):
        LastCheckpoint(SOURCE_AND_SINK).expect(FIRST, CheckpointId(5))
