"""What a plan's decisions change. Under the lock on the job."""

from __future__ import annotations

from sqlalchemy.orm import Session

from weir_backend.jobs import repository as jobs
from weir_backend.jobs.history import record
from weir_backend.kit.clock import now
from weir_backend.kit.tasks import Tasks
from weir_backend.models import (
    DesiredState,
    Job,
    OperationState,
    PlanPhase,
    PlanState,
    RecoveryPlan,
)
from weir_backend.operations import repository as operations
from weir_backend.operations.lifecycle import Over
from weir_backend.operations.service import end as end_operation
from weir_backend.operations.service import step
from weir_backend.reconciling import repository as runs
from weir_backend.recovery import repository
from weir_backend.recovery.beginning import goes_back, next_start
from weir_backend.recovery.decide import LEGAL
from weir_backend.retention.pins import UNDO_PIN, hold, release

WAYS_BACK_MAX = 5
"""Of so many plans of a job, the newest, an undo stays possible while the job goes on: each holds a checkpoint with all its state."""
_STEPS = {
    PlanPhase.VERIFYING: "verifying the files of the checkpoint",
    PlanPhase.STOPPING: "stopping the job",
    PlanPhase.STARTING: "starting the job",
    PlanPhase.RETURNING: "bringing the job back to where it was",
}


def enter(session: Session, tasks: Tasks, job: Job, plan: RecoveryPlan, phase: PlanPhase) -> None:
    assert plan.phase is not None and phase in LEGAL[plan.phase], f"plan {plan.id}: {plan.phase} to {phase}"
    plan.phase = phase
    if phase is PlanPhase.STARTING:
        plan.safety_checkpoint = runs.newest_checkpoint(session, job.id)
        _keep_the_way_back(session, tasks, job, plan)
        begins = next_start(plan.preview, job.run_number)
        if begins is not None:
            job.next_start = begins
        job.spec_number = plan.request["spec"]
        job.desired_state = DesiredState.RUNNING
        job.gave_up, job.not_before, job.restarts = None, None, 0
    _say(session, plan, _STEPS[phase])
    record(session, job, "PlanEntered", plan=plan.id, phase=phase.value)


def pin_reason(plan: RecoveryPlan) -> str:
    return f"plan {plan.id} goes back to it"


def undo_pin_reason(plan_id: int) -> str:
    return f"{UNDO_PIN}{plan_id} would return to it"


def _keep_the_way_back(session: Session, tasks: Tasks, job: Job, plan: RecoveryPlan) -> None:
    """After an upgrade the job goes on with the line that this checkpoint is on, and would retire it with the next few."""
    safety = jobs.completed(session, job.id, plan.safety_checkpoint) if plan.safety_checkpoint is not None else None
    if safety is not None and safety.discarded_at is None and safety.leaving_at is None:
        hold(session, tasks, safety, undo_pin_reason(plan.id))
        plan.asked_at = now()


def let_go_of_the_way_back(session: Session, plan: RecoveryPlan) -> None:
    """Nobody returns to it any more."""
    safety = jobs.completed(session, plan.job_id, plan.safety_checkpoint) if plan.safety_checkpoint is not None else None
    if safety is not None:
        release(safety, undo_pin_reason(plan.id))


def _release(session: Session, plan: RecoveryPlan) -> None:
    number = plan.preview["checkpoint"]
    target = jobs.completed(session, plan.job_id, number) if number is not None else None
    if target is not None:
        release(target, pin_reason(plan))


def applied(session: Session, job: Job, plan: RecoveryPlan) -> None:
    _release(session, plan)
    for older in repository.applied_before(session, plan, skipped=WAYS_BACK_MAX - 1):
        let_go_of_the_way_back(session, older)
    undone = repository.find(session, plan.undo_of) if plan.undo_of is not None else None
    if undone is not None:
        let_go_of_the_way_back(session, undone)
    plan.state, plan.phase, plan.ended_at = PlanState.APPLIED, None, now()
    _end(session, plan, Over(OperationState.SUCCEEDED, result={"plan": plan.id, "safety_checkpoint": plan.safety_checkpoint}))
    _changed(job)
    record(session, job, "PlanApplied", plan=plan.id)


def failed(session: Session, job: Job, plan: RecoveryPlan, problem: str, *, bring_back: bool) -> None:
    """``bring_back``: the job goes on as before the plan, from the checkpoint that it was stopped with."""
    _release(session, plan)
    let_go_of_the_way_back(session, plan)
    if bring_back:
        job.desired_state = DesiredState(plan.request["desired_before"])
        job.spec_number = plan.request["spec_before"]
        job.gave_up, job.not_before, job.restarts = None, None, 0
        if runs.of_plan(session, plan):
            if goes_back(plan.preview):
                # One of its runs may have gone back already. A plan without a checkpoint of its own leaves the line as it is.
                job.next_start = (
                    {"checkpoint": plan.safety_checkpoint, "after_run": job.run_number}
                    if plan.safety_checkpoint is not None
                    else None
                )
            job.not_before = now()
    plan.state, plan.phase, plan.ended_at, plan.problem = PlanState.FAILED, None, now(), problem
    _end(session, plan, Over(OperationState.FAILED, problem=problem))
    _changed(job)
    record(session, job, "PlanFailed", plan=plan.id, problem=problem)


def _changed(job: Job) -> None:
    job.version += 1
    job.updated_at = now()


def _say(session: Session, plan: RecoveryPlan, text: str) -> None:
    operation = operations.find(session, plan.operation_id) if plan.operation_id is not None else None
    if operation is not None:
        step(operation, text)


def _end(session: Session, plan: RecoveryPlan, over: Over) -> None:
    operation = operations.find(session, plan.operation_id) if plan.operation_id is not None else None
    if operation is not None:
        end_operation(operation, over)
