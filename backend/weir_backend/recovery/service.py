"""Proposing, approving and applying plans. Each holds the lock on the job."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, assert_never

from sqlalchemy.orm import Session

from weir_backend.checkpoints.service import completed_and_there
from weir_backend.errors import Conflict, Forbidden, NotFound
from weir_backend.jobs import repository as jobs
from weir_backend.jobs import service as job_service
from weir_backend.jobs.history import record
from weir_backend.kit.access import Caller, Permission
from weir_backend.kit.audit import audit
from weir_backend.kit.clock import now
from weir_backend.kit.tasks import COMPILE, INSPECT, Tasks, ask
from weir_backend.models import (
    Checkpoint,
    DesiredState,
    Job,
    Operation,
    OperationKind,
    PlanKind,
    PlanPhase,
    PlanState,
    RecoveryPlan,
    Spec,
    SpecState,
)
from weir_backend.operations import service as operations
from weir_backend.reconciling import repository as runs
from weir_backend.reconciling.runs import directory
from weir_backend.recovery import repository
from weir_backend.recovery.beginning import goes_back, is_in_storage
from weir_backend.recovery.carrying_out import pin_reason
from weir_backend.recovery.elsewhere import is_within, roots
from weir_backend.recovery.schemas import (
    Inspection,
    PlanDraft,
    PlanRequest,
    Preview,
    RescaleRequest,
    RestoreRequest,
    RollbackRequest,
    UndoRequest,
    UpgradeRequest,
)
from weir_backend.recovery.signature import is_signed, sign
from weir_backend.recovery.sinks import operators_of, sinks_of
from weir_backend.retention.pins import hold
from weir_backend.settings import Settings

VALID_FOR = timedelta(hours=24)
"""An approval of yesterday says nothing about today."""


@dataclass(frozen=True, slots=True)
class Computed:
    """``target``: to go back to; or ``origin``: the path of a checkpoint elsewhere; or ``anew``: nothing at all; or, without any of them,
    the one that the job is stopped with."""

    kind: PlanKind
    target: Checkpoint | None
    spec: Spec
    stop_with: str
    undo_of: RecoveryPlan | None = None
    origin: str | None = None
    anew: bool = False

    @property
    def abandons(self) -> bool:
        """What was committed since is taken back: that needs a permission of its own."""
        return self.target is not None or self.origin is not None or self.anew


def propose(session: Session, settings: Settings, tasks: Tasks, caller: Caller, job_id: int, draft: PlanDraft) -> RecoveryPlan:
    """A plan, shown or (unless ``dry_run``) kept and looked into by a worker. Raises NotFound, Conflict."""
    job = job_service.get(session, job_id, lock=True)
    computed = _compute(session, settings, tasks, caller, job, draft.request, keep=not draft.dry_run)
    plan = RecoveryPlan(
        job_id=job.id,
        kind=computed.kind,
        state=PlanState.PROPOSED,
        job_version=job.version,
        request=draft.request.model_dump(mode="json")
        | {"spec": computed.spec.number, "spec_before": job.spec_number, "desired_before": job.desired_state.value},
        preview=_preview(session, job, computed).model_dump(mode="json"),
        undo_of=computed.undo_of.id if computed.undo_of else None,
        signature=b"",
        created_by=caller.user_id,
        created_at=now(),
    )
    if draft.dry_run:
        return plan
    plan.signature = sign(plan, settings.secret_key.get_secret_value())
    session.add(plan)
    session.flush()
    record(session, job, "PlanProposed", plan=plan.id, kind_=plan.kind.value, by=caller.name)
    audit(session, caller, "propose", "plan", plan.id, after={"job": job.name, "request": plan.request})
    ask(session, tasks, INSPECT, plan.id)
    return plan


def _compute(
    session: Session, settings: Settings, tasks: Tasks, caller: Caller, job: Job, request: PlanRequest, *, keep: bool
) -> Computed:
    current = jobs.find_spec(session, job.id, job.spec_number)
    assert current is not None
    match request:
        case RollbackRequest(checkpoint=number):
            return Computed(PlanKind.ROLLBACK, _target(session, job, number), current, "Suspend")
        case RestoreRequest(path=path):
            _allowed(settings, path)
            return Computed(PlanKind.RESTORE, None, current, "Suspend", origin=path)
        case UndoRequest(plan=plan_id):
            undone = repository.find(session, plan_id)
            if undone is None or undone.job_id != job.id:
                raise NotFound("no-plan", f"job '{job.name}' has no plan {plan_id}")
            if undone.state is not PlanState.APPLIED or undone.safety_checkpoint is None:
                raise Conflict("nothing-to-undo", f"plan {plan_id} is {undone.state.value}: there is nothing to undo")
            before = jobs.find_spec(session, job.id, undone.request["spec_before"])
            assert before is not None
            return Computed(PlanKind.UNDO, _target(session, job, undone.safety_checkpoint), before, "Suspend", undone)
        case UpgradeRequest(spec=number, mode=mode):
            spec = job_service.spec(session, job.id, number)
            if spec.state is not SpecState.VALID:
                raise Conflict(
                    "spec-not-valid", f"version {number} is {spec.state.value}: {spec.problem or 'a worker is compiling it'}"
                )
            _same_directory(settings, job, current, spec)
            _same_name(session, job, current, spec)
            stop_with = "Cancel" if mode == "last-state" else "Suspend"
            return Computed(PlanKind.UPGRADE, None, spec, stop_with, anew=mode == "stateless")
        case RescaleRequest(parallelism=parallelism):
            rescaled = _rescaled(session, tasks, caller, job, current, parallelism, keep=keep)
            return Computed(PlanKind.RESCALE, None, rescaled, "Suspend")
        case _:
            assert_never(request)


def _allowed(settings: Settings, path: str) -> None:
    """Raises Forbidden. That nothing there leads elsewhere the worker looks, who can."""
    allowed = roots(settings.data_dir, settings.restore_roots)
    if not any(is_within(path, root) for root in allowed):
        raise Forbidden(
            "path-not-allowed",
            f"checkpoints in {path} are not for this installation to look into; it looks below {', '.join(allowed)}",
            "have whoever runs the platform add the place to WEIR_RESTORE_ROOTS, or copy the checkpoints to one of these",
        )


def _same_directory(settings: Settings, job: Job, current: Spec, wanted: Spec) -> None:
    """Else it would begin from nothing, with checkpoints of the same numbers as those that the job has. Raises Conflict."""
    before, after = (directory(settings, job, spec) for spec in (current, wanted))
    if before != after:
        raise Conflict(
            "directory-changed",
            f"version {wanted.number} keeps its checkpoints in {after}, the job has its own in {before}: it would begin from nothing",
            "leave the checkpoint directory as it is, or make another job of it",
        )


def _same_name(session: Session, job: Job, current: Spec, wanted: Spec) -> None:
    """Else it would look for its checkpoints under another name, and begin from nothing. Raises Conflict."""
    before, after = (
        jobs.name_of_graph(session, spec.graph_id) if spec.graph_id is not None else None for spec in (current, wanted)
    )
    if job.run_number > 0 and before is not None and before != after:
        raise Conflict(
            "name-changed",
            f"the code of version {wanted.number} calls its job '{after}', and the checkpoints of job '{job.name}' are those of '{before}': it "
            "would begin from nothing",
            f"leave the name in Job(...) as it was ('{before}'), or make another job of it",
        )


def _target(session: Session, job: Job, number: int) -> Checkpoint:
    found = completed_and_there(session, job, number)
    if found.damage is not None:
        raise Conflict("damaged", f"checkpoint {number} is damaged: {found.damage}", "choose another one")
    return found


def _rescaled(session: Session, tasks: Tasks, caller: Caller, job: Job, current: Spec, parallelism: int, *, keep: bool) -> Spec:
    """A version like the current one but for the parallelism."""
    spec = Spec(
        job_id=job.id,
        number=jobs.newest_spec_number(session, job.id) + 1,
        artifact_id=current.artifact_id,
        body=current.body | {"parallelism": parallelism},
        state=SpecState.COMPILING,
        comment=f"version {current.number} with parallelism {parallelism}",
        created_by=caller.user_id,
        created_at=now(),
    )
    if keep:
        session.add(spec)
        session.flush()
        ask(session, tasks, COMPILE, spec.id)
    return spec


def _preview(session: Session, job: Job, computed: Computed) -> Preview:
    target = computed.target
    current = jobs.find_spec(session, job.id, job.spec_number)
    graph_id = computed.spec.graph_id or (current.graph_id if current is not None else None)
    graph = jobs.find_graph(session, graph_id) if graph_id is not None else None
    sinks = list(sinks_of(graph.body)) if graph is not None else []
    live = runs.live(session, job.id) is not None
    # Whoever never ran has handed on nothing. All others commit again what they go on from, as nobody knows that they have.
    duplicates = [uid for uid, _, revocable in sinks if not revocable] if computed.abandons or job.run_number > 0 else []
    age_s = (now() - target.completed_at).total_seconds() if target is not None and target.completed_at is not None else None
    return Preview(
        checkpoint=target.number if target else None,
        completed_at=target.completed_at if target else None,
        age_s=age_s,
        state_bytes=target.state_bytes if target else None,
        is_savepoint=target.is_savepoint if target else False,
        origin=computed.origin,
        anew=computed.anew,
        stop_with=computed.stop_with,
        steps=_steps(computed, live=live),
        restarts=operators_of(graph.body) if graph is not None else [],
        warnings=_warnings(computed, job, duplicates, live=live, graph_known=graph is not None),
        duplicates=duplicates,
        inspection=None,
    )


def _steps(computed: Computed, *, live: bool) -> list[str]:
    steps = []
    if computed.target is not None:
        steps.append(f"verify the files of checkpoint {computed.target.number}; if one is damaged, nothing is done")
    if computed.origin is not None:
        steps.append(f"verify the files of the checkpoint in {computed.origin}; if one is damaged, nothing is done")
    if live:
        steps.append(
            "stop the job with a last checkpoint, to which an undo can return"
            if computed.stop_with == "Suspend"
            else "stop the job at once, without a last checkpoint"
        )
    if computed.target is not None:
        steps.append(
            f"start it from checkpoint {computed.target.number}: what was committed after that is taken back where the sink can"
        )
    elif computed.origin is not None:
        steps.append("start it from a copy of that: what this job has committed is taken back where the sink can")
    elif computed.anew:
        steps.append(
            f"start version {computed.spec.number} of its spec from the beginning, without any state: what was committed is taken back where "
            "the sink can, and all input is read again"
        )
    else:
        steps.append(f"start version {computed.spec.number} of its spec from the newest checkpoint")
    steps.append("if it does not start, bring it back to where it was stopped")
    return steps


def _warnings(computed: Computed, job: Job, duplicates: list[str], *, live: bool, graph_known: bool) -> list[str]:
    found = []
    if not live and job.desired_state is not DesiredState.RUNNING:
        found.append("the job is not running now; it will be")
    if computed.stop_with == "Cancel" and live:
        found.append("what was read since the newest checkpoint is read again")
    if duplicates and not computed.abandons:
        stopped = "the newest checkpoint" if computed.stop_with == "Cancel" else "the checkpoint that the job is stopped with"
        found.append(f"what was committed with {stopped} is handed on once more by {', '.join(duplicates)}")
    if not graph_known:
        found.append("the graph is not known yet, so sinks and operators cannot be listed")
    return found


def inspected(session: Session, settings: Settings, plan_id: int, found: Inspection) -> int | None:
    """A worker has looked into storage: the preview is complete. The id of the job if the plan waits for that; None if not."""
    seen = repository.find(session, plan_id)
    if seen is None:
        return None
    job = jobs.find(session, seen.job_id, lock=True)
    plan = repository.find(session, plan_id, lock=True)
    if job is None or plan is None:
        return None
    if plan.state is PlanState.PROPOSED:
        plan.preview = plan.preview | {"inspection": found.model_dump(mode="json")}
        plan.signature = sign(plan, settings.secret_key.get_secret_value())
        record(session, job, "PlanInspected", plan=plan.id, whole=found.whole, damage=found.damage, misfit=found.misfit)
        return None
    if plan.state is PlanState.APPLYING and plan.phase is PlanPhase.VERIFYING:
        plan.target_whole, plan.problem = found.whole and found.misfit is None, found.damage or found.misfit
        job.next_look_at = now()
        return job.id
    return None


def approve(session: Session, settings: Settings, caller: Caller, plan_id: int) -> RecoveryPlan:
    """Raises NotFound, Conflict, Forbidden."""
    job, plan = _locked(session, plan_id)
    _permitted(caller, plan)
    if plan.state is PlanState.APPROVED:
        return plan
    if plan.state is not PlanState.PROPOSED:
        raise Conflict("plan-state", f"plan {plan.id} is {plan.state.value}, so it cannot be approved")
    _still_fits(settings, job, plan)
    spec = job_service.spec(session, job.id, plan.request["spec"])
    if spec.state is not SpecState.VALID:
        raise Conflict(
            "spec-not-valid", f"version {spec.number} is {spec.state.value}: {spec.problem or 'a worker is compiling it'}"
        )
    inspection = plan.preview["inspection"]
    if inspection is None:
        raise Conflict("being-inspected", "a worker is still looking at the checkpoint of this plan", "try again in a moment")
    if not inspection["whole"]:
        raise Conflict("damaged", f"this would not work: {inspection['damage']}", "choose another checkpoint")
    if inspection["misfit"] is not None:
        raise Conflict(
            "does-not-fit",
            f"this would not work: {inspection['misfit']}",
            "mend that in a new version, or choose another checkpoint",
        )
    plan.state, plan.approved_by, plan.approved_at = PlanState.APPROVED, caller.user_id, now()
    record(session, job, "PlanApproved", plan=plan.id, by=caller.name)
    audit(session, caller, "approve", "plan", plan.id, after={"job": job.name})
    return plan


def apply(session: Session, settings: Settings, tasks: Tasks, caller: Caller, plan_id: int) -> Operation:
    """Raises NotFound, Conflict, Forbidden."""
    job, plan = _locked(session, plan_id)
    _permitted(caller, plan)
    if plan.state in (PlanState.APPLYING, PlanState.APPLIED) and plan.operation_id is not None:
        return operations.get(session, plan.operation_id)  # asked for twice
    if plan.state is not PlanState.APPROVED:
        raise Conflict(
            "plan-state", f"plan {plan.id} is {plan.state.value}: only an approved one can be applied", "approve it first"
        )
    other = repository.applying(session, job.id)
    if other is not None:
        raise Conflict("plan-applying", f"plan {other.id} is being applied to this job", "wait until it is over")
    _still_fits(settings, job, plan)
    operation = operations.begin(session, job, OperationKind.APPLY_PLAN, caller, {"plan": plan.id})
    plan.state, plan.phase, plan.operation_id = PlanState.APPLYING, PlanPhase.VERIFYING, operation.id
    plan.target_whole = None if is_in_storage(plan.preview) else True
    operations.step(operation, "verifying the files of the checkpoint" if plan.target_whole is None else "beginning")
    job_service.touch(job)
    record(session, job, "PlanApplying", plan=plan.id, by=caller.name)
    audit(session, caller, "apply", "plan", plan.id, after={"job": job.name})
    if plan.target_whole is None:
        if plan.preview["checkpoint"] is not None:
            # A job that runs on retires its oldest checkpoint with each new one, the last one before it stops included.
            hold(session, tasks, _target(session, job, plan.preview["checkpoint"]), pin_reason(plan))
        ask(session, tasks, INSPECT, plan.id)
    job_service.look_soon(session, tasks, job)
    return operation


def withdraw(session: Session, caller: Caller, plan_id: int) -> RecoveryPlan:
    """Raises NotFound, Conflict."""
    job, plan = _locked(session, plan_id)
    if plan.state is PlanState.WITHDRAWN:
        return plan
    if plan.state not in (PlanState.PROPOSED, PlanState.APPROVED):
        raise Conflict("plan-state", f"plan {plan.id} is {plan.state.value}, so it cannot be withdrawn any more")
    plan.state, plan.ended_at = PlanState.WITHDRAWN, now()
    record(session, job, "PlanWithdrawn", plan=plan.id, by=caller.name)
    audit(session, caller, "withdraw", "plan", plan.id, after={"job": job.name})
    return plan


def get(session: Session, plan_id: int) -> RecoveryPlan:
    """Raises NotFound."""
    found = repository.find(session, plan_id)
    if found is None:
        raise NotFound("no-plan", f"there is no plan {plan_id}")
    return found


def _locked(session: Session, plan_id: int) -> tuple[Job, RecoveryPlan]:
    """The job's lock first, as everywhere."""
    seen = get(session, plan_id)
    job = job_service.get(session, seen.job_id, lock=True)
    plan = repository.find(session, plan_id, lock=True)
    assert plan is not None
    return job, plan


def _permitted(caller: Caller, plan: RecoveryPlan) -> None:
    caller.needs(Permission.ROLLBACK if goes_back(plan.preview) else Permission.OPERATE)


def _still_fits(settings: Settings, job: Job, plan: RecoveryPlan) -> None:
    if not is_signed(plan, settings.secret_key.get_secret_value()):
        raise Conflict(
            "signature",
            f"plan {plan.id} is not what was signed: it was changed, or the key of the installation was",
            "propose it anew",
        )
    if plan.job_version != job.version:
        raise Conflict(
            "job-moved",
            f"job '{job.name}' has changed since this plan was made (version {plan.job_version}, now {job.version})",
            "propose it anew",
        )
    if now() - plan.created_at > VALID_FOR:
        raise Conflict(
            "plan-old", f"plan {plan.id} was made more than {VALID_FOR.total_seconds() / 3600:.0f} hours ago", "propose it anew"
        )


def shown(plan: RecoveryPlan) -> dict[str, Any]:
    """For an answer; a plan that is not kept has no id."""
    return {column.key: getattr(plan, column.key) for column in RecoveryPlan.__table__.columns if column.key != "signature"}
