"""Tests the rules that decide which checkpoints are deleted. The tests need neither a database nor storage."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.unit.storage.storage_builders import abandoned, completed, fold, pinned, retired, started

from weir.protocol.ids import CheckpointId, Generation
from weir.protocol.job_log import CheckpointPublished, GenerationStarted, Purpose
from weir.protocol.log_view import LogView
from weir.storage.garbage_collection import plan_retention
from weir_backend.actions.rules import Refusal
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
NOT_RUNNING = GcJobFacts(
    desired=DesiredState.SUSPENDED, live_run=None, last_state=RunState.SUSPENDED, restarts_stopped=False, applying=None, neighbour=None,
    known_generation=1,
)  # fmt: skip
FIVE = fold(started(1), *(completed(1, number) for number in range(1, 6)))
ROLLED_BACK = fold(
    started(1),
    *(completed(1, number) for number in range(1, 6)),
    started(2, restored_from=2, branch="b2", first_checkpoint=6),
    abandoned(2, "b1", 2, 3, 4, 5),
    *(completed(2, number) for number in range(6, 9)),
)
"""A job that was rolled back from checkpoint 5 to checkpoint 2, and then continued to checkpoint 8."""
NEEDED_BY_PLAN = Refusal("referenced", "Plan 7 needs this checkpoint.", "Wait a day.")


def decision(
    view: LogView, rows: list[CheckpointFacts], *, keep: int = 2, references: dict[int, list[Refusal]] | None = None,
    unpublished_: frozenset[int] = frozenset(), obstacle: str | None = None,
) -> GcDecision:  # fmt: skip
    log = LogFacts(view, frozenset(map(int, plan_retention(view, keep=keep))), unpublished_)
    return decide(log, rows, references or {}, obstacle=obstacle)


def rows(*numbers: int, **fields: Any) -> list[CheckpointFacts]:
    return [CheckpointFacts(number, **fields) for number in numbers]


def with_change(facts: list[CheckpointFacts], number: int, **changed: Any) -> list[CheckpointFacts]:
    return [replace(row, **changed) if row.number == number else row for row in facts]


# ---- expiry ------------------------------------------------------------------------------------


def test_the_newest_checkpoints_are_retained_and_all_others_expire() -> None:
    assert decision(FIVE, rows(1, 2, 3, 4, 5)).expire == (1, 2, 3)
    assert decision(FIVE, rows(1, 2, 3, 4, 5), keep=5).to_delete == ()
    assert not decision(FIVE, rows(1, 2, 3, 4, 5), keep=5).touches_storage


def test_a_checkpoint_that_only_the_job_log_contains_expires_as_well() -> None:
    assert decision(FIVE, rows(4, 5)).expire == (1, 2, 3)


def test_a_checkpoint_is_kept_if_its_pin_is_in_the_database_or_in_the_job_log() -> None:
    assert decision(FIVE, with_change(rows(1, 2, 3, 4, 5), 2, pinned=True)).expire == (1, 3)
    assert decision(FIVE.apply(pinned(1, 3)), rows(1, 2, 3, 4, 5)).expire == (1, 2)


def test_a_savepoint_is_kept_even_if_its_pin_was_removed_from_the_job_log() -> None:
    view = fold(started(1), completed(1, 1, savepoint=True), *(completed(1, number) for number in range(2, 6)))
    marked = with_change(rows(1, 2, 3, 4, 5), 1, is_savepoint=True)
    assert decision(view, marked).expire == (2, 3)
    interrupted = decision(view.apply(pinned(1, 1, pin=False)), marked)
    assert interrupted.expire == (2, 3) and interrupted.repin == (1,), "the savepoint is pinned again"


def test_a_checkpoint_that_a_plan_references_is_kept() -> None:
    assert decision(FIVE, rows(1, 2, 3, 4, 5), references={2: [NEEDED_BY_PLAN]}).expire == (1, 3)


def test_a_checkpoint_with_unpublished_output_is_kept() -> None:
    assert decision(FIVE, rows(1, 2, 3, 4, 5), unpublished_=frozenset({3})).expire == (1, 2)


def test_the_newest_checkpoint_without_known_damage_is_kept() -> None:
    rows_with_damage = with_change(with_change(rows(1, 2, 3, 4, 5), 5, damaged=True), 4, damaged=True)
    assert decision(FIVE, rows_with_damage).expire == (1, 2)
    assert decision(FIVE, rows(1, 2, 3, 4, 5, damaged=True)).expire == (1, 2, 3), (
        "damage does not affect retention if all checkpoints are damaged"
    )


def test_an_abandoned_branch_and_its_branch_point_are_kept() -> None:
    assert branch_points(ROLLED_BACK).keys() == {2}
    assert decision(ROLLED_BACK, rows(*range(1, 9))).expire == (1, 6)
    without_branch = ROLLED_BACK.apply(retired(2, 3, 4, 5))
    assert branch_points(without_branch) == {} and decision(without_branch, rows(1, 2, 6, 7, 8)).expire == (1, 2, 6)


def test_a_restart_starts_no_branch() -> None:
    view = fold(
        started(1),
        completed(1, 1),
        completed(1, 2),
        started(2, restored_from=2, first_checkpoint=3),
        completed(2, 3),
        completed(2, 4),
    )
    assert branch_points(view) == {} and decision(view, rows(1, 2, 3, 4)).expire == (1, 2)


def test_a_checkpoint_whose_output_is_not_revoked_yet_is_kept() -> None:
    view = fold(
        started(1),
        *(completed(1, number) for number in range(1, 4)),
        started(2, restored_from=1, branch="b2", first_checkpoint=4),
    )
    assert [left.checkpoint for left in view.abandonment_due] == [2, 3]
    found = decision(view, with_change(rows(1, 2, 3), 3, asked=True))
    assert found.delete == () and "sinks" in (found.refused or {})[3]


# ---- requested deletions -----------------------------------------------------------------------


def test_a_checkpoint_is_deleted_on_request_even_if_it_has_not_expired() -> None:
    found = decision(FIVE, with_change(rows(1, 2, 3, 4, 5), 4, asked=True), keep=5)
    assert (found.delete, found.expire, found.unpin, found.refused) == ((4,), (), (), {})


def test_a_savepoint_is_unpinned_and_deleted_on_request() -> None:
    view = fold(started(1), completed(1, 1, savepoint=True), completed(1, 2))
    found = decision(view, with_change(rows(1, 2), 1, is_savepoint=True, asked=True))
    assert (found.delete, found.unpin, found.repin) == ((1,), (1,), ())


@pytest.mark.parametrize(
    ("number", "changed", "why"),
    [
        (5, {}, "The job resumes from this checkpoint, because it is the newest."),
        (3, {"pinned": True}, "pinned"),
        (2, {}, "Plan 7 needs this checkpoint. Wait a day."),
        (4, {}, "commit the output"),
    ],
)
def test_a_requested_deletion_of_a_needed_checkpoint_is_refused_with_a_reason(
    number: int, changed: dict[str, Any], why: str
) -> None:
    marked = with_change(rows(1, 2, 3, 4, 5), number, asked=True, **changed)
    found = decision(FIVE, marked, keep=5, references={2: [NEEDED_BY_PLAN]}, unpublished_=frozenset({4}))
    assert found.delete == () and why in (found.refused or {})[number]


def test_a_requested_deletion_is_refused_if_the_checkpoint_is_pinned_only_in_the_job_log() -> None:
    found = decision(FIVE.apply(pinned(1, 3)), with_change(rows(1, 2, 3, 4, 5), 3, asked=True), keep=5)
    assert (
        found.delete == () and "The job log contains a pin that was not set through the control plane" in (found.refused or {})[3]
    )


def test_a_branch_point_cannot_be_deleted_before_its_branch() -> None:
    first = decision(ROLLED_BACK, with_change(rows(*range(1, 9)), 2, asked=True), keep=8)
    assert first.delete == () and "starts at this checkpoint" in (first.refused or {})[2]
    assert decision(ROLLED_BACK, with_change(rows(*range(1, 9)), 4, asked=True), keep=8).delete == (4,)


def test_retired_checkpoints_are_recorded_even_while_an_obstacle_prevents_deletions() -> None:
    marked = with_change(with_change(rows(1, 2, 3, 4, 5), 4, asked=True), 1, deleting=True)
    found = decision(FIVE.apply(retired(1, 1, 2)), marked, obstacle="it runs")
    assert (found.to_delete, found.finish, found.touches_storage) == ((), (), False)
    assert found.refused == {4: "it runs"} and found.retired == (1, 2)


def test_an_interrupted_deletion_is_finished() -> None:
    marked = with_change(rows(1, 2, 3, 4, 5), 1, deleting=True)
    found = decision(FIVE.apply(retired(1, 1, 2)), marked, keep=5)
    assert (found.finish, found.retired, found.touches_storage) == ((1,), (2,), True)


def test_an_empty_job_log_leads_to_no_changes() -> None:
    found = decision(LogView(), with_change(rows(1, 2, 3), 2, asked=True))
    assert found == GcDecision(refused={})


# ---- obstacles ---------------------------------------------------------------------------------


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
        ({"applying": 7, "live_run": 4}, "plan-applying"),  # the job cannot be suspended while the plan is being applied
        ({"neighbour": "other"}, "shared"),
        ({"known_generation": 0}, "unknown-generation"),
    ],
)
def test_the_state_of_the_job_determines_the_obstacle_to_garbage_collection(changed: dict[str, Any], code: str | None) -> None:
    found = gc_obstacle(replace(NOT_RUNNING, **changed), log_generation=1)
    assert (found.code if found else None) == code


def test_a_maintenance_generation_does_not_count_as_a_run() -> None:
    collected = FIVE.apply(
        GenerationStarted(
            Generation(2), CheckpointId(5), "b1", CheckpointId(6), "n", 1, Purpose.MAINTENANCE
        )
    )  # fmt: skip
    assert LogFacts(collected, frozenset()).run_generation == 1
    assert gc_obstacle(NOT_RUNNING, log_generation=LogFacts(collected, frozenset()).run_generation) is None
    assert collected.current == FIVE.current and collected.abandonment_due == () and collected.branch == FIVE.branch


def test_no_run_starts_while_a_worker_collects_garbage() -> None:
    begin = BeginRun("start")
    assert wait_for_gc(begin, NOW + DAY, NOW) == Wait(NOW + DAY, "A worker is deleting old checkpoints.")
    assert wait_for_gc(begin, NOW, NOW) is begin and wait_for_gc(begin, None, NOW) is begin
    assert wait_for_gc(GiveCommand("Suspend"), NOW + DAY, NOW) == GiveCommand("Suspend")


# ---- references --------------------------------------------------------------------------------


def plan(state: PlanState, **more: Any) -> PlanReference:
    defaults = {
        "id": 7, "target": 2, "safety": None, "created_at": NOW - DAY / 2, "ended_at": None, "undone": False,
    }  # fmt: skip
    return PlanReference(**{**defaults, "state": state, **more})


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        (plan(PlanState.PROPOSED), {2}),
        (plan(PlanState.APPROVED), {2}),
        (plan(PlanState.PROPOSED, created_at=NOW - 2 * DAY), set()),  # the plan is too old to be applied
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
def test_a_plan_references_the_checkpoints_that_it_can_still_restore(reference: PlanReference, expected: set[int]) -> None:
    found = plan_references([reference], None, NOW, undo_kept=30 * DAY)
    assert found.keys() == expected and all("lan 7" in one.reason for references in found.values() for one in references)


@pytest.mark.parametrize(
    ("reference", "next_start", "sentences"),
    [
        (
            plan(PlanState.APPROVED),
            None,
            "Plan 7 is approved and would restore this checkpoint. Discard the plan, or choose another checkpoint.",
        ),
        (plan(PlanState.APPLYING), None, "Plan 7 is being applied. Wait until the plan has ended."),
        (
            plan(PlanState.APPLIED, safety=2, ended_at=NOW - DAY),
            None,
            "Until 2026-03-01, an undo of plan 7 would return to this checkpoint. Wait until that date, or choose another checkpoint.",
        ),
        (
            plan(PlanState.DISCARDED),
            2,
            "The next run starts from this checkpoint. Start the job first, or choose another checkpoint.",
        ),
    ],
)
def test_the_refusal_of_a_deletion_says_why_the_checkpoint_is_needed_and_what_to_do(
    reference: PlanReference, next_start: int | None, sentences: str
) -> None:
    references = plan_references([reference], next_start, NOW, undo_kept=30 * DAY)
    refused = deletion_refusal(2, pinned=True, references=references, newest=5, newest_undamaged=5)
    assert refused is not None and refused.sentence == f"Checkpoint 2 is still needed. {sentences}"
    by_worker = decision(FIVE, with_change(rows(1, 2, 3, 4, 5), 2, asked=True), references=references).refused
    assert by_worker == {2: f"Checkpoint 2 is kept. {sentences}"}


@pytest.mark.parametrize(
    ("row", "code"),
    [
        (CheckpointFacts(3), None),
        (CheckpointFacts(3, is_savepoint=True), None),
        (CheckpointFacts(3, pinned=True), "pinned"),
        (CheckpointFacts(2), "referenced"),
        (CheckpointFacts(5), "newest"),
        (CheckpointFacts(4), "newest"),
    ],
)
def test_a_deletion_is_refused_immediately_if_facts_in_the_database_forbid_it(row: CheckpointFacts, code: str | None) -> None:
    found = deletion_refusal(row.number, pinned=row.pinned, references={2: [NEEDED_BY_PLAN]}, newest=5, newest_undamaged=4)
    assert (found.code if found else None) == code


# ---- unpublished output ------------------------------------------------------------------------


def test_a_checkpoint_is_unpublished_until_a_later_manifest_reports_it_as_published() -> None:
    assert unpublished_checkpoints(FIVE, {1: 0, 2: 1, 3: 2, 4: 3, 5: 4}) == frozenset()
    assert unpublished_checkpoints(FIVE, {1: 0, 2: 1, 3: 2, 4: 2, 5: 2}) == {3, 4}
    assert unpublished_checkpoints(FIVE, {1: 0, 2: 1, 3: 2, 4: 3}) == {4}, "checkpoint 5 has no readable manifest"


def test_a_checkpoint_without_a_manifest_counts_as_published_if_the_job_log_records_its_publication() -> None:
    view = FIVE.apply(CheckpointPublished(FIVE.generation, CheckpointId(4), "n", 0))
    assert unpublished_checkpoints(view, {}) == frozenset()
    view = FIVE.apply(CheckpointPublished(FIVE.generation, CheckpointId(2), "n", 0))
    assert unpublished_checkpoints(view, {}) == {3, 4}


def test_only_a_manifest_of_the_same_branch_can_report_that_an_abandoned_checkpoint_is_published() -> None:
    published_up_to = {1: 0, 2: 1, 3: 2, 4: 2, 5: 2, 6: 2, 7: 6, 8: 7}
    assert unpublished_checkpoints(ROLLED_BACK, published_up_to) == {3, 4}
