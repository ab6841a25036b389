"""Reconcile one job: load the facts, decide, execute, and repeat until nothing is left to do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import assert_never

import structlog
from sqlalchemy.orm import Session

from weir_backend.jobs import repository as jobs
from weir_backend.jobs.event_log import record_event
from weir_backend.kit.clock import now
from weir_backend.kit.jsonb import clean_text
from weir_backend.kit.tasks import SUBMIT, Tasks, enqueue_after_commit, host_queue
from weir_backend.link import commands
from weir_backend.models import (
    DesiredState,
    Failure,
    Job,
    Operation,
    OperationKind,
    OperationState,
    RecoveryPlan,
    Run,
    RunState,
    Spec,
)
from weir_backend.operations import repository as operations
from weir_backend.operations.lifecycle import TO_RUN, OperationFacts, judge
from weir_backend.operations.service import end_and_record
from weir_backend.reconciler.decisions import (
    BeginRun,
    Decision,
    EndRun,
    GiveCommand,
    JobFacts,
    LastRun,
    LiveRun,
    RestartLater,
    StopRestarts,
    Strategy,
    Submit,
    Wait,
    decide,
    wait_for_gc,
)
from weir_backend.recovery import execution as plans
from weir_backend.recovery import repository as plan_rows
from weir_backend.recovery.decisions import PIN_TIMEOUT, Applied, EnterPhase, FailPlan, PlanDecision, PlanFacts, decide_plan
from weir_backend.runs import repository
from weir_backend.runs import service as run_service
from weir_backend.runs.start import RequestedStart, RunStart, next_start
from weir_backend.settings import Settings

log = structlog.get_logger(__name__)
DRIVER_LOST = "DriverLost"
"""The kind of a failure that the driver did not report: the driver has died, cannot be started or is unreachable."""
DECISIONS_MAX = 20
"""The maximum number of decisions in one call of ``reconcile``. A call exceeds this maximum only if the reconciler has a bug, such as two
decisions that keep reversing each other."""


@dataclass(frozen=True, slots=True)
class Reconciler:
    settings: Settings
    tasks: Tasks

    def reconcile(self, session: Session, job_id: int) -> None:
        """Execute all decisions that are due for this job, and set ``next_reconcile_at`` to the time of the next call. Lock the job. Do nothing
        if the job does not exist."""
        job = jobs.find(session, job_id, lock=True)
        if job is None:
            return
        until = self._execute_decisions(session, job)
        self._end_operations(session, job)
        deadline = repository.next_deadline(session, job.id)
        job.next_reconcile_at = min(filter(None, (until, deadline)), default=None)

    def _execute_decisions(self, session: Session, job: Job) -> datetime | None:
        """Decide and execute in a loop, until a decision is a ``Wait``. Return the end of the wait, or None if the job waits for an event."""
        for _ in range(DECISIONS_MAX):
            moment = now()
            plan = plan_rows.applying(session, job.id)
            wanted = decide_plan(plan_facts(session, job, plan), moment) if plan else decide(facts(session, job), moment)
            decision = wait_for_gc(wanted, job.retention_until, moment)
            if isinstance(decision, Wait):
                return decision.until
            log.info("decided", job=job.name, decision=type(decision).__name__, plan=plan.id if plan else None)
            self._execute(session, job, plan, decision)
            session.flush()
        raise AssertionError(f"job {job.id}: {DECISIONS_MAX} decisions were executed, and none of them was a wait")

    def _execute(self, session: Session, job: Job, plan: RecoveryPlan | None, decision: Decision | PlanDecision) -> None:
        match decision:
            case BeginRun(cause, start):
                spec, plan_id = spec_of(session, job), plan.id if plan else None
                run_service.begin_run(session, self.settings, job, spec, start=start, cause=cause, plan_id=plan_id)
            case Submit():
                run = _live(session, job)
                run.submitted_at = now()
                enqueue_after_commit(session, self.tasks, SUBMIT, run.id, queue=host_queue(run.host) if run.host else None)
            case GiveCommand(kind):
                operation = next((one for one in operations.open_of(session, job.id) if one.kind.value == kind.lower()), None)
                commands.send_command(session, _live(session, job), kind, {}, operation.id if operation else None)
            case EndRun(state, reason):
                run_service.end_run(session, job, _live(session, job), state, reason)
            case RestartLater(restarts, restart_at):
                job.restarts, job.restart_at = restarts, restart_at
                record_event(session, job, "RestartScheduled", restarts=restarts, at=restart_at.isoformat())
            case StopRestarts(reason):
                job.restarts_stopped_reason = reason
                record_event(session, job, "RestartsStopped", reason=reason)
            case EnterPhase(phase):
                assert plan is not None
                plans.enter_phase(session, self.tasks, job, plan, phase)
            case Applied():
                assert plan is not None
                plans.mark_applied(session, job, plan)
            case FailPlan(problem, bring_back):
                assert plan is not None
                plans.mark_failed(session, job, plan, problem, bring_back=bring_back)
            case Wait():
                raise AssertionError("nothing to execute")
            case _:
                assert_never(decision)

    def _end_operations(self, session: Session, job: Job) -> None:
        open_operations = operations.open_of(session, job.id)
        if not open_operations:
            return
        spec, run = spec_of(session, job), repository.newest_run(session, job)
        for operation in open_operations:
            operation_run = run if run is not None and _is_of(run, operation) else None
            facts_of_operation = OperationFacts(
                spec_state=spec.state,
                spec_problem=spec.problem,
                to_run=job.desired_state is DesiredState.RUNNING,
                run_state=operation_run.state if operation_run else None,
                run_reason=operation_run.reason if operation_run else "",
                live=run is not None and run.ended_at is None,
                restarts_stopped_reason=job.restarts_stopped_reason,
                newest_checkpoint=repository.newest_checkpoint(session, job.id),
            )
            outcome = judge(operation.kind, facts_of_operation, now=now(), deadline=operation.deadline_at)
            if outcome is not None and not (
                operation.kind is OperationKind.APPLY_PLAN and outcome.state is OperationState.FAILED
            ):
                end_and_record(session, job, operation, outcome)


def _is_of(run: Run, operation: Operation) -> bool:
    """Return whether the state of the run decides the outcome of the operation. A run decides the outcome of an operation if the number of
    the run is larger than ``operation.after_run``. A finished run also decides the outcome of an operation that starts the job.
    Only the run that was live when the operation began decides the outcome of a profile."""
    if operation.kind is OperationKind.PROFILE:
        return run.number == operation.after_run + 1
    return run.number > operation.after_run or (run.state is RunState.FINISHED and operation.kind in TO_RUN)


def _live(session: Session, job: Job) -> Run:
    run = repository.live_run(session, job.id, lock=True)
    assert run is not None, "the decision requires a live run"
    return run


def spec_of(session: Session, job: Job) -> Spec:
    """Return the current version of the spec of the job."""
    spec = jobs.find_spec(session, job.id, job.spec_number)
    assert spec is not None, f"job {job.id} has no version {job.spec_number}"
    return spec


def facts(session: Session, job: Job) -> JobFacts:
    spec, run = spec_of(session, job), repository.newest_run(session, job)
    restart = spec.body["restart"]
    return JobFacts(
        desired=job.desired_state,
        spec_state=spec.state,
        spec_problem=spec.problem,
        live=live_facts(session, run) if run is not None and run.ended_at is None else None,
        last=last_facts(run) if run is not None and run.ended_at is not None else None,
        restarts=job.restarts,
        restart_at=job.restart_at,
        restarts_stopped_reason=job.restarts_stopped_reason,
        strategy=Strategy(**restart),
        has_run=repository.has_run(session, spec.id),
        start=replace(next_start_of(session, job), revoke_unknown_output=_revokes_unknown_output(session, job)),
    )


def plan_facts(session: Session, job: Job, plan: RecoveryPlan) -> PlanFacts:
    assert plan.phase is not None, f"plan {plan.id} is being applied without a phase"
    plan_runs = repository.runs_of_plan(session, plan)
    live = repository.live_run(session, job.id)
    ended = [run for run in plan_runs if run.ended_at is not None]
    operation = session.get(Operation, plan.operation_id) if plan.operation_id is not None else None
    assert operation is not None, f"plan {plan.id} is being applied without an operation"
    target = jobs.completed(session, job.id, plan.preview["checkpoint"])
    safety = jobs.completed(session, job.id, plan.safety_checkpoint)
    waits = plan.enqueued_at is not None and safety is not None and safety.pinned and not safety.pin_in_force
    return PlanFacts(
        safety_pin_until=plan.enqueued_at + PIN_TIMEOUT if waits and plan.enqueued_at is not None else None,
        target_retired=target is not None and target.discarded_at is not None,
        target_protected=target is None or target.pin_in_force or target.is_savepoint or live is None,
        phase=plan.phase,
        target_intact=plan.target_intact,
        damage=plan.problem,
        live=live_facts(session, live) if live is not None else None,
        live_is_of_plan=live is not None and live.plan_id == plan.id,
        ended_run=last_facts(ended[-1]) if ended else None,
        runs=len(plan_runs),
        stop_with=plan.preview["stop_with"],
        start=next_start_of(session, job),
        kind=plan.kind.value,
        deadline=operation.deadline_at,
    )


def next_start_of(session: Session, job: Job) -> RunStart:
    """Return the start point of the next run."""
    wanted = RequestedStart(**job.next_start) if job.next_start is not None else None
    return next_start(wanted, is_done=wanted is not None and repository.has_run_since(session, job.id, wanted.after_run))


def _revokes_unknown_output(session: Session, job: Job) -> bool:
    """Return whether a user has requested that the next run revokes unknown output. The user's request applies only to the first run
    after the request, so that a restart never revokes output."""
    starts = operations.open_of(session, job.id, OperationKind.START)
    return any(one.after_run == job.run_number and one.request.get("revoke_unknown_output", False) for one in starts)


def live_facts(session: Session, run: Run) -> LiveRun:
    return LiveRun(
        state=run.state,
        submitted_at=run.submitted_at,
        seen=run.pid is not None or run.stored_event > 0 or run.last_contact_at is not None,
        commands=repository.commands_given(session, run.id),
        ran=run.running_at is not None,
    )


def last_facts(run: Run) -> LastRun:
    assert run.ended_at is not None
    return LastRun(
        state=run.state,
        kind=run.failure_kind,
        reason=run.reason or "the driver has ended",
        running_at=run.running_at,
        ended_at=run.ended_at,
    )


def mark_driver_lost(session: Session, job_id: int, run_id: int, reason: str) -> bool:
    """End a run whose driver has died, cannot be started or is unreachable. Return whether this call has ended the run.

    If the driver has died, the caller first imports the driver's events from the spool, and the run's checkpoints from the job log. If
    the command to cancel was sent to the driver, the run gets the state CANCELED, regardless of how the driver ended."""
    job = jobs.find(session, job_id, lock=True)
    run = session.get(Run, run_id)
    if job is None or run is None:
        return False
    session.refresh(run, with_for_update=True)
    if run.ended_at is not None:
        return False
    moment = now()
    reason = clean_text(reason)  # ``reason`` can contain the last line of a log, and this line can contain any characters
    run.reassignment_problem = None
    if repository.cancelled_at(session, run.id) is not None:
        run_service.end_run(session, job, run, RunState.CANCELED, reason)
    else:
        session.add(Failure(job_id=job.id, run_id=run.id, generation=run.generation, kind=DRIVER_LOST, reason=reason, at=moment))
        run_service.end_run(session, job, run, RunState.FAILED, reason)
    job.next_reconcile_at = moment
    return True
