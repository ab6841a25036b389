"""Requests of the job master that have no answer yet: the append to the job log, the preparation of a generation, and the
queued commits."""

from __future__ import annotations

import pytest
from kernel_cases import SOURCE, graph, restore_point, split_list

from weir.kernel.checkpoints import CommitPermit
from weir.kernel.effects import AppendLog, StartGeneration
from weir.kernel.failover import Backoff
from weir.kernel.requests import CommitQueue, PendingAppend, Preparation
from weir.kernel.restore import RestorePoint
from weir.kernel.split_assigner import Assignment
from weir.protocol.ids import CheckpointId, Generation, OperatorUid

REQUEST = StartGeneration(Generation(1), None, CheckpointId(1))
GRAPH = graph(2)
TWO = Generation(2)
NEW = OperatorUid("new")


# ---- the append to the job log -----------------------------------------------------------------


def test_an_append_stays_open_until_the_log_contains_its_entry() -> None:
    append = PendingAppend(attempts_max=2, retry_ms=10)
    assert not append.is_open
    assert append.append(REQUEST) == AppendLog(REQUEST)
    assert append.is_open
    append.created(REQUEST)
    assert not append.is_open


def test_a_failed_append_is_retried_with_a_delay_until_the_last_attempt_has_failed() -> None:
    append = PendingAppend(attempts_max=2, retry_ms=10)
    append.append(REQUEST)
    assert append.retry(REQUEST) == AppendLog(REQUEST, 10)
    assert append.is_open
    assert append.retry(REQUEST) is None
    assert not append.is_open


def test_the_attempts_of_each_append_are_counted_separately() -> None:
    append = PendingAppend(attempts_max=2, retry_ms=10)
    append.append(REQUEST)
    append.retry(REQUEST)
    append.created(REQUEST)
    append.append(REQUEST)
    assert append.retry(REQUEST) == AppendLog(REQUEST, 10)


def test_only_one_append_can_be_open_at_a_time() -> None:
    append = PendingAppend(attempts_max=2, retry_ms=10)
    with pytest.raises(AssertionError, match="not open"):
        append.created(REQUEST)
    append.append(REQUEST)
    with pytest.raises(AssertionError, match="one append at a time"):
        append.append(REQUEST)
    append.drop()
    assert not append.is_open
    with pytest.raises(AssertionError, match="not open"):
        append.retry(REQUEST)


# ---- preparation -------------------------------------------------------------------------------


def preparation(point: RestorePoint | None, attempts_max: int = 3) -> Preparation:
    return Preparation(TWO, point, [SOURCE, NEW], Backoff(attempts_max=attempts_max, first_delay_ms=10))


def test_a_job_without_a_checkpoint_enumerates_the_splits_of_all_sources() -> None:
    prepare = preparation(None).start()
    assert (prepare.permit, prepare.point, prepare.enumerate_sources, prepare.delay_ms) == (None, None, (SOURCE, NEW), 0)


def test_a_restored_job_enumerates_only_the_splits_of_new_sources() -> None:
    restored = restore_point(GRAPH)
    prepare = preparation(restored).start()
    assert prepare.permit == CommitPermit(CheckpointId(7), TWO)
    assert prepare.point is restored
    assert prepare.enumerate_sources == (NEW,)


def test_a_failed_preparation_is_retried_with_increasing_delays_until_the_last_attempt() -> None:
    prepared = preparation(None)
    first = prepared.start()
    retries = [prepared.retry() for _ in range(3)]
    assert [retry and retry.delay_ms for retry in retries] == [10, 20, None]
    assert retries[0] is not None and retries[0].enumerate_sources == first.enumerate_sources


def test_a_split_assigner_contains_the_unread_splits_of_the_checkpoint_and_all_new_splits() -> None:
    lists = {SOURCE: (split_list("split0", "split1", "rest"),), NEW: (split_list("fresh"),)}
    assigners = preparation(restore_point(GRAPH)).assigners(lists)
    assert assigners.keys() == {SOURCE, NEW}
    assigned = [one.split and one.split.id for _ in range(4) for one in assigners[SOURCE].request(0, CheckpointId(1))]
    assert assigned == ["split0", "split1", "rest", None]
    assert assigners[NEW].request(1, CheckpointId(1)) == [Assignment(1, lists[NEW][0].splits[0])]


# ---- commits -----------------------------------------------------------------------------------


def permit(checkpoint: int) -> CommitPermit:
    return CommitPermit(CheckpointId(checkpoint), Generation(1))


def queue(*checkpoints: int) -> CommitQueue:
    commits = CommitQueue(attempts_max=3)
    for checkpoint in checkpoints:
        commits.add(permit(checkpoint), ())
    return commits


def test_commits_run_one_at_a_time_and_in_order() -> None:
    commits = queue()
    assert [commit.permit for commit in commits.add(permit(1), ())] == [permit(1)]
    assert commits.add(permit(2), ()) == []
    assert commits.add(permit(3), ()) == []
    assert len(commits) == 3
    assert [commit.permit for commit in commits.done(permit(1))] == [permit(2)]
    assert [commit.permit for commit in commits.done(permit(2))] == [permit(3)]
    assert commits.done(permit(3)) == []
    assert not commits


def test_a_failed_commit_is_retried_up_to_the_limit_before_later_commits() -> None:
    commits = queue(1, 2)
    attempts = [commits.retry(permit(1)) for _ in range(3)]
    assert [commit and (commit.permit, commit.attempt) for commit in attempts] == [(permit(1), 2), (permit(1), 3), None]
    assert [commit.permit for commit in commits.done(permit(1))] == [permit(2)]


def test_the_result_of_an_unknown_commit_has_no_effect() -> None:
    commits = queue(2, 3)
    assert commits.done(permit(1)) == []
    assert len(commits) == 2


def test_the_result_of_a_dropped_commit_has_no_effect() -> None:
    commits = queue(1, 2)
    commits.drop_all()
    assert permit(1) not in commits
    assert commits.done(permit(1)) == []
