"""Deleting in bites. What restores refer to is never among it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, and_, delete, func, or_, select, update
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased

from weir_backend.models import (
    RECOVERED,
    Alert,
    AuditEntry,
    Base,
    Checkpoint,
    CheckpointState,
    Command,
    Delivery,
    Event,
    Failure,
    IdempotencyKey,
    Job,
    MetricSample,
    Operation,
    PlanState,
    RecoveryPlan,
    Run,
    Token,
)

JOBS_A_BITE = 20
"""Each takes hundreds of rows with it."""
RUNS_A_BITE = 200
"""For each it is looked in large tables for what would go with it."""


def forget_samples(session: Session, before: datetime, rows_max: int) -> int:
    return _forget(session, MetricSample, MetricSample.id, MetricSample.at < before, rows_max, oldest=MetricSample.at)


def forget_events(session: Session, before: datetime, rows_max: int) -> int:
    return _forget(session, Event, Event.id, Event.received_at < before, rows_max, oldest=Event.received_at)


def forget_failed_checkpoints(session: Session, before: datetime, rows_max: int) -> int:
    gone = (Checkpoint.state == CheckpointState.FAILED) & (Checkpoint.triggered_at < before)
    return _forget(session, Checkpoint, Checkpoint.id, gone, rows_max, oldest=Checkpoint.triggered_at)


def forget_discarded_checkpoints(session: Session, before: datetime, rows_max: int) -> int:
    """Completed ones whose files are gone. Not those that a plan or a run went back to, or that a job was stopped with for a plan: without
    them nobody could read where a line of its history comes from. Nor the last one, which says where that ends."""
    gone = (Checkpoint.state == CheckpointState.COMPLETED) & (Checkpoint.discarded_at < before)
    of_job = RecoveryPlan.job_id == Checkpoint.job_id
    target = RecoveryPlan.preview["checkpoint"].astext.cast(BigInteger) == Checkpoint.number
    of_plan = select(RecoveryPlan.id).where(of_job, or_(target, RecoveryPlan.safety_checkpoint == Checkpoint.number))
    begun_with = Run.start["checkpoint"].astext.cast(BigInteger) == Checkpoint.number
    of_run = select(Run.id).where(Run.job_id == Checkpoint.job_id, begun_with)
    of_next_run = select(Job.id).where(
        Job.id == Checkpoint.job_id, Job.next_start["checkpoint"].astext.cast(BigInteger) == Checkpoint.number
    )
    later = aliased(Checkpoint)
    later_one = select(later.id).where(
        later.job_id == Checkpoint.job_id, later.state == CheckpointState.COMPLETED, later.number > Checkpoint.number
    )
    return _forget(
        session,
        Checkpoint,
        Checkpoint.id,
        gone & ~of_plan.exists() & ~of_run.exists() & ~of_next_run.exists() & later_one.exists(),
        rows_max,
    )


def forget_checkpoints_of_deleted_jobs(session: Session, before: datetime, rows_max: int) -> int:
    """Whatever refers to them goes with their job."""
    deleted = select(Job.id).where(Job.id == Checkpoint.job_id, Job.deleted_at < before)
    return _forget(session, Checkpoint, Checkpoint.id, deleted.exists(), rows_max)


def forget_deleted_jobs(session: Session, before: datetime, rows_max: int) -> int:
    """With their versions, runs, operations and plans, once those rows of them are gone of which there are many."""
    has_many = (
        select(Checkpoint.id).where(Checkpoint.job_id == Job.id).exists()
        | select(Event.id).where(Event.job_id == Job.id).exists()
    )
    return _forget(session, Job, Job.id, (Job.deleted_at < before) & ~has_many, min(rows_max, JOBS_A_BITE))


def forget_audit(session: Session, before: datetime, rows_max: int) -> int:
    return _forget(session, AuditEntry, AuditEntry.id, AuditEntry.at < before, rows_max, oldest=AuditEntry.at)


def forget_commands(session: Session, before: datetime, rows_max: int) -> int:
    """Those that were answered, and those of runs that are over: nobody will answer them."""
    over = select(Run.id).where(Run.id == Command.run_id, Run.ended_at.is_not(None)).exists()
    gone = (Command.created_at < before) & (Command.outcome.is_not(None) | over)
    return _forget(session, Command, Command.id, gone, rows_max, oldest=Command.created_at)


def forget_operations(session: Session, before: datetime, rows_max: int) -> int:
    """Not those that plans were applied by: a plan shows their steps for as long as it is there."""
    of_plan = select(RecoveryPlan.id).where(RecoveryPlan.operation_id == Operation.id).exists()
    gone = (Operation.created_at < before) & Operation.ended_at.is_not(None) & ~of_plan
    return _forget(session, Operation, Operation.id, gone, rows_max, oldest=Operation.created_at)


def forget_proposals(session: Session, before: datetime, rows_max: int) -> int:
    """Plans that nobody approved, or that were withdrawn."""
    nothing_came_of_it = RecoveryPlan.state.in_((PlanState.PROPOSED, PlanState.WITHDRAWN)) & RecoveryPlan.operation_id.is_(None)
    return _forget(session, RecoveryPlan, RecoveryPlan.id, nothing_came_of_it & (RecoveryPlan.created_at < before), rows_max)


def forget_failures(session: Session, before: datetime, rows_max: int) -> int:
    """What was counted of them stays with their jobs. Those whose recovery is not known yet stay."""
    gone = (Failure.received_at < before) & Failure.recovery.is_not(None)
    # Whoever tells of failures holds the job first, and then them: so do we.
    of_job = select(Failure.id).where(Failure.job_id == Job.id, gone).exists()
    jobs = session.scalars(
        select(Job.id).where(of_job).order_by(Job.id).limit(JOBS_A_BITE).with_for_update(skip_locked=True)
    ).all()
    if not jobs:
        return 0
    chosen = select(Failure.id).where(Failure.job_id.in_(jobs), gone).order_by(Failure.received_at).limit(rows_max)
    removed = (
        delete(Failure)
        .where(Failure.id.in_(chosen.scalar_subquery()))
        .returning(Failure.job_id, Failure.recovery, Failure.downtime_ms)
        .cte("removed")
    )
    recovered = removed.c.recovery.in_(RECOVERED)
    counted = select(
        removed.c.job_id,
        func.count().label("rows"),
        func.count().filter(recovered).label("recoveries"),
        func.coalesce(func.sum(removed.c.downtime_ms).filter(recovered), 0).label("downtime_ms"),
    ).group_by(removed.c.job_id)
    rows = 0
    for job_id, count, recoveries, downtime_ms in session.execute(counted).all():
        rows += count
        session.execute(
            update(Job)
            .where(Job.id == job_id)
            .values(
                recoveries_forgotten=Job.recoveries_forgotten + recoveries,
                downtime_forgotten_ms=Job.downtime_forgotten_ms + int(downtime_ms),
            )
        )
    return rows


def forget_runs(session: Session, before: datetime, rows_max: int) -> int:
    """Runs that came to nothing and that nothing refers to: restarts of a job that failed again and again.

    Of those that are over, not: those with a checkpoint; those that carried out a plan; the last of a version that did run; the newest in the job's
    log in a directory of checkpoints, by which is known that nobody else has written there; those that went elsewhere in the job's
    history and that another run went on from; and never a job's newest.
    """
    other, later, following = aliased(Run), aliased(Run), aliased(Run)
    anything = or_(
        select(Checkpoint.id).where(Checkpoint.job_id == Run.job_id, Checkpoint.run_id == Run.id).exists(),
        select(Failure.id).where(Failure.job_id == Run.job_id, Failure.run_id == Run.id).exists(),
    )
    newer_in_log = select(other.id).where(
        other.job_id == Run.job_id, other.checkpoint_directory == Run.checkpoint_directory, other.generation > Run.generation
    )
    ran_later = select(later.id).where(
        later.job_id == Run.job_id, later.spec_id == Run.spec_id, later.number > Run.number, later.running_at.is_not(None)
    )
    left_behind = select(following.id).where(
        following.job_id == Run.job_id, following.number == Run.number + 1, following.start["mode"].astext != "resume"
    )
    gone = and_(
        Run.ended_at < before,
        Run.plan_id.is_(None),
        or_(Run.generation == 0, newer_in_log.exists()),
        or_(Run.running_at.is_(None), ran_later.exists()),
        or_(Run.start["mode"].astext == "resume", left_behind.exists()),
        select(Job.id).where(Job.id == Run.job_id, Job.run_number > Run.number).exists(),
        ~anything,
    )
    return _forget(session, Run, Run.id, gone, min(rows_max, RUNS_A_BITE), oldest=Run.id)


def forget_alerts(session: Session, before: datetime, rows_max: int) -> int:
    """With the messages about them. Those that fire have no end, and stay."""
    return _forget(session, Alert, Alert.id, Alert.resolved_at < before, rows_max)


def forget_deliveries(session: Session, before: datetime, rows_max: int) -> int:
    return _forget(session, Delivery, Delivery.id, Delivery.ended_at < before, rows_max)


def forget_answers(session: Session, before: datetime, rows_max: int) -> int:
    return _forget(session, IdempotencyKey, IdempotencyKey.id, IdempotencyKey.created_at < before, rows_max)


def forget_tokens(session: Session, before: datetime, rows_max: int) -> int:
    return _forget(session, Token, Token.id, (Token.expires_at < before) | (Token.revoked_at < before), rows_max)


def _forget(
    session: Session,
    table: type[Base],
    key: InstrumentedAttribute[int],
    condition: ColumnElement[bool],
    rows_max: int,
    *,
    oldest: InstrumentedAttribute[datetime] | InstrumentedAttribute[int] | None = None,
) -> int:
    """``oldest``: by what rows go first, where there may be more of them than in a bite: along its index, so that a bite begins where the
    one before it has ended and not with all that is gone already."""
    # Rows that somebody holds are left for the next time.
    chosen = select(key).where(condition).order_by(oldest).limit(rows_max).with_for_update(skip_locked=True)
    result: Any = session.execute(delete(table).where(key.in_(chosen.scalar_subquery())))
    return int(result.rowcount)
