"""The rules that decide which actions are offered and allowed, tested without a database."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from weir_backend.actions.rules import (
    PLAN_VALID_FOR,
    CheckpointActionFacts,
    JobActionFacts,
    PlanActionFacts,
    Refusal,
    checkpoint_actions,
    checkpoint_refusal,
    job_actions,
    job_refusal,
    plan_actions,
    plan_refusal,
)
from weir_backend.actions.schemas import ActionRead, Verb
from weir_backend.kit.access import Permission
from weir_backend.models import CheckpointState, DesiredState, PlanState, RunState, SpecState

NOW = datetime(2026, 6, 1, tzinfo=UTC)
ALL = frozenset(Permission)
OPERATOR = frozenset({Permission.VIEW, Permission.OPERATE})
RUNNING = JobActionFacts("flights", DesiredState.RUNNING, RunState.RUNNING, True, None, 3, SpecState.VALID)
NEVER_RAN = replace(RUNNING, run_state=None, live=False)
SUSPENDED = replace(RUNNING, desired=DesiredState.SUSPENDED, run_state=RunState.SUSPENDED, live=False)
FINISHED = replace(RUNNING, run_state=RunState.FINISHED, live=False)
FAILED = replace(RUNNING, run_state=RunState.FAILED, live=False)
COMPLETED = CheckpointActionFacts(
    17, CheckpointState.COMPLETED, None, None, None, None, unpinnable=False, is_savepoint=False, applying=None
)
PROPOSED = PlanActionFacts(
    id=4, state=PlanState.PROPOSED, revokes_output=True, signed=True, created_at=NOW, plan_job_version=2, job_version=2, spec=None,
    own=False, inspected=True, damage=None, incompatibility=None, safety_checkpoint=None, safety=None, undone=False, applying=None,
)  # fmt: skip
APPLIED = replace(PROPOSED, state=PlanState.APPLIED, safety_checkpoint=17, safety=COMPLETED)


def verbs(actions: list[ActionRead]) -> list[str]:
    return [action.verb.value for action in actions]


def reasons(actions: list[ActionRead]) -> dict[Verb, str]:
    return {action.verb: action.reason for action in actions if action.reason is not None}


ALWAYS = ["savepoint", "checkpoint", "profile", "upgrade", "rescale", "restore", "start_without_state", "delete"]


@pytest.mark.parametrize(
    ("facts", "offered"),
    [
        (RUNNING, ["suspend", "cancel"]),
        (NEVER_RAN, ["suspend", "cancel"]),
        (SUSPENDED, ["start"]),
        (replace(SUSPENDED, run_state=RunState.RUNNING, live=True), ["start", "cancel"]),
        (FINISHED, ["start"]),
        (FAILED, ["start", "cancel"]),
    ],
)
def test_a_job_offers_only_verbs_that_have_an_effect(facts: JobActionFacts, offered: list[str]) -> None:
    assert verbs(job_actions(facts, ALL)) == offered + ALWAYS


@pytest.mark.parametrize(
    ("verb", "facts", "reason"),
    [
        (
            Verb.START,
            FINISHED,
            "Job 'flights' has finished, because its input has ended. Deploy the job under another name to run it again.",
        ),
        (Verb.START, SUSPENDED, None),
        (Verb.SAVEPOINT, RUNNING, None),
        (Verb.SAVEPOINT, SUSPENDED, "Job 'flights' is not running. Start the job first."),
        (Verb.PROFILE, SUSPENDED, "Job 'flights' is not running. Start the job first."),
        (
            Verb.CHECKPOINT,
            replace(RUNNING, run_state=RunState.RESTARTING),
            "Job 'flights' is restarting. Wait until the job is running.",
        ),
        (
            Verb.RESCALE,
            replace(RUNNING, spec_state=SpecState.INVALID),
            "The code of version 3 does not compile. Add a new version.",
        ),
        (Verb.RESCALE, replace(RUNNING, spec_state=SpecState.COMPILING), None),
        (Verb.UPGRADE, replace(RUNNING, spec_state=SpecState.INVALID), None),
        (
            Verb.START_WITHOUT_STATE,
            NEVER_RAN,
            "Job 'flights' has not run yet. Start the job instead: the first start of a job restores no state.",
        ),
        (Verb.DELETE, RUNNING, "Job 'flights' is running. Suspend or cancel the job first."),
        (Verb.DELETE, SUSPENDED, None),
        (Verb.DELETE, FINISHED, None),
        (Verb.SUSPEND, replace(RUNNING, applying=7), "Plan 7 is being applied to this job. Wait until the plan has ended."),
    ],
)
def test_the_refusal_of_a_verb_contains_the_reason(verb: Verb, facts: JobActionFacts, reason: str | None) -> None:
    refusal = job_refusal(verb, facts)
    assert (refusal.sentence if refusal is not None else None) == reason


def test_a_caller_with_only_the_view_permission_is_allowed_no_action() -> None:
    for actions in (job_actions(RUNNING, {Permission.VIEW}), checkpoint_actions(COMPLETED, {Permission.VIEW})):
        assert {action.reason for action in actions} == {
            "This needs the permission 'operate'. Ask an administrator for this permission."
        }
        assert not any(action.allowed for action in actions)


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (
            replace(COMPLETED, state=CheckpointState.FAILED, failure="timeout"),
            "Checkpoint 17 failed: timeout. Choose another checkpoint.",
        ),
        (
            replace(COMPLETED, discarded_at=NOW),
            "The files of checkpoint 17 were deleted on 2026-06-01 00:00 UTC. Choose another checkpoint.",
        ),
        (
            replace(COMPLETED, deleting_since=NOW),
            "Checkpoint 17 is being deleted. Choose another checkpoint.",
        ),
    ],
)
def test_a_checkpoint_without_files_allows_no_actions(facts: CheckpointActionFacts, reason: str) -> None:
    actions = checkpoint_actions(facts, ALL)
    assert verbs(actions) == ["roll_back", "pin", "verify", "delete"]
    assert reasons(actions) == dict.fromkeys((Verb.ROLL_BACK, Verb.PIN, Verb.VERIFY, Verb.DELETE), reason)


def test_pinning_is_the_only_action_that_a_checkpoint_in_progress_allows() -> None:
    reason = "Checkpoint 17 is not completed yet. Wait until the checkpoint is completed."
    actions = checkpoint_actions(replace(COMPLETED, state=CheckpointState.IN_PROGRESS), ALL)
    assert reasons(actions) == dict.fromkeys((Verb.ROLL_BACK, Verb.VERIFY, Verb.DELETE), reason)


def test_a_pinned_checkpoint_can_be_unpinned() -> None:
    pinned = replace(COMPLETED, unpinnable=True, deletion=Refusal("pinned", "Checkpoint 17 is pinned.", "Unpin it first."))
    actions = checkpoint_actions(pinned, ALL)
    assert verbs(actions) == ["roll_back", "unpin", "verify", "delete"]
    assert reasons(actions) == {Verb.DELETE: "Checkpoint 17 is pinned. Unpin it first."}


def test_only_users_with_the_permission_to_roll_back_may_delete_a_savepoint() -> None:
    missing = "This needs the permission 'rollback'. Ask an administrator for this permission."
    savepoint = replace(COMPLETED, is_savepoint=True)
    assert reasons(checkpoint_actions(savepoint, OPERATOR)) == {Verb.DELETE: missing}
    assert reasons(checkpoint_actions(savepoint, ALL)) == {} == reasons(checkpoint_actions(COMPLETED, OPERATOR))


def test_the_permission_to_roll_back_does_not_replace_the_permission_to_operate() -> None:
    missing = "This needs the permission 'operate'. Ask an administrator for this permission."
    viewer = {Permission.VIEW, Permission.ROLLBACK}
    assert reasons(checkpoint_actions(replace(COMPLETED, is_savepoint=True), viewer))[Verb.DELETE] == missing
    assert set(reasons(plan_actions(PROPOSED, viewer, NOW)).values()) == {missing}


def test_a_rollback_is_refused_if_the_checkpoint_is_damaged_or_a_plan_is_being_applied() -> None:
    damaged = checkpoint_refusal(Verb.ROLL_BACK, replace(COMPLETED, damage="manifest.json is missing"))
    assert damaged is not None and damaged.code == "damaged" and "manifest.json is missing" in damaged.reason
    assert checkpoint_refusal(Verb.VERIFY, replace(COMPLETED, damage="manifest.json is missing")) is None
    applying = checkpoint_refusal(Verb.ROLL_BACK, replace(COMPLETED, applying=7))
    assert applying is not None and applying.code == "plan-applying"


@pytest.mark.parametrize(
    ("state", "offered"),
    [
        (PlanState.PROPOSED, ["approve", "apply", "discard"]),
        (PlanState.APPROVED, ["apply", "discard"]),
        (PlanState.APPLYING, []),
        (PlanState.APPLIED, ["undo"]),
        (PlanState.FAILED, []),
        (PlanState.DISCARDED, []),
    ],
)
def test_the_state_of_a_plan_determines_its_verbs(state: PlanState, offered: list[str]) -> None:
    assert verbs(plan_actions(replace(APPLIED, state=state), ALL, NOW)) == offered


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        (PROPOSED, None),
        (replace(PROPOSED, signed=False), "signature-mismatch"),
        (replace(PROPOSED, job_version=3), "job-changed"),
        (replace(PROPOSED, created_at=NOW - PLAN_VALID_FOR - timedelta(seconds=1)), "plan-stale"),
        (replace(PROPOSED, own=True), "own-plan"),
        (replace(PROPOSED, spec=Refusal("spec-not-valid", "It does not compile.")), "spec-not-valid"),
        (replace(PROPOSED, inspected=False), "being-inspected"),
        (replace(PROPOSED, damage="a file is missing"), "damaged"),
        (replace(PROPOSED, incompatibility="operator 'a' has no state"), "incompatible"),
        (replace(PROPOSED, state=PlanState.DISCARDED), "plan-state"),
    ],
)
def test_a_plan_that_would_fail_cannot_be_approved(facts: PlanActionFacts, code: str | None) -> None:
    refusal = plan_refusal(Verb.APPROVE, facts, NOW)
    assert (refusal.code if refusal is not None else None) == code


def test_a_proposed_plan_must_be_approved_before_it_is_applied() -> None:
    assert reasons(plan_actions(PROPOSED, ALL, NOW)) == {Verb.APPLY: "Plan 4 is not approved. Approve it first."}
    assert reasons(plan_actions(replace(PROPOSED, state=PlanState.APPROVED), ALL, NOW)) == {}


def test_a_plan_that_revokes_output_needs_the_rollback_permission() -> None:
    missing = "This needs the permission 'rollback'. Ask an administrator for this permission."
    assert reasons(plan_actions(PROPOSED, OPERATOR, NOW)) == {Verb.APPROVE: missing, Verb.APPLY: missing}
    upgrade = replace(PROPOSED, revokes_output=False)
    assert Verb.APPROVE not in reasons(plan_actions(upgrade, OPERATOR, NOW))


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        (APPLIED, None),
        (replace(APPLIED, state=PlanState.FAILED), "nothing-to-undo"),
        (replace(APPLIED, safety_checkpoint=None, safety=None), "nothing-to-undo"),
        (replace(APPLIED, undone=True), "nothing-to-undo"),
        (replace(APPLIED, safety=None), "discarded"),
        (replace(APPLIED, safety=replace(COMPLETED, deleting_since=NOW)), "being-deleted"),
        (replace(APPLIED, safety=replace(COMPLETED, applying=7)), "plan-applying"),
    ],
)
def test_an_applied_plan_can_be_undone_only_once_and_only_while_its_safety_savepoint_exists(
    facts: PlanActionFacts, code: str | None
) -> None:
    refusal = plan_refusal(Verb.UNDO, facts, NOW)
    assert (refusal.code if refusal is not None else None) == code
