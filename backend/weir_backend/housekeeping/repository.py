"""Delete old rows in batches. Rows that a restore may need are never deleted."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, and_, delete, func, or_, select, update
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased

from weir_backend.models import (
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
    SpecCheck,
    Token,
)

JOBS_PER_BATCH = 20
"""A batch of jobs is smaller than other batches, because the deletion of a job also deletes hundreds of rows in other tables."""
RUNS_PER_BATCH = 200
"""A batch of runs is smaller than other batches, because each run requires lookups in large tables."""


def delete_samples(session: Session, before: datetime, rows_max: int) -> int:
    return _delete_batch(session, MetricSample, MetricSample.id, MetricSample.at < before, rows_max, oldest=MetricSample.at)


def delete_events(session: Session, before: datetime, rows_max: int) -> int:
    return _delete_batch(session, Event, Event.id, Event.received_at < before, rows_max, oldest=Event.received_at)


def delete_failed_checkpoints(session: Session, before: datetime, rows_max: int) -> int:
    expired = (Checkpoint.state == CheckpointState.FAILED) & (Checkpoint.triggered_at < before)
    return _delete_batch(session, Checkpoint, Checkpoint.id, expired, rows_max, oldest=Checkpoint.triggered_at)


def delete_discarded_checkpoints(session: Session, before: datetime, rows_max: int) -> int:
    """Delete completed checkpoints whose files are deleted. Keep the newest checkpoint of each job. Also keep the checkpoints that show the
    lineage of the job: each checkpoint that a plan or a run restores, and the ``safety_checkpoint`` of each plan."""
    expired = (Checkpoint.state == CheckpointState.COMPLETED) & (Checkpoint.discarded_at < before)
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
    return _delete_batch(
        session,
        Checkpoint,
        Checkpoint.id,
        expired & ~of_plan.exists() & ~of_run.exists() & ~of_next_run.exists() & later_one.exists(),
        rows_max,
    )


def delete_checkpoints_of_deleted_jobs(session: Session, before: datetime, rows_max: int) -> int:
    """Delete the checkpoints of jobs that were deleted before ``before``."""
    deleted = select(Job.id).where(Job.id == Checkpoint.job_id, Job.deleted_at < before)
    return _delete_batch(session, Checkpoint, Checkpoint.id, deleted.exists(), rows_max)


def purge_deleted_jobs(session: Session, before: datetime, rows_max: int) -> int:
    """Remove the rows of jobs that were marked as deleted before the time ``before``, with the specs, runs, operations and plans of these
    jobs. The checkpoints and events of the jobs must be deleted first."""
    has_rows = (
        select(Checkpoint.id).where(Checkpoint.job_id == Job.id).exists()
        | select(Event.id).where(Event.job_id == Job.id).exists()
    )
    return _delete_batch(session, Job, Job.id, (Job.deleted_at < before) & ~has_rows, min(rows_max, JOBS_PER_BATCH))


def delete_audit_entries(session: Session, before: datetime, rows_max: int) -> int:
    return _delete_batch(session, AuditEntry, AuditEntry.id, AuditEntry.at < before, rows_max, oldest=AuditEntry.at)


def delete_commands(session: Session, before: datetime, rows_max: int) -> int:
    """Delete commands that are answered. Also delete commands whose run has ended, because no driver answers these commands any
    more."""
    over = select(Run.id).where(Run.id == Command.run_id, Run.ended_at.is_not(None)).exists()
    expired = (Command.created_at < before) & (Command.outcome.is_not(None) | over)
    return _delete_batch(session, Command, Command.id, expired, rows_max, oldest=Command.created_at)


def delete_operations(session: Session, before: datetime, rows_max: int) -> int:
    """Delete ended operations. The operations of plans are kept, because the API returns their steps with the plan."""
    of_plan = select(RecoveryPlan.id).where(RecoveryPlan.operation_id == Operation.id).exists()
    expired = (Operation.created_at < before) & Operation.ended_at.is_not(None) & ~of_plan
    return _delete_batch(session, Operation, Operation.id, expired, rows_max, oldest=Operation.created_at)


def delete_unapplied_plans(session: Session, before: datetime, rows_max: int) -> int:
    """Delete plans that were not approved, and plans that were discarded."""
    unapplied = RecoveryPlan.state.in_((PlanState.PROPOSED, PlanState.DISCARDED)) & RecoveryPlan.operation_id.is_(None)
    return _delete_batch(session, RecoveryPlan, RecoveryPlan.id, unapplied & (RecoveryPlan.created_at < before), rows_max)


def delete_failures(session: Session, before: datetime, rows_max: int) -> int:
    """Delete failures whose recovery is known. For failures from which a job recovered, also increase the
    job's counters of recoveries and downtime."""
    expired = (Failure.received_at < before) & Failure.recovery.is_not(None)
    # Lock the job before its failures, in the same order as the ingestion of events.
    of_job = select(Failure.id).where(Failure.job_id == Job.id, expired).exists()
    jobs = session.scalars(
        select(Job.id).where(of_job).order_by(Job.id).limit(JOBS_PER_BATCH).with_for_update(skip_locked=True)
    ).all()
    if not jobs:
        return 0
    chosen = select(Failure.id).where(Failure.job_id.in_(jobs), expired).order_by(Failure.received_at).limit(rows_max)
    removed = (
        delete(Failure)
        .where(Failure.id.in_(chosen.scalar_subquery()))
        .returning(Failure.job_id, Failure.recovery, Failure.downtime_ms)
        .cte("removed")
    )
    recovered = removed.c.recovery != "none"
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
                pruned_recoveries=Job.pruned_recoveries + recoveries,
                pruned_downtime_ms=Job.pruned_downtime_ms + int(downtime_ms),
            )
        )
    return rows


def delete_unreferenced_runs(session: Session, before: datetime, rows_max: int) -> int:
    """Delete runs that no other row refers to. A job that fails repeatedly leaves many unreferenced runs.

    Keep live runs, and the newest run of each job. Keep the runs of plans, and runs that have checkpoints or failures. For each spec
    version, keep the last run that has reached RUNNING. Keep the newest run of each job log, because the generation of this run shows whether
    another application writes to the log. Keep each run that started a new branch, unless the next run started another branch.
    """
    other, later, following = aliased(Run), aliased(Run), aliased(Run)
    referenced = or_(
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
    expired = and_(
        Run.ended_at < before,
        Run.plan_id.is_(None),
        or_(Run.generation == 0, newer_in_log.exists()),
        or_(Run.running_at.is_(None), ran_later.exists()),
        or_(Run.start["mode"].astext == "resume", left_behind.exists()),
        select(Job.id).where(Job.id == Run.job_id, Job.run_number > Run.number).exists(),
        ~referenced,
    )
    return _delete_batch(session, Run, Run.id, expired, min(rows_max, RUNS_PER_BATCH), oldest=Run.id)


def delete_resolved_alerts(session: Session, before: datetime, rows_max: int) -> int:
    """Delete resolved alerts and their deliveries."""
    return _delete_batch(session, Alert, Alert.id, Alert.resolved_at < before, rows_max)


def delete_deliveries(session: Session, before: datetime, rows_max: int) -> int:
    return _delete_batch(session, Delivery, Delivery.id, Delivery.ended_at < before, rows_max)


def delete_idempotency_keys(session: Session, before: datetime, rows_max: int) -> int:
    return _delete_batch(session, IdempotencyKey, IdempotencyKey.id, IdempotencyKey.created_at < before, rows_max)


def delete_spec_checks(session: Session, before: datetime, rows_max: int) -> int:
    return _delete_batch(session, SpecCheck, SpecCheck.id, SpecCheck.created_at < before, rows_max)


def delete_tokens(session: Session, before: datetime, rows_max: int) -> int:
    return _delete_batch(session, Token, Token.id, (Token.expires_at < before) | (Token.revoked_at < before), rows_max)


def _delete_batch(
    session: Session,
    table: type[Base],
    key: InstrumentedAttribute[int],
    condition: ColumnElement[bool],
    rows_max: int,
    *,
    oldest: InstrumentedAttribute[datetime] | InstrumentedAttribute[int] | None = None,
) -> int:
    """Delete up to ``rows_max`` rows that are not locked, and return the number of deleted rows. If the column ``oldest`` is given, delete
    the rows with the lowest values first. The column has an index, so each batch continues where the previous batch ended."""
    chosen = select(key).where(condition).order_by(oldest).limit(rows_max).with_for_update(skip_locked=True)
    result: Any = session.execute(delete(table).where(key.in_(chosen.scalar_subquery())))
    return int(result.rowcount)
