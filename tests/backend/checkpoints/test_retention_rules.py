"""What may go and what stays, decided from facts alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.unit.storage.storage_builders import abandoned, completed, fold, pinned, retired, started

from weir.protocol.ids import CheckpointId, Generation
from weir.protocol.job_log import GenerationStarted, Purpose
from weir.protocol.log_view import LogView
from weir.storage.garbage_collection import plan_retention
from weir_backend.checkpoints.retention_rules import (
    CheckpointFacts,
    GcDecision,
    GcJobFacts,
    LogFacts,
    PlanReference,
    branch_points,
    decide,
    deletion_refusal,
    gc_obstacle,
    plan_references,
    unpublished_checkpoints,
)
from weir_backend.models import DesiredState, PlanState, RunState
from weir_backend.reconciler.decisions import BeginRun, GiveCommand, Wait, wait_for_gc

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
DAY = timedelta(days=1)
AT_REST = GcJobFacts(
    desired=DesiredState.SUSPENDED, live_run=None, last_state=RunState.SUSPENDED, restarts_stopped=False, applying=None, neighbour=None,
    known_generation=1,
)  # fmt: skip
FIVE = fold(started(1), *(completed(1, number) for number in range(1, 6)))
BACK = fold(
    started(1),
    *(completed(1, number) for number in range(1, 6)),
    started(2, restored_from=2, branch="b2", first_checkpoint=6),
    abandoned(2, "b1", 2, 3, 4, 5),
    *(completed(2, number) for number in range(6, 9)),
)
"""Gone back from 5 to 2, then on to 8."""


def decided(
    view: LogView, rows: list[CheckpointFacts], *, keep: int = 2, references: dict[int, list[str]] | None = None,
    unpublished_: frozenset[int] = frozenset(), obstacle: str | None = None,
) -> GcDecision:  # fmt: skip
    log = LogFacts(view, frozenset(map(int, plan_retention(view, keep=keep))), unpublished_)
    return decide(log, rows, references or {}, obstacle=obstacle)


def rows(*numbers: int, **of_all: Any) -> list[CheckpointFacts]:
    return [CheckpointFacts(number, **of_all) for number in numbers]


def but(all_: list[CheckpointFacts], number: int, **changed: Any) -> list[CheckpointFacts]:
    return [replace(row, **changed) if row.number == number else row for row in all_]


# ---- by age ------------------------------------------------------------------------------------


def test_what_is_older_than_the_newest_so_many_goes() -> None:
    assert decided(FIVE, rows(1, 2, 3, 4, 5)).expire == (1, 2, 3)
    assert decided(FIVE, rows(1, 2, 3, 4, 5), keep=5).going == ()
    assert not decided(FIVE, rows(1, 2, 3, 4, 5), keep=5).touches_storage


def test_one_that_only_the_log_knows_of_goes_as_well() -> None:
    assert decided(FIVE, rows(4, 5)).expire == (1, 2, 3)


def test_a_pin_holds_from_the_moment_that_somebody_set_it_whatever_the_log_says_yet() -> None:
    assert decided(FIVE, but(rows(1, 2, 3, 4, 5), 2, pinned=True)).expire == (1, 3)
    assert decided(FIVE.apply(pinned(1, 3)), rows(1, 2, 3, 4, 5)).expire == (1, 2)


def test_a_savepoint_stays_even_if_the_log_does_not_pin_it_any_more() -> None:
    view = fold(started(1), completed(1, 1, savepoint=True), *(completed(1, number) for number in range(2, 6)))
    marked = but(rows(1, 2, 3, 4, 5), 1, is_savepoint=True)
    assert decided(view, marked).expire == (2, 3)
    half = decided(view.apply(pinned(1, 1, pin=False)), marked)
    assert half.expire == (2, 3) and half.repin == (1,), "who wanted to delete it has got no further than that"


def test_what_a_plan_or_the_next_run_refers_to_stays() -> None:
    assert decided(FIVE, rows(1, 2, 3, 4, 5), references={2: ["plan 7"]}).expire == (1, 3)


def test_what_may_have_to_be_committed_again_stays() -> None:
    assert decided(FIVE, rows(1, 2, 3, 4, 5), unpublished_=frozenset({3})).expire == (1, 2)


def test_the_newest_that_is_not_known_to_be_damaged_stays() -> None:
    hurt = but(but(rows(1, 2, 3, 4, 5), 5, damaged=True), 4, damaged=True)
    assert decided(FIVE, hurt).expire == (1, 2)
    assert decided(FIVE, rows(1, 2, 3, 4, 5, damaged=True)).expire == (1, 2, 3), "none of them is any better than another"


def test_what_a_rollback_left_behind_stays_and_so_does_where_it_branched_off() -> None:
    assert branch_points(BACK).keys() == {2}
    assert decided(BACK, rows(*range(1, 9))).expire == (1, 6)
    gone = BACK.apply(retired(2, 3, 4, 5))
    assert branch_points(gone) == {} and decided(gone, rows(1, 2, 6, 7, 8)).expire == (1, 2, 6)


def test_a_restart_is_no_branch() -> None:
    view = fold(
        started(1),
        completed(1, 1),
        completed(1, 2),
        started(2, restored_from=2, first_checkpoint=3),
        completed(2, 3),
        completed(2, 4),
    )
    assert branch_points(view) == {} and decided(view, rows(1, 2, 3, 4)).expire == (1, 2)


def test_what_the_sinks_were_not_told_of_yet_stays() -> None:
    view = fold(
        started(1),
        *(completed(1, number) for number in range(1, 4)),
        started(2, restored_from=1, branch="b2", first_checkpoint=4),
    )
    assert [left.checkpoint for left in view.abandonment_due] == [2, 3]
    found = decided(view, but(rows(1, 2, 3), 3, asked=True))
    assert found.delete == () and "sinks" in (found.refused or {})[3]


# ---- as asked for ------------------------------------------------------------------------------


def test_one_that_was_asked_for_goes_however_new_it_is() -> None:
    found = decided(FIVE, but(rows(1, 2, 3, 4, 5), 4, asked=True), keep=5)
    assert (found.delete, found.expire, found.unpin, found.refused) == ((4,), (), (), {})


def test_a_savepoint_goes_when_it_is_asked_for_and_is_unpinned_before() -> None:
    view = fold(started(1), completed(1, 1, savepoint=True), completed(1, 2))
    found = decided(view, but(rows(1, 2), 1, is_savepoint=True, asked=True))
    assert (found.delete, found.unpin, found.repin) == ((1,), (1,), ())


@pytest.mark.parametrize(
    ("number", "changed", "why"),
    [
        (5, {}, "the newest checkpoint"),
        (3, {"pinned": True}, "pinned"),
        (2, {}, "plan 7"),
        (4, {}, "committed again"),
    ],
)
def test_what_is_needed_is_not_deleted_and_it_is_said_why(number: int, changed: dict[str, Any], why: str) -> None:
    marked = but(rows(1, 2, 3, 4, 5), number, asked=True, **changed)
    found = decided(FIVE, marked, keep=5, references={2: ["It is needed by plan 7."]}, unpublished_=frozenset({4}))
    assert found.delete == () and why in (found.refused or {})[number]


def test_a_pin_that_the_database_does_not_know_of_is_not_undone() -> None:
    found = decided(FIVE.apply(pinned(1, 3)), but(rows(1, 2, 3, 4, 5), 3, asked=True), keep=5)
    assert found.delete == () and "pinned in the job log" in (found.refused or {})[3]


def test_where_a_branch_begins_goes_after_the_branch() -> None:
    first = decided(BACK, but(rows(*range(1, 9)), 2, asked=True), keep=8)
    assert first.delete == () and "starts at it" in (first.refused or {})[2]
    assert decided(BACK, but(rows(*range(1, 9)), 4, asked=True), keep=8).delete == (4,)


def test_nothing_is_deleted_while_something_is_in_the_way_and_what_is_gone_is_seen_all_the_same() -> None:
    marked = but(but(rows(1, 2, 3, 4, 5), 4, asked=True), 1, deleting=True)
    found = decided(FIVE.apply(retired(1, 1, 2)), marked, obstacle="it runs")
    assert (found.going, found.finish, found.touches_storage) == ((), (), False)
    assert found.refused == {4: "it runs"} and found.retired == (1, 2)


def test_what_somebody_has_begun_and_not_finished_is_finished() -> None:
    marked = but(rows(1, 2, 3, 4, 5), 1, deleting=True)
    found = decided(FIVE.apply(retired(1, 1, 2)), marked, keep=5)
    assert (found.finish, found.retired, found.touches_storage) == ((1,), (2,), True)


def test_a_log_that_is_not_there_says_nothing_of_anything() -> None:
    found = decided(LogView(), but(rows(1, 2, 3), 2, asked=True))
    assert found == GcDecision(refused={})


# ---- whether at all ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({}, None),
        ({"desired": DesiredState.CANCELLED, "last_state": RunState.CANCELED}, None),
        ({"desired": DesiredState.RUNNING, "last_state": RunState.FINISHED}, None),
        ({"desired": DesiredState.RUNNING, "last_state": RunState.FAILED, "restarts_stopped": True}, None),
        ({"desired": DesiredState.RUNNING, "last_state": RunState.FAILED}, "running"),
        ({"desired": DesiredState.RUNNING, "last_state": RunState.SUSPENDED}, "running"),
        ({"live_run": 4}, "running"),
        ({"applying": 7}, "plan-applying"),
        ({"neighbour": "other"}, "shared"),
        ({"known_generation": 0}, "unknown-generation"),
    ],
)
def test_only_of_a_job_at_rest_anything_is_deleted(changed: dict[str, Any], code: str | None) -> None:
    found = gc_obstacle(replace(AT_REST, **changed), log_generation=1)
    assert (found.code if found else None) == code


def test_a_generation_of_ours_is_no_stranger() -> None:
    tidied = FIVE.apply(
        GenerationStarted(
            Generation(2), CheckpointId(5), "b1", CheckpointId(6), "n", 1, Purpose.MAINTENANCE
        )
    )  # fmt: skip
    assert LogFacts(tidied, frozenset()).run_generation == 1
    assert gc_obstacle(AT_REST, log_generation=LogFacts(tidied, frozenset()).run_generation) is None
    assert tidied.current == FIVE.current and tidied.abandonment_due == () and tidied.branch == FIVE.branch


def test_no_run_is_begun_while_a_worker_is_at_it() -> None:
    begin = BeginRun("start")
    assert wait_for_gc(begin, NOW + DAY, NOW) == Wait(NOW + DAY, "A worker is deleting old checkpoints.")
    assert wait_for_gc(begin, NOW, NOW) is begin and wait_for_gc(begin, None, NOW) is begin
    assert wait_for_gc(GiveCommand("Suspend"), NOW + DAY, NOW) == GiveCommand("Suspend")


# ---- who refers to it --------------------------------------------------------------------------


def plan(state: PlanState, **more: Any) -> PlanReference:
    given = {
        "id": 7, "target": 2, "safety": None, "created_at": NOW - DAY / 2, "ended_at": None, "undone": False,
    }  # fmt: skip
    return PlanReference(**{**given, "state": state, **more})


@pytest.mark.parametrize(
    ("one", "held"),
    [
        (plan(PlanState.PROPOSED), {2}),
        (plan(PlanState.APPROVED), {2}),
        (plan(PlanState.PROPOSED, created_at=NOW - 2 * DAY), set()),  # it could not be applied any more
        (plan(PlanState.APPLYING), {2}),
        (plan(PlanState.APPLYING, safety=5, created_at=NOW - 9 * DAY), {2, 5}),
        (plan(PlanState.APPLIED, safety=5, ended_at=NOW - DAY), {5}),
        (plan(PlanState.APPLIED, safety=5, ended_at=NOW - DAY, undone=True), set()),
        (plan(PlanState.APPLIED, safety=5, ended_at=NOW - 31 * DAY), set()),
        (plan(PlanState.APPLIED, safety=None, ended_at=NOW - DAY), set()),
        (plan(PlanState.FAILED, safety=5), set()),
        (plan(PlanState.DISCARDED), set()),
        (plan(PlanState.PROPOSED, target=None), set()),
    ],
)
def test_a_plan_holds_what_it_may_still_go_back_to(one: PlanReference, held: set[int]) -> None:
    found = plan_references([one], None, NOW, undo_kept=30 * DAY)
    assert found.keys() == held and all("lan 7" in sentence for sentences in found.values() for sentence in sentences)


def test_the_next_run_holds_what_it_begins_with() -> None:
    assert plan_references([], 4, NOW, undo_kept=DAY) == {4: ["The next run starts from it."]}


@pytest.mark.parametrize(
    ("row", "code"),
    [
        (CheckpointFacts(3), None),
        (CheckpointFacts(3, is_savepoint=True), None),
        (CheckpointFacts(3, pinned=True), "pinned"),
        (CheckpointFacts(2), "referenced"),
        (CheckpointFacts(5), "newest"),
    ],
)
def test_who_asks_hears_at_once_what_the_database_knows(row: CheckpointFacts, code: str | None) -> None:
    found = deletion_refusal(row.number, pinned=row.pinned, references={2: ["plan 7"]}, newest=5)
    assert (found.code if found else None) == code


# ---- what is published -------------------------------------------------------------------------


def test_what_no_later_manifest_calls_published_may_have_to_be_committed_again() -> None:
    assert unpublished_checkpoints(FIVE, {1: 0, 2: 1, 3: 2, 4: 3, 5: 4}) == frozenset()
    assert unpublished_checkpoints(FIVE, {1: 0, 2: 1, 3: 2, 4: 2, 5: 2}) == {3, 4}
    assert unpublished_checkpoints(FIVE, {1: 0, 2: 1, 3: 2, 4: 3}) == {4}, "a manifest that cannot be read says nothing"


def test_a_line_that_was_left_behind_counts_for_itself() -> None:
    said = {1: 0, 2: 1, 3: 2, 4: 2, 5: 2, 6: 2, 7: 6, 8: 7}
    assert unpublished_checkpoints(BACK, said) == {3, 4}
