"""Execute the decisions about a plan. Callers must hold the lock on the job."""

from __future__ import annotations

from sqlalchemy.orm import Session

from weir_backend.checkpoints.pins import release_pin, set_pin
from weir_backend.jobs import repository as jobs
from weir_backend.jobs.event_log import record_event
from weir_backend.jobs.service import touch
from weir_backend.kit.clock import now
from weir_backend.kit.tasks import Tasks
from weir_backend.models import (
    DesiredState,
    Job,
    MessageKind,
    Operation,
    OperationState,
    PinHolder,
    PlanPhase,
    PlanState,
    RecoveryPlan,
)
from weir_backend.operations.lifecycle import OperationOutcome
from weir_backend.operations.service import end as end_operation
from weir_backend.operations.service import step
from weir_backend.recovery import repository
from weir_backend.recovery.decisions import LEGAL
from weir_backend.recovery.start_point import next_start, revokes_output
from weir_backend.runs import repository as runs
from weir_backend.webhooks import outbox

UNDOABLE_PLANS_MAX = 5
"""The maximum number of plans that users can undo while the job is running. Users can undo only the newest plans of the job. The number of
undoable plans is limited, because each undoable plan pins a checkpoint with all its state."""
_STEPS = {
    PlanPhase.VERIFYING: "verifying the files of the checkpoint",
    PlanPhase.STOPPING: "stopping the job",
    PlanPhase.STARTING: "starting the job",
    PlanPhase.REVERTING: "restoring the earlier version and desired state of the job",
}


def enter_phase(session: Session, tasks: Tasks, job: Job, plan: RecoveryPlan, phase: PlanPhase) -> None:
    assert plan.phase is not None and phase in LEGAL[plan.phase], f"plan {plan.id}: {plan.phase} to {phase}"
    plan.phase = phase
    if phase is PlanPhase.STARTING:
        plan.safety_checkpoint = runs.newest_checkpoint(session, job.id)
        _pin_for_undo(session, tasks, job, plan)
        start = next_start(plan.preview, job.run_number)
        if start is not None:
            job.next_start = start
        job.spec_number = plan.request["spec"]
        job.desired_state = DesiredState.RUNNING
        job.restarts_stopped_reason, job.restart_at, job.restarts = None, None, 0
    _add_step(session, plan, _STEPS[phase])
    record_event(session, job, "PlanPhaseChanged", plan=plan.id, phase=phase.value)


def _pin_for_undo(session: Session, tasks: Tasks, job: Job, plan: RecoveryPlan) -> None:
    """Pin the safety savepoint. If the savepoint were not pinned, a job that continues its branch, for example after an upgrade, would retire the
    savepoint after some checkpoints."""
    safety = jobs.completed(session, job.id, plan.safety_checkpoint)
    if safety is not None and safety.discarded_at is None and safety.deleting_since is None:
        set_pin(session, tasks, safety, PinHolder.UNDO, plan)
        plan.enqueued_at = now()


def release_undo_pin(session: Session, plan: RecoveryPlan) -> None:
    """Unpin the checkpoint that an undo of the plan would restore."""
    safety = jobs.completed(session, plan.job_id, plan.safety_checkpoint)
    if safety is not None:
        release_pin(session, safety, PinHolder.UNDO, plan)


def _release_target_pin(session: Session, plan: RecoveryPlan) -> None:
    target = jobs.completed(session, plan.job_id, plan.preview["checkpoint"])
    if target is not None:
        release_pin(session, target, PinHolder.PLAN, plan)


def mark_applied(session: Session, job: Job, plan: RecoveryPlan) -> None:
    _release_target_pin(session, plan)
    for older in repository.applied_before(session, plan, skipped=UNDOABLE_PLANS_MAX - 1):
        release_undo_pin(session, older)
    undone = repository.find(session, plan.undo_of) if plan.undo_of is not None else None
    if undone is not None:
        release_undo_pin(session, undone)
    plan.state, plan.phase, plan.ended_at = PlanState.APPLIED, None, now()
    result = {"plan": plan.id, "safety_checkpoint": plan.safety_checkpoint}
    _end_operation(session, plan, OperationOutcome(OperationState.SUCCEEDED, result=result))
    touch(job)
    record_event(session, job, "PlanApplied", plan=plan.id)
    outbox.add_plan(session, plan, MessageKind.APPLIED)


def mark_failed(session: Session, job: Job, plan: RecoveryPlan, problem: str, *, bring_back: bool) -> None:
    """End the plan as failed. If ``bring_back`` is True, restore the desired state and the version of the spec that the job had before the plan.
    If the plan has stopped the job, the job resumes from the last checkpoint that it completed before the plan stopped it."""
    _release_target_pin(session, plan)
    release_undo_pin(session, plan)
    if bring_back:
        job.desired_state = DesiredState(plan.request["desired_state_before"])
        job.spec_number = plan.request["spec_before"]
        job.restarts_stopped_reason, job.restart_at, job.restarts = None, None, 0
        if runs.runs_of_plan(session, plan):
            if revokes_output(plan.preview):
                # Set the start point explicitly, because a run of the plan may have started a new branch already.
                safety = plan.safety_checkpoint
                job.next_start = {"checkpoint": safety, "after_run": job.run_number} if safety is not None else None
            job.restart_at = now()
    plan.state, plan.phase, plan.ended_at, plan.problem = PlanState.FAILED, None, now(), problem
    _end_operation(session, plan, OperationOutcome(OperationState.FAILED, problem=problem))
    touch(job)
    record_event(session, job, "PlanFailed", plan=plan.id, problem=problem)
    outbox.add_plan(session, plan, MessageKind.FAILED)


def _add_step(session: Session, plan: RecoveryPlan, text: str) -> None:
    operation = session.get(Operation, plan.operation_id) if plan.operation_id is not None else None
    if operation is not None:
        step(operation, text)


def _end_operation(session: Session, plan: RecoveryPlan, over: OperationOutcome) -> None:
    operation = session.get(Operation, plan.operation_id) if plan.operation_id is not None else None
    if operation is not None:
        end_operation(operation, over)
