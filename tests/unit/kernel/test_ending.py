"""When a job's last checkpoint is due, and whether it is there."""

from __future__ import annotations

import pytest

from weir.kernel.checkpoints import CheckpointKind
from weir.kernel.effects import Outcome
from weir.kernel.ending import LastCheckpoint
from weir.protocol.ids import CheckpointId, Generation, SubtaskId

SUBTASKS = (SubtaskId(0, 0), SubtaskId(1, 0))
FIRST, SECOND = Generation(1), Generation(2)


def test_the_last_checkpoint_is_final_once_every_subtask_has_ended() -> None:
    last = LastCheckpoint(SUBTASKS)
    last.subtask_ended(SUBTASKS[0])
    assert last.kind is None
    last.subtask_ended(SUBTASKS[1])
    assert (last.kind, last.outcome) == (CheckpointKind.FINAL, Outcome.FINISHED)


def test_a_suspended_job_whose_input_has_ended_is_finished() -> None:
    last = LastCheckpoint(SUBTASKS)
    last.suspend()
    assert (last.kind, last.outcome) == (CheckpointKind.SUSPEND, Outcome.SUSPENDED)
    for subtask in SUBTASKS:
        last.subtask_ended(subtask)
    assert (last.kind, last.outcome) == (CheckpointKind.FINAL, Outcome.FINISHED)


def test_over_a_recovery_a_suspend_stays_wanted_and_ended_subtasks_begin_anew() -> None:
    last = LastCheckpoint(SUBTASKS)
    for subtask in SUBTASKS:
        last.subtask_ended(subtask)
    last.generation_runs()
    assert last.kind is None
    last.suspend()
    last.generation_runs()
    assert last.kind is CheckpointKind.SUSPEND


def test_it_is_completed_only_as_the_newest_in_the_generation_that_triggered_it() -> None:
    last = LastCheckpoint(SUBTASKS)
    last.suspend()
    assert not last.is_completed(FIRST, CheckpointId(4)), "nobody has triggered it"
    last.awaits(FIRST, CheckpointId(5))
    assert not last.is_completed(FIRST, None)
    assert not last.is_completed(FIRST, CheckpointId(4))
    assert last.is_completed(FIRST, CheckpointId(5))
    assert not last.is_completed(SECOND, CheckpointId(5)), "records have followed it since"


def test_a_suspending_checkpoint_does_not_count_as_the_final_one() -> None:
    last = LastCheckpoint(SUBTASKS)
    last.suspend()
    last.awaits(FIRST, CheckpointId(5))
    for subtask in SUBTASKS:
        last.subtask_ended(subtask)
    assert not last.is_completed(FIRST, CheckpointId(5))


def test_a_job_that_goes_on_awaits_no_last_checkpoint() -> None:
    with pytest.raises(AssertionError, match="not about to end"):
        LastCheckpoint(SUBTASKS).awaits(FIRST, CheckpointId(5))
