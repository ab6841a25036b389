"""Decide which verbs the API lists for a job, a checkpoint or a plan, and which of these verbs are allowed. The functions are pure.

If a verb is not allowed, the services refuse a request for this verb. The error contains the sentences that the API lists as the
reason why the verb is not allowed. A verb that would have no effect in the current state is not listed.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from weir_backend.actions.schemas import ActionRead, Verb
from weir_backend.errors import Conflict
from weir_backend.kit.access import Permission
from weir_backend.models import CheckpointState, DesiredState, Job, PlanState, Run, RunState, SpecState

PLAN_VALID_FOR = timedelta(hours=24)
"""The maximum age of a plan. Users cannot approve or apply a plan that is older than ``PLAN_VALID_FOR``, because its preview is stale."""
OPEN = (PlanState.PROPOSED, PlanState.APPROVED)


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason why a verb is not allowed. ``code`` is for programs. ``reason`` and ``next_step`` are sentences for users."""

    code: str
    reason: str
    next_step: str = ""

    @property
    def sentence(self) -> str:
        return f"{self.reason} {self.next_step}".rstrip()

    def conflict(self, **extra: int) -> Conflict:
        return Conflict(self.code, self.reason, self.next_step, **extra)


def enforce(refusal: Refusal | None, **extra: int) -> None:
    """Raise Conflict if ``refusal`` is not None. ``extra`` contains additional members of the error response."""
    if refusal is not None:
        raise refusal.conflict(**extra)


def permission_refusal(permission: Permission) -> Refusal:
    return Refusal("forbidden", f"This needs the permission '{permission}'.", "Ask an administrator for this permission.")


def applying_refusal(plan_id: int | None) -> Refusal | None:
    if plan_id is None:
        return None
    return Refusal("plan-applying", f"Plan {plan_id} is being applied to this job.", "Wait until the plan has ended.")


def spec_refusal(number: int, state: SpecState, problem: str | None) -> Refusal | None:
    """Return why version ``number`` of the spec cannot run, or None if this version can run."""
    match state:
        case SpecState.VALID:
            return None
        case SpecState.COMPILING:
            return Refusal("spec-not-valid", f"The code of version {number} is still being compiled.", "Try again in a moment.")
        case SpecState.INVALID:
            reason = f"The code of version {number} does not compile" + (f": {problem}." if problem else ".")
            return Refusal("spec-not-valid", reason, "Add a new version.")


# ---- jobs --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class JobActionFacts:
    """A job. ``run_state`` is the stored state of the newest run, or None if the job has no run. ``live`` is True if the newest run
    has not ended. ``applying`` is the id of the plan that is being applied to the job, if any. ``spec_state`` is the state of the
    spec version that is to run."""

    name: str
    desired: DesiredState
    run_state: RunState | None
    live: bool
    applying: int | None
    spec_number: int
    spec_state: SpecState
    spec_problem: str | None = None

    @classmethod
    def of(cls, job: Job, run: Run | None, *, applying: int | None, spec: tuple[SpecState, str | None]) -> JobActionFacts:
        """Return the facts that decide which verbs a job allows. ``run`` is the newest run of the job. ``spec`` contains the state
        and the problem of the spec version that is to run."""
        live = run is not None and run.ended_at is None
        return cls(job.name, job.desired_state, run.state if run else None, live, applying, job.spec_number, *spec)


_JOB_VERBS = (
    Verb.START,
    Verb.SUSPEND,
    Verb.CANCEL,
    Verb.SAVEPOINT,
    Verb.CHECKPOINT,
    Verb.PROFILE,
    Verb.UPGRADE,
    Verb.RESCALE,
    Verb.RESTORE,
    Verb.START_WITHOUT_STATE,
    Verb.DELETE,
)


def job_actions(facts: JobActionFacts, permissions: Collection[Permission]) -> list[ActionRead]:
    offered = [verb for verb in _JOB_VERBS if _is_job_verb_offered(verb, facts)]
    return [_action(verb, Permission.OPERATE, permissions, job_refusal(verb, facts)) for verb in offered]


def _is_job_verb_offered(verb: Verb, facts: JobActionFacts) -> bool:
    running = facts.desired is DesiredState.RUNNING and facts.run_state is not RunState.FINISHED
    match verb:
        case Verb.START:
            return not running or facts.run_state is RunState.FAILED
        case Verb.SUSPEND:
            return running and facts.run_state is not RunState.FAILED
        case Verb.CANCEL:
            return running or facts.live
        case _:
            return True


def job_refusal(verb: Verb, facts: JobActionFacts) -> Refusal | None:
    """Return why ``verb`` is not allowed for the job, or None if the verb is allowed."""
    if (refused := applying_refusal(facts.applying)) is not None:
        return refused
    name, finished = f"Job '{facts.name}'", facts.run_state is RunState.FINISHED
    match verb:
        case Verb.START | Verb.RESCALE if finished:
            next_step = "Deploy the job under another name to run it again." if verb is Verb.START else ""
            return Refusal("finished", f"{name} has finished, because its input has ended.", next_step)
        case Verb.SAVEPOINT | Verb.CHECKPOINT | Verb.PROFILE if not facts.live or facts.run_state is not RunState.RUNNING:
            if facts.live and facts.run_state is not None:
                return Refusal("not-running", f"{name} is {facts.run_state.lower()}.", "Wait until the job is running.")
            return Refusal("not-running", f"{name} is not running.", "Start the job first.")
        case Verb.RESCALE | Verb.RESTORE if facts.spec_state is SpecState.INVALID:
            return spec_refusal(facts.spec_number, facts.spec_state, facts.spec_problem)
        case Verb.START_WITHOUT_STATE if facts.run_state is None:
            return Refusal(
                "not-run", f"{name} has not run yet.", "Start the job instead: the first start of a job restores no state."
            )
        case Verb.START_WITHOUT_STATE:
            return spec_refusal(facts.spec_number, facts.spec_state, facts.spec_problem)
        case Verb.DELETE if facts.live or (facts.desired is DesiredState.RUNNING and not finished):
            return Refusal("running", f"{name} is running.", "Suspend or cancel the job first.")
        case _:
            return None


# ---- checkpoints -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CheckpointActionFacts:
    """A checkpoint. ``unpinnable`` is True if the caller may release a pin of the checkpoint. ``deletion`` is the reason why the checkpoint must not
    be deleted, if any (see ``checkpoints.retention_rules``). ``applying`` is the plan that is being applied to the job, if any."""

    number: int
    state: CheckpointState
    discarded_at: datetime | None
    deleting_since: datetime | None
    damage: str | None
    failure: str | None
    unpinnable: bool
    is_savepoint: bool
    applying: int | None
    deletion: Refusal | None = None


def checkpoint_actions(facts: CheckpointActionFacts, permissions: Collection[Permission]) -> list[ActionRead]:
    verbs = (Verb.ROLL_BACK, Verb.UNPIN if facts.unpinnable else Verb.PIN, Verb.VERIFY, Verb.DELETE)
    return [_action(verb, checkpoint_permission(verb, facts), permissions, checkpoint_refusal(verb, facts)) for verb in verbs]


def checkpoint_permission(verb: Verb, facts: CheckpointActionFacts) -> Permission:
    """Return the permission that ``verb`` needs. The deletion of a savepoint needs ``rollback``, because a user owns the savepoint, and a deletion
    cannot be undone."""
    return Permission.ROLLBACK if verb is Verb.DELETE and facts.is_savepoint else Permission.OPERATE


def checkpoint_refusal(verb: Verb, facts: CheckpointActionFacts) -> Refusal | None:
    match verb:
        case Verb.UNPIN:
            return None
        case Verb.PIN if facts.state is CheckpointState.IN_PROGRESS:
            return None  # a worker writes the pin to the job log when the checkpoint is completed
        case Verb.ROLL_BACK:
            return availability_refusal(facts) or damage_refusal(facts) or applying_refusal(facts.applying)
        case Verb.DELETE:
            return availability_refusal(facts) or facts.deletion
        case _:
            return availability_refusal(facts)


def availability_refusal(facts: CheckpointActionFacts) -> Refusal | None:
    """Return why the files of the checkpoint cannot be used, or None if the files can be used."""
    name, next_step = f"Checkpoint {facts.number}", "Choose another checkpoint."
    if facts.state is CheckpointState.IN_PROGRESS:
        return Refusal("no-checkpoint", f"{name} is not completed yet.", "Wait until the checkpoint is completed.")
    if facts.state is CheckpointState.FAILED:
        return Refusal("no-checkpoint", f"{name} failed" + (f": {facts.failure}." if facts.failure else "."), next_step)
    if facts.discarded_at is not None:
        deleted_at = f"{facts.discarded_at:%Y-%m-%d %H:%M} UTC"
        return Refusal("discarded", f"The files of checkpoint {facts.number} were deleted on {deleted_at}.", next_step)
    if facts.deleting_since is not None:
        return Refusal("being-deleted", f"{name} is being deleted.", next_step)
    return None


def damage_refusal(facts: CheckpointActionFacts) -> Refusal | None:
    if facts.damage is None:
        return None
    next_step = "Choose another checkpoint, or restore the files from a backup and verify the checkpoint."
    return Refusal("damaged", f"Checkpoint {facts.number} is damaged: {facts.damage}.", next_step)


# ---- plans -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PlanActionFacts:
    """The facts that decide which verbs a plan allows.

    ``revokes_output`` is True if the plan revokes committed output, which requires the permission ``rollback``. ``signed`` is False if
    the plan is open and its signature does not match its content, because the plan or the secret key of the installation has changed.
    ``own`` is True if the caller has proposed the plan and the installation requires another user to approve it.
    ``inspected`` is True if a worker has inspected the checkpoint. ``damage`` and ``incompatibility`` are the problems that the worker
    found, if any. ``safety`` is the checkpoint that an undo restores, or None if the database does not contain this checkpoint any
    more. ``undone`` is True if an undo of the plan was applied. ``applying`` is the id of another plan that is being applied to the
    same job, if any."""

    id: int
    state: PlanState
    revokes_output: bool
    signed: bool
    created_at: datetime
    plan_job_version: int
    job_version: int
    spec: Refusal | None
    own: bool
    inspected: bool
    damage: str | None
    incompatibility: str | None
    safety_checkpoint: int | None
    safety: CheckpointActionFacts | None
    undone: bool
    applying: int | None


def plan_actions(facts: PlanActionFacts, permissions: Collection[Permission], now: datetime) -> list[ActionRead]:
    needed = dict.fromkeys((Verb.APPROVE, Verb.APPLY), Permission.ROLLBACK) if facts.revokes_output else {}
    return [
        _action(verb, needed.get(verb, Permission.OPERATE), permissions, plan_refusal(verb, facts, now))
        for verb in _PLAN_VERBS.get(facts.state, ())
    ]


_PLAN_VERBS = {
    PlanState.PROPOSED: (Verb.APPROVE, Verb.APPLY, Verb.DISCARD),
    PlanState.APPROVED: (Verb.APPLY, Verb.DISCARD),
    PlanState.APPLIED: (Verb.UNDO,),
}


def plan_refusal(verb: Verb, facts: PlanActionFacts, now: datetime) -> Refusal | None:
    match verb:
        case Verb.APPROVE:
            refused = _state_refusal(facts, (PlanState.PROPOSED,)) or _stale_refusal(facts, now)
            return refused or _own_refusal(facts) or facts.spec or _inspection_refusal(facts)
        case Verb.APPLY:
            if facts.state is PlanState.PROPOSED:
                return Refusal("plan-state", f"Plan {facts.id} is not approved.", "Approve it first.")
            refused = _state_refusal(facts, (PlanState.APPROVED,)) or applying_refusal(facts.applying)
            return refused or _stale_refusal(facts, now)
        case Verb.DISCARD:
            return _state_refusal(facts, OPEN)
        case _:
            return _undo_refusal(facts)


def _state_refusal(facts: PlanActionFacts, expected: Collection[PlanState]) -> Refusal | None:
    return None if facts.state in expected else Refusal("plan-state", f"Plan {facts.id} is {facts.state.lower()}.")


def _stale_refusal(facts: PlanActionFacts, now: datetime) -> Refusal | None:
    next_step = "Propose a new plan."
    if not facts.signed:
        reason = f"The signature of plan {facts.id} does not match, because the plan or the secret key of the installation has changed."
        return Refusal("signature-mismatch", reason, next_step)
    if facts.plan_job_version != facts.job_version:
        versions = f"(version {facts.plan_job_version}, now {facts.job_version})"
        return Refusal("job-changed", f"The job has changed since plan {facts.id} was made {versions}.", next_step)
    if now - facts.created_at > PLAN_VALID_FOR:
        hours = PLAN_VALID_FOR // timedelta(hours=1)
        return Refusal("plan-stale", f"Plan {facts.id} is older than {hours} hours.", next_step)
    return None


def _own_refusal(facts: PlanActionFacts) -> Refusal | None:
    if not facts.own:
        return None
    reason = f"You proposed plan {facts.id}, and this installation requires the approval of another user."
    return Refusal("own-plan", reason, "Ask another user to approve the plan.")


def _inspection_refusal(facts: PlanActionFacts) -> Refusal | None:
    if not facts.inspected:
        reason = f"A worker is still inspecting the checkpoint of plan {facts.id}."
        return Refusal("being-inspected", reason, "Try again in a moment.")
    if facts.damage is not None:
        return Refusal("damaged", f"This plan would fail: {facts.damage}.", "Choose another checkpoint.")
    if facts.incompatibility is not None:
        next_step = "Fix the incompatibility in a new version, or choose another checkpoint."
        return Refusal("incompatible", f"This plan would fail: {facts.incompatibility}.", next_step)
    return None


def _undo_refusal(facts: PlanActionFacts) -> Refusal | None:
    if facts.state is not PlanState.APPLIED:
        return Refusal("nothing-to-undo", f"Plan {facts.id} is {facts.state.lower()}, not applied, so there is nothing to undo.")
    if facts.safety_checkpoint is None:
        reason = f"The job had no checkpoint when plan {facts.id} was applied, so an undo has nothing to restore."
        return Refusal("nothing-to-undo", reason)
    if facts.undone:
        return Refusal("nothing-to-undo", f"Plan {facts.id} is already undone.")
    if facts.safety is None:
        reason = f"The files of checkpoint {facts.safety_checkpoint} are deleted, so an undo has nothing to restore."
        return Refusal("discarded", reason)
    return checkpoint_refusal(Verb.ROLL_BACK, facts.safety)


def _action(verb: Verb, needed: Permission, permissions: Collection[Permission], refusal: Refusal | None) -> ActionRead:
    missing = next((one for one in (Permission.OPERATE, needed) if one not in permissions), None)
    if missing is not None:
        refusal = permission_refusal(missing)
    return ActionRead(verb=verb, allowed=refusal is None, reason=refusal.sentence if refusal is not None else None)
