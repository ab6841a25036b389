"""Propose, approve, apply and discard plans. A function that changes a plan locks the job of the plan first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from sqlalchemy.orm import Session

from weir_backend.actions.rules import (
    OPEN,
    PlanActionFacts,
    damage_refusal,
    enforce,
    plan_actions,
    plan_refusal,
    spec_refusal,
)
from weir_backend.actions.schemas import Verb
from weir_backend.checkpoints import repository as checkpoints
from weir_backend.checkpoints.kept import facts_of
from weir_backend.checkpoints.pins import set_pin
from weir_backend.checkpoints.service import get_restorable
from weir_backend.errors import Conflict, Forbidden, NotFound, PreconditionFailed, or_raise
from weir_backend.jobs import repository as jobs
from weir_backend.jobs import service as job_service
from weir_backend.jobs.event_log import record_event
from weir_backend.kit.access import Caller, Permission
from weir_backend.kit.audit import audit
from weir_backend.kit.clock import now
from weir_backend.kit.tasks import COMPILE, INSPECT, Tasks, enqueue_after_commit
from weir_backend.models import (
    Checkpoint,
    DesiredState,
    Graph,
    Job,
    MessageKind,
    Operation,
    OperationKind,
    PinHolder,
    PlanKind,
    PlanPhase,
    PlanState,
    RecoveryPlan,
    Spec,
    SpecState,
)
from weir_backend.operations import service as operations
from weir_backend.recovery import repository
from weir_backend.recovery.external_path import allowed_roots, is_within
from weir_backend.recovery.schemas import (
    PlanCreate,
    PlanInspection,
    PlanPreview,
    PlanRead,
    PlanRequest,
    RescaleRequest,
    RestoreRequest,
    RollbackRequest,
    UndoRequest,
    UpgradeRequest,
)
from weir_backend.recovery.signature import digest_of, is_signed, sign
from weir_backend.recovery.sinks import operators_of, sinks_of
from weir_backend.recovery.start_point import restores_from_storage, revokes_output
from weir_backend.runs import repository as runs
from weir_backend.runs.service import checkpoint_directory
from weir_backend.settings import Settings
from weir_backend.webhooks import outbox


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """What a plan changes. The job restores ``target`` or the external checkpoint at ``path``, or starts without state (``without_state``). If
    the plan sets none of ``target``, ``path`` and ``without_state``, the job resumes from its newest checkpoint. A running job is stopped first."""

    kind: PlanKind
    target: Checkpoint | None
    spec: Spec
    stop_with: str
    undo_of: RecoveryPlan | None = None
    path: str | None = None
    without_state: bool = False

    @property
    def abandons(self) -> bool:
        """Whether the plan revokes committed output."""
        return self.target is not None or self.path is not None or self.without_state


def propose(session: Session, settings: Settings, tasks: Tasks, caller: Caller, job_id: int, draft: PlanCreate) -> RecoveryPlan:
    """Return a new plan. Unless ``draft.dry_run`` is True, save the plan and enqueue its inspection. Raises NotFound, Conflict, Forbidden."""
    job = job_service.get(session, job_id, lock=True)
    job_service.refuse(session, job, runs.newest_run(session, job), _verb_of(draft.request))
    computed = _compute(session, settings, tasks, caller, job, draft.request, keep=not draft.dry_run)
    plan = RecoveryPlan(
        job_id=job.id,
        kind=computed.kind,
        state=PlanState.PROPOSED,
        job_version=job.version,
        request=draft.request.model_dump(mode="json")
        | {"spec": computed.spec.number, "spec_before": job.spec_number, "desired_state_before": job.desired_state.value},
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
    record_event(session, job, "PlanProposed", plan=plan.id, plan_kind=plan.kind.value, by=caller.name)
    outbox.add_plan(session, plan, MessageKind.PROPOSED)
    audit(session, caller, "propose", "plan", plan.id, after={"job": job.name, "request": plan.request})
    enqueue_after_commit(session, tasks, INSPECT, plan.id)
    return plan


def _verb_of(request: PlanRequest) -> Verb:
    match request:
        case RestoreRequest():
            return Verb.RESTORE
        case RescaleRequest():
            return Verb.RESCALE
        case _:
            # An upgrade is allowed even if the current version of the spec cannot run.
            return Verb.UPGRADE


def _compute(
    session: Session, settings: Settings, tasks: Tasks, caller: Caller, job: Job, request: PlanRequest, *, keep: bool
) -> PlannedChange:
    current = jobs.find_spec(session, job.id, job.spec_number)
    assert current is not None
    match request:
        case RollbackRequest(checkpoint=number):
            return PlannedChange(PlanKind.ROLLBACK, _target(session, job, number), current, "Suspend")
        case RestoreRequest(path=path):
            _check_path(settings, path)
            return PlannedChange(PlanKind.RESTORE, None, current, "Suspend", path=path)
        case UndoRequest(plan=plan_id):
            undone = repository.find(session, plan_id)
            if undone is None or undone.job_id != job.id:
                raise NotFound("no-plan", f"Job '{job.name}' has no plan {plan_id}.")
            _refuse(session, settings, caller, job, undone, Verb.UNDO)
            assert undone.safety_checkpoint is not None, "checked"
            before = jobs.find_spec(session, job.id, undone.request["spec_before"])
            assert before is not None
            return PlannedChange(PlanKind.UNDO, _target(session, job, undone.safety_checkpoint), before, "Suspend", undone)
        case UpgradeRequest(spec=number, mode=mode):
            spec = job_service.spec(session, job.id, number)
            enforce(spec_refusal(number, spec.state, spec.problem))
            _check_directory(settings, job, current, spec)
            _check_job_name(session, job, current, spec)
            stop_with = "Cancel" if mode == "last-state" else "Suspend"
            return PlannedChange(PlanKind.UPGRADE, None, spec, stop_with, without_state=mode == "stateless")
        case RescaleRequest(parallelism=parallelism):
            rescaled = _rescaled(session, tasks, caller, job, current, parallelism, keep=keep)
            return PlannedChange(PlanKind.RESCALE, None, rescaled, "Suspend")
        case _:
            assert_never(request)


def _check_path(settings: Settings, path: str) -> None:
    """Check that users may restore checkpoints from ``path``. Raises Forbidden. The worker later checks that no symbolic link in ``path`` leads
    outside the allowed directories."""
    allowed = allowed_roots(settings.data_dir, settings.restore_roots)
    if not any(is_within(path, root) for root in allowed):
        raise Forbidden(
            "path-not-allowed",
            f"This installation does not restore checkpoints from {path}. Allowed directories: {', '.join(allowed)}.",
            "Ask an administrator to add the directory to WEIR_RESTORE_ROOTS, or copy the checkpoints to an allowed directory.",
        )


def _check_directory(settings: Settings, job: Job, current: Spec, wanted: Spec) -> None:
    """Check that the checkpoint directory stays the same. With a different directory, the job would start without state. Raises Conflict."""
    before, after = (checkpoint_directory(settings, job, spec) for spec in (current, wanted))
    if before != after:
        raise Conflict(
            "directory-changed",
            f"Version {wanted.number} has the checkpoint directory {after}, but the job has {before}, so the job would start without state.",
            "Keep the checkpoint directory, or deploy another job.",
        )


def _check_job_name(session: Session, job: Job, current: Spec, wanted: Spec) -> None:
    """Check that the name of the job in its code stays the same. With a different name, the job would not find its checkpoints. Raises Conflict."""
    before, after = (
        jobs.name_of_graph(session, spec.graph_id) if spec.graph_id is not None else None for spec in (current, wanted)
    )
    if job.run_number > 0 and before is not None and before != after:
        raise Conflict(
            "name-changed",
            f"Version {wanted.number} has the name '{after}' in Job(...). The checkpoints of job '{job.name}' are stored under the name "
            f"'{before}', so version {wanted.number} would not find them and would start without state.",
            f"Keep the name '{before}' in Job(...), or deploy another job.",
        )


def _target(session: Session, job: Job, number: int) -> Checkpoint:
    found = get_restorable(session, job, number)
    enforce(damage_refusal(facts_of(found, None, None)))
    return found


def _rescaled(session: Session, tasks: Tasks, caller: Caller, job: Job, current: Spec, parallelism: int, *, keep: bool) -> Spec:
    """Return a new version of the spec that differs from the current version only in its parallelism. Save the new version only if ``keep`` is
    True."""
    spec = Spec(
        job_id=job.id,
        number=jobs.newest_spec_number(session, job.id) + 1,
        artifact_id=current.artifact_id,
        body=current.body | {"parallelism": parallelism},
        state=SpecState.COMPILING,
        comment=f"Version {current.number} with parallelism {parallelism}",
        created_by=caller.user_id,
        created_at=now(),
    )
    if keep:
        session.add(spec)
        session.flush()
        enqueue_after_commit(session, tasks, COMPILE, spec.id)
    return spec


def _preview(session: Session, job: Job, computed: PlannedChange) -> PlanPreview:
    target = computed.target
    current = jobs.find_spec(session, job.id, job.spec_number)
    graph_id = computed.spec.graph_id or (current.graph_id if current is not None else None)
    graph = session.get(Graph, graph_id) if graph_id is not None else None
    sinks = list(sinks_of(graph.body)) if graph is not None else []
    live = runs.live_run(session, job.id) is not None
    # A job that has never run has published no output. A job that resumes from a checkpoint commits the output of this checkpoint again
    # if the job log does not record the publication.
    duplicates = [uid for uid, _, revocable in sinks if not revocable] if computed.abandons or job.run_number > 0 else []
    age_s = (now() - target.completed_at).total_seconds() if target is not None and target.completed_at is not None else None
    return PlanPreview(
        checkpoint=target.number if target else None,
        completed_at=target.completed_at if target else None,
        age_s=age_s,
        state_bytes=target.state_bytes if target else None,
        is_savepoint=target.is_savepoint if target else False,
        path=computed.path,
        without_state=computed.without_state,
        stop_with=computed.stop_with,
        steps=_steps(computed, job, live=live),
        restarted_operators=operators_of(graph.body) if graph is not None else [],
        warnings=_warnings(computed, job, duplicates, live=live, graph_known=graph is not None),
        sinks_with_duplicates=duplicates,
        inspection=None,
    )


def _steps(computed: PlannedChange, job: Job, *, live: bool) -> list[str]:
    steps = []
    if computed.target is not None:
        steps.append(f"Verify the files of checkpoint {computed.target.number}. If a file is damaged, the job stays unchanged.")
    if computed.path is not None:
        steps.append(f"Verify the files of the checkpoint in {computed.path}. If a file is damaged, the job stays unchanged.")
    if live:
        steps.append(
            "Stop the job with a last checkpoint, which an undo can restore."
            if computed.stop_with == "Suspend"
            else "Stop the job at once, without a last checkpoint."
        )
    if computed.target is not None:
        steps.append(
            f"Start the job from checkpoint {computed.target.number}. Revocable sinks revoke the output that was committed after this checkpoint."
        )
    elif computed.path is not None:
        steps.append(
            "Start the job from a copy of the external checkpoint. Revocable sinks revoke the committed output of this job."
        )
    elif computed.without_state:
        steps.append(
            f"Start version {computed.spec.number} of the spec without state. Revocable sinks revoke committed output, and all input is "
            "read again."
        )
    else:
        steps.append(f"Start version {computed.spec.number} of the spec from the newest checkpoint.")
    resumed = ", and resume it from its last checkpoint before the stop" if job.desired_state is DesiredState.RUNNING else ""
    steps.append(f"If the job does not start, restore its earlier version and desired state{resumed}.")
    return steps


def _warnings(computed: PlannedChange, job: Job, duplicates: list[str], *, live: bool, graph_known: bool) -> list[str]:
    found = []
    if not live and job.desired_state is not DesiredState.RUNNING:
        found.append("The job is not running. If you apply the plan, the job starts.")
    if computed.stop_with == "Cancel" and live:
        found.append("All input since the newest checkpoint is read again.")
    if duplicates and not computed.abandons:
        stopped = "the newest checkpoint" if computed.stop_with == "Cancel" else "the last checkpoint before the stop"
        found.append(f"These sinks can publish output twice: {', '.join(duplicates)}. The output of {stopped} is affected.")
    if not graph_known:
        found.append("The graph is not known yet, so sinks and operators are not listed.")
    return found


def record_inspection(session: Session, settings: Settings, plan_id: int, found: PlanInspection) -> int | None:
    """Record the results of a worker's inspection of checkpoint storage. If the plan is being applied and waits for this inspection, return the
    id of the plan's job. Otherwise, return None."""
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
        outcome = found.model_dump(include={"intact", "damage", "incompatibility"})
        record_event(session, job, "PlanInspected", plan=plan.id, **outcome)
        return None
    if plan.state is PlanState.APPLYING and plan.phase is PlanPhase.VERIFYING:
        plan.target_intact, plan.problem = found.intact and found.incompatibility is None, found.damage or found.incompatibility
        job.next_reconcile_at = now()
        return job.id
    return None


def approve(session: Session, settings: Settings, caller: Caller, plan_id: int, digest: str) -> RecoveryPlan:
    """Approve the plan with the content that ``digest`` identifies. Raises NotFound, Conflict, Forbidden, PreconditionFailed."""
    job, plan = _locked(session, plan_id)
    _check_permission(caller, plan)
    if plan.state is not PlanState.APPROVED:
        _refuse(session, settings, caller, job, plan, Verb.APPROVE)
    if digest != digest_of(plan):
        raise PreconditionFailed(
            "preview-changed", f"The preview of plan {plan.id} has changed since you opened it.", "Review it again."
        )
    if plan.state is PlanState.APPROVED:
        return plan  # this request repeats an earlier request
    plan.state, plan.approved_by, plan.approved_at = PlanState.APPROVED, caller.user_id, now()
    record_event(session, job, "PlanApproved", plan=plan.id, by=caller.name)
    outbox.add_plan(session, plan, MessageKind.APPROVED)
    after = {"job": job.name, "digest": digest, "proposed_by": plan.created_by}
    audit(session, caller, "approve", "plan", plan.id, after=after)
    return plan


def apply(session: Session, settings: Settings, tasks: Tasks, caller: Caller, plan_id: int) -> Operation:
    """Begin to apply an approved plan. Raises NotFound, Conflict, Forbidden."""
    job, plan = _locked(session, plan_id)
    _check_permission(caller, plan)
    if plan.state in (PlanState.APPLYING, PlanState.APPLIED) and plan.operation_id is not None:
        return operations.get(session, plan.operation_id)  # an earlier request has begun to apply the plan
    _refuse(session, settings, caller, job, plan, Verb.APPLY)
    operation = operations.begin(session, job, OperationKind.APPLY_PLAN, caller, {"plan": plan.id})
    plan.state, plan.phase, plan.operation_id = PlanState.APPLYING, PlanPhase.VERIFYING, operation.id
    plan.target_intact = None if restores_from_storage(plan.preview) else True
    operations.step(operation, "verifying the files of the checkpoint" if plan.target_intact is None else "starting")
    job_service.touch(job)
    record_event(session, job, "PlanApplying", plan=plan.id, by=caller.name)
    audit(session, caller, "apply", "plan", plan.id, after={"job": job.name})
    if plan.target_intact is None:
        if plan.preview["checkpoint"] is not None:
            # Pin the checkpoint, because a running job retires its oldest checkpoint whenever it completes another checkpoint.
            set_pin(session, tasks, _target(session, job, plan.preview["checkpoint"]), PinHolder.PLAN, plan)
        enqueue_after_commit(session, tasks, INSPECT, plan.id)
    job_service.reconcile_soon(session, tasks, job)
    return operation


def discard(session: Session, settings: Settings, caller: Caller, plan_id: int) -> RecoveryPlan:
    """Discard a plan that is not applied. Raises NotFound, Conflict."""
    job, plan = _locked(session, plan_id)
    if plan.state is PlanState.DISCARDED:
        return plan
    _refuse(session, settings, caller, job, plan, Verb.DISCARD)
    plan.state, plan.ended_at = PlanState.DISCARDED, now()
    record_event(session, job, "PlanDiscarded", plan=plan.id, by=caller.name)
    outbox.add_plan(session, plan, MessageKind.DISCARDED)
    audit(session, caller, "discard", "plan", plan.id, after={"job": job.name})
    return plan


def get(session: Session, plan_id: int) -> RecoveryPlan:
    """Return a plan. Raises NotFound."""
    return or_raise(repository.find(session, plan_id), NotFound("no-plan", f"Plan {plan_id} does not exist."))


def _locked(session: Session, plan_id: int) -> tuple[Job, RecoveryPlan]:
    """Lock the job of the plan, then the plan. Return both."""
    seen = get(session, plan_id)
    job = job_service.get(session, seen.job_id, lock=True)
    plan = repository.find(session, plan_id, lock=True)
    assert plan is not None
    return job, plan


def _check_permission(caller: Caller, plan: RecoveryPlan) -> None:
    caller.require(Permission.ROLLBACK if revokes_output(plan.preview) else Permission.OPERATE)


def _refuse(session: Session, settings: Settings, caller: Caller, job: Job, plan: RecoveryPlan, verb: Verb) -> None:
    """Raise Conflict if the plan does not allow ``verb``."""
    enforce(plan_refusal(verb, _facts(session, settings, caller, [plan], {job.id: job})[plan.id], now()))


def _facts(
    session: Session, settings: Settings, caller: Caller, plans: Sequence[RecoveryPlan], by_id: Mapping[int, Job]
) -> dict[int, PlanActionFacts]:
    """For each plan, return the facts that decide which actions the plan allows. The number of queries does not grow with the number of plans.
    ``by_id`` contains the jobs of the plans by their ids."""
    key = settings.secret_key.get_secret_value()
    undone = repository.undone(session, [plan.id for plan in plans])
    applying = repository.applying_by_job(session, by_id.keys())
    safeties = checkpoints.by_numbers(
        session, {(plan.job_id, plan.safety_checkpoint) for plan in plans if plan.safety_checkpoint is not None}
    )
    # ``request`` can lack the version of the spec if the plan was changed in the database.
    numbers = {(plan.job_id, plan.request["spec"]) for plan in plans if plan.state in OPEN and "spec" in plan.request}
    specs = jobs.specs_by_number(session, numbers)
    found = {}
    for plan in plans:
        inspection = plan.preview["inspection"]
        spec = specs.get((plan.job_id, plan.request.get("spec", 0)))
        safety = safeties.get((plan.job_id, plan.safety_checkpoint)) if plan.safety_checkpoint is not None else None
        other = applying.get(plan.job_id)
        found[plan.id] = PlanActionFacts(
            id=plan.id,
            state=plan.state,
            revokes_output=revokes_output(plan.preview),
            signed=plan.state not in OPEN or is_signed(plan, key),
            created_at=plan.created_at,
            plan_job_version=plan.job_version,
            job_version=by_id[plan.job_id].version,
            spec=spec_refusal(spec.number, spec.state, spec.problem) if spec is not None else None,
            own=settings.separate_approver and caller.user_id is not None and plan.created_by == caller.user_id,
            inspected=inspection is not None,
            damage=None if inspection is None or inspection["intact"] else inspection["damage"] or "the checkpoint is damaged",
            incompatibility=inspection.get("incompatibility") if inspection is not None else None,
            safety_checkpoint=plan.safety_checkpoint,
            safety=replace(facts_of(safety, None, None), applying=other) if safety is not None else None,
            undone=plan.id in undone,
            applying=other,
        )
    return found


def read(session: Session, settings: Settings, caller: Caller, plans: Sequence[RecoveryPlan]) -> list[PlanRead]:
    """Return the plans as the API returns them, with the actions that each plan allows. Dry runs and plans of deleted jobs have no actions."""
    saved = [plan for plan in plans if plan.id is not None]
    by_id = {job.id: job for job in checkpoints.jobs_by_id(session, {plan.job_id for plan in saved})}
    facts = _facts(session, settings, caller, [plan for plan in saved if plan.job_id in by_id], by_id)
    moment = now()
    return [
        PlanRead.read(
            plan,
            digest=digest_of(plan),
            actions=plan_actions(facts[plan.id], caller.permissions, moment) if plan.id in facts else [],
        )
        for plan in plans
    ]
