"""Deleting in bites. What restores refer to is never among it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, delete, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from weir_backend.models import Alert, Base, Checkpoint, CheckpointState, Delivery, Event, IdempotencyKey, MetricSample, Token


def forget_samples(session: Session, before: datetime, rows_max: int) -> int:
    return _forget(session, MetricSample, MetricSample.id, MetricSample.at < before, rows_max)


def forget_events(session: Session, before: datetime, rows_max: int) -> int:
    return _forget(session, Event, Event.id, Event.received_at < before, rows_max)


def forget_failed_checkpoints(session: Session, before: datetime, rows_max: int) -> int:
    gone = (Checkpoint.state == CheckpointState.FAILED) & (Checkpoint.triggered_at < before)
    return _forget(session, Checkpoint, Checkpoint.id, gone, rows_max)


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
    session: Session, table: type[Base], key: InstrumentedAttribute[int], condition: ColumnElement[bool], rows_max: int
) -> int:
    # Rows that somebody holds are left for the next time.
    chosen = select(key).where(condition).limit(rows_max).with_for_update(skip_locked=True)
    result: Any = session.execute(delete(table).where(key.in_(chosen.scalar_subquery())))
    return int(result.rowcount)
