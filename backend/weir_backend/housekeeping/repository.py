"""Deleting in bites. What restores refer to is never among it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, delete, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased

from weir_backend.models import (
    Alert,
    Base,
    Checkpoint,
    CheckpointState,
    Delivery,
    Event,
    IdempotencyKey,
    Job,
    MetricSample,
    RecoveryPlan,
    Run,
    Token,
)

JOBS_A_BITE = 20
"""Each takes hundreds of rows with it."""


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
    oldest: InstrumentedAttribute[datetime] | None = None,
) -> int:
    """``oldest``: by what rows go first, where there may be more of them than in a bite: along its index, so that a bite begins where the
    one before it has ended and not with all that is gone already."""
    # Rows that somebody holds are left for the next time.
    chosen = select(key).where(condition).order_by(oldest).limit(rows_max).with_for_update(skip_locked=True)
    result: Any = session.execute(delete(table).where(key.in_(chosen.scalar_subquery())))
    return int(result.rowcount)
