"""How a job comes back: how soon, and what is prepared before."""

from __future__ import annotations

from kernel_cases import SOURCE, graph, snapshot

from weir.kernel.checkpoints import CheckpointKind, CommitPermit, PendingCheckpoint
from weir.kernel.preparation import Preparation
from weir.kernel.recovery import Recovery
from weir.kernel.restarts import RestartConfig
from weir.kernel.restore import RestorePoint
from weir.kernel.retries import Retries
from weir.kernel.splits import SplitAssigner
from weir.protocol.ids import CheckpointId, Generation, OperatorUid
from weir.protocol.snapshots import Split

GRAPH = graph(2)
TWO = Generation(2)
NEW = OperatorUid("new")


def point() -> RestorePoint:
    pending = PendingCheckpoint(CheckpointId(7), CheckpointKind.PERIODIC, 0)
    for subtask in sorted(GRAPH.subtasks(), reverse=True):
        pending.snapshots[subtask] = snapshot(GRAPH, subtask, checkpoint=7)
    assigner = SplitAssigner([Split("split0", None), Split("split1", None), Split("rest", None)])
    for index in range(2):
        assigner.request(index)
    return RestorePoint.taken(pending, GRAPH, {SOURCE: assigner.snapshot()})


def preparation(of: RestorePoint | None, attempts_max: int = 3) -> Preparation:
    return Preparation(TWO, of, [SOURCE, NEW], Retries(attempts_max=attempts_max, first_delay_ms=10))


def test_the_job_is_down_from_its_first_failure_until_it_runs_again() -> None:
    recovery = Recovery(RestartConfig(attempts_max=5, initial_delay_ms=100))
    assert recovery.on_running(0) is None, "the first start is no recovery"
    assert recovery.on_failure(1_000)
    assert recovery.may_deploy(1_000), "the first restart is immediate"
    assert recovery.on_failure(1_500)
    assert not recovery.may_deploy(1_599)
    assert recovery.may_deploy(1_600)
    assert recovery.on_running(1_700) == 700
    assert recovery.on_running(1_800) is None


def test_recovery_is_given_up_after_as_many_restarts_without_progress_as_allowed() -> None:
    recovery = Recovery(RestartConfig(attempts_max=2))
    assert [recovery.on_failure(0) for _ in range(3)] == [True, True, False]
    assert recovery.restarts == 2
    recovery.on_progress()
    assert recovery.restarts == 0
    assert recovery.on_failure(0)


def test_a_restore_point_has_the_snapshots_of_its_checkpoint_in_order() -> None:
    taken = point()
    assert taken.checkpoint == 7
    assert [(one.chain, one.index) for one in taken.subtasks] == sorted(GRAPH.subtasks())
    assert len(taken.committables()) == 2


def test_a_job_that_begins_with_nothing_has_nothing_to_commit_and_all_to_enumerate() -> None:
    prepare = preparation(None).first()
    assert (prepare.permit, prepare.point, prepare.enumerate_sources, prepare.delay_ms) == (None, None, (SOURCE, NEW), 0)


def test_a_restored_job_commits_what_it_is_restored_from_and_enumerates_only_what_is_new() -> None:
    restored = point()
    prepare = preparation(restored).first()
    assert prepare.permit == CommitPermit(CheckpointId(7), TWO)
    assert prepare.point is restored
    assert prepare.enumerate_sources == (NEW,)


def test_a_preparation_is_done_again_as_often_as_allowed_and_later_each_time() -> None:
    prepared = preparation(None)
    first = prepared.first()
    again = [prepared.again() for _ in range(3)]
    assert [one and one.delay_ms for one in again] == [10, 20, None]
    assert again[0] is not None and again[0].enumerate_sources == first.enumerate_sources


def test_assigners_have_what_the_checkpoint_left_and_what_was_enumerated() -> None:
    assigners = preparation(point()).assigners({NEW: [Split("fresh", None)]})
    assert assigners.keys() == {SOURCE, NEW}
    dealt = [split.id for split in iter(lambda: assigners[SOURCE].request(0), None)]
    assert dealt == ["split0", "split1", "rest"]
    fresh = assigners[NEW].request(0)
    assert fresh is not None and fresh.id == "fresh"
