"""The queue of commits."""

from __future__ import annotations

from weir.kernel.checkpoints import CommitPermit
from weir.kernel.commits import CommitQueue
from weir.protocol.ids import CheckpointId, Generation


def permit(checkpoint: int) -> CommitPermit:
    return CommitPermit(CheckpointId(checkpoint), Generation(1))


def queue(*checkpoints: int) -> CommitQueue:
    commits = CommitQueue(attempts_max=3)
    for checkpoint in checkpoints:
        commits.add(permit(checkpoint), ())
    return commits


def test_one_commit_is_under_way_and_the_others_follow_in_order() -> None:
    commits = queue()
    assert [commit.permit for commit in commits.add(permit(1), ())] == [permit(1)]
    assert commits.add(permit(2), ()) == []
    assert commits.add(permit(3), ()) == []
    assert len(commits) == 3
    assert [commit.permit for commit in commits.done(permit(1))] == [permit(2)]
    assert [commit.permit for commit in commits.done(permit(2))] == [permit(3)]
    assert commits.done(permit(3)) == []
    assert not commits


def test_a_commit_that_failed_is_tried_as_often_as_allowed_and_keeps_its_place() -> None:
    commits = queue(1, 2)
    attempts = [commits.again(permit(1)) for _ in range(3)]
    assert [commit and (commit.permit, commit.attempt) for commit in attempts] == [(permit(1), 2), (permit(1), 3), None]
    assert [commit.permit for commit in commits.done(permit(1))] == [permit(2)]


def test_the_answer_to_a_commit_that_nobody_waits_for_starts_no_other() -> None:
    commits = queue(2, 3)
    assert commits.done(permit(1)) == []
    assert len(commits) == 2


def test_after_all_are_dropped_no_answer_has_an_effect() -> None:
    commits = queue(1, 2)
    commits.drop_all()
    assert permit(1) not in commits
    assert commits.done(permit(1)) == []
