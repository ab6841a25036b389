"""The life of a checkpoint in the coordinator."""

from __future__ import annotations

import itertools

import pytest
from kernel_cases import graph, snapshot

from weir.kernel.checkpoints import (
    LEGAL,
    Aborted,
    AllAcknowledged,
    CheckpointConfig,
    CheckpointCoordinator,
    CheckpointKind,
    CheckpointPhase,
    Completed,
    PendingCheckpoint,
    Record,
    TooManyFailures,
    Trigger,
)
from weir.protocol.ids import CheckpointId, Generation, SubtaskId

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
    return [effect for subtask in SUBTASKS for effect in of.acknowledge(checkpoint, snapshot(GRAPH, subtask), now_ms=now_ms)]


@pytest.mark.parametrize(("before", "after"), list(itertools.product(CheckpointPhase, CheckpointPhase)))
def test_only_moves_of_the_table_are_possible(before: CheckpointPhase, after: CheckpointPhase) -> None:
    pending = PendingCheckpoint(ONE, CheckpointKind.PERIODIC, 0, before)
    if after in LEGAL[before]:
        pending.move(after)
        assert pending.phase is after
    else:
        with pytest.raises(AssertionError):
            pending.move(after)


def test_what_is_being_recorded_can_no_longer_be_aborted() -> None:
    assert LEGAL[CheckpointPhase.RECORDING] == {CheckpointPhase.COMPLETED}


def test_a_checkpoint_completes_only_through_acknowledgements_manifest_and_entry() -> None:
    checkpoints = coordinator()
    assert checkpoints.trigger(CheckpointKind.PERIODIC, now_ms=0) == [Trigger(ONE, CheckpointKind.PERIODIC)]
    (acknowledged,) = acknowledge_all(checkpoints, ONE)
    assert isinstance(acknowledged, AllAcknowledged)
    (record,) = checkpoints.manifest_written(ONE)
    assert isinstance(record, Record)
    assert [pending.phase for pending in checkpoints.pending] == [CheckpointPhase.RECORDING]
    (completed,) = checkpoints.entry_created(ONE, now_ms=9)
    assert isinstance(completed, Completed)
    assert (completed.permit.checkpoint, completed.permit.generation) == (1, 3)
    assert len(completed.pending.committables()) == 1
    assert checkpoints.pending == ()


def test_late_double_and_strange_acknowledgements_have_no_effect() -> None:
    checkpoints = coordinator()
    checkpoints.trigger(CheckpointKind.PERIODIC, now_ms=0)
    first = snapshot(GRAPH, SUBTASKS[0])
    assert checkpoints.acknowledge(ONE, first, now_ms=0) == []
    assert checkpoints.acknowledge(ONE, first, now_ms=0) == []
    assert checkpoints.acknowledge(CheckpointId(9), first, now_ms=0) == []
    strange = graph(2)
    assert checkpoints.acknowledge(ONE, snapshot(strange, SubtaskId(1, 1)), now_ms=0) == []
    assert [len(pending.snapshots) for pending in checkpoints.pending] == [1]
    checkpoints.decline(ONE, SUBTASKS[0], "no", now_ms=0)
    assert acknowledge_all(checkpoints, ONE) == []


def test_a_timeout_names_who_has_not_acknowledged() -> None:
    checkpoints = coordinator(interval_ms=None)
    checkpoints.trigger(CheckpointKind.SAVEPOINT, now_ms=0)
    checkpoints.acknowledge(ONE, snapshot(GRAPH, SUBTASKS[0]), now_ms=1)
    assert checkpoints.tick(49) == []
    (aborted,) = checkpoints.tick(50)
    assert isinstance(aborted, Aborted)
    assert str(SUBTASKS[1]) in aborted.reason
    assert str(SUBTASKS[0]) not in aborted.reason


def test_a_failed_manifest_aborts_and_a_recorded_checkpoint_survives_the_shutdown() -> None:
    checkpoints = coordinator()
    checkpoints.trigger(CheckpointKind.PERIODIC, now_ms=0)
    acknowledge_all(checkpoints, ONE)
    (aborted,) = checkpoints.manifest_failed(ONE, "disk full", now_ms=1)
    assert isinstance(aborted, Aborted)
    assert "disk full" in aborted.reason
    two = CheckpointId(2)
    checkpoints.trigger(CheckpointKind.PERIODIC, now_ms=2)
    acknowledge_all(checkpoints, two)
    checkpoints.manifest_written(two)
    assert checkpoints.abort_all("shutdown", now_ms=3) == []
    assert [pending.phase for pending in checkpoints.pending] == [CheckpointPhase.RECORDING]


def test_failures_beyond_the_tolerable_number_in_a_row_fail_the_job_and_trigger_nothing_more() -> None:
    checkpoints = coordinator(interval_ms=10)
    assert checkpoints.tick(10) == [Trigger(ONE, CheckpointKind.PERIODIC)]
    effects = checkpoints.tick(60)
    assert [type(effect) for effect in effects] == [Aborted, Trigger]
    effects = checkpoints.tick(120)
    assert [type(effect) for effect in effects] == [Aborted, TooManyFailures]
    assert checkpoints.pending == ()


@pytest.mark.parametrize(("tolerable", "failing"), [(0, 1), (3, 4), (None, None)])
def test_the_first_failure_beyond_what_is_tolerable_fails_the_job_and_none_does_without_a_limit(
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


def test_a_completed_checkpoint_forgives_earlier_failures() -> None:
    checkpoints = coordinator(interval_ms=None)
    for number in (1, 3):
        checkpoints.trigger(CheckpointKind.SAVEPOINT, now_ms=0)
        declined = checkpoints.decline(CheckpointId(number), SUBTASKS[0], "no", now_ms=0)
        assert [type(effect) for effect in declined] == [Aborted]
        checkpoints.trigger(CheckpointKind.SAVEPOINT, now_ms=0)
        acknowledge_all(checkpoints, CheckpointId(number + 1))
        checkpoints.manifest_written(CheckpointId(number + 1))
        checkpoints.entry_created(CheckpointId(number + 1), now_ms=0)


def test_the_pause_is_counted_from_the_end_of_the_one_before() -> None:
    checkpoints = coordinator(interval_ms=10, min_pause_ms=30, timeout_ms=1_000)
    checkpoints.tick(10)
    acknowledge_all(checkpoints, ONE)
    checkpoints.manifest_written(ONE)
    checkpoints.entry_created(ONE, now_ms=25)
    assert checkpoints.tick(54) == []
    assert checkpoints.tick(55) == [Trigger(CheckpointId(2), CheckpointKind.PERIODIC)]


def test_ids_only_grow_also_over_aborted_ones() -> None:
    checkpoints = coordinator(interval_ms=None)
    for expected in (1, 2, 3):
        assert checkpoints.trigger(CheckpointKind.SAVEPOINT, now_ms=0) == [
            Trigger(CheckpointId(expected), CheckpointKind.SAVEPOINT)
        ]
        checkpoints.abort_all("again", now_ms=0)
    assert checkpoints.next_checkpoint == 4
