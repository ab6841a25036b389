"""Queries on webhooks and deliveries."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, case, exists, func, literal, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session, aliased

from weir_backend.kit.listing import Fields, contains, equals, one_of
from weir_backend.models import (
    Alert,
    Delivery,
    DeliveryState,
    Job,
    MessageKind,
    Operation,
    OperationKind,
    OperationState,
    RecoveryPlan,
    Webhook,
    WebhookEvent,
    WebhookFormat,
)

WEBHOOKS = Fields(
    sortable={"id": Webhook.id, "name": Webhook.name, "created_at": Webhook.created_at},
    filters={
        "id": equals(Webhook.id, int),
        "name": contains(Webhook.name),
        "enabled": equals(Webhook.enabled, bool),
        "format": one_of(Webhook.format, WebhookFormat),
    },
    default=("name", False),
    key=Webhook.id,
)
DELIVERIES = Fields(
    sortable={"id": Delivery.id, "created_at": Delivery.created_at, "ended_at": Delivery.ended_at},
    filters={
        "id": equals(Delivery.id, int),
        "alert_id": equals(Delivery.alert_id, int),
        "operation_id": equals(Delivery.operation_id, int),
        "plan_id": equals(Delivery.plan_id, int),
        "message_kind": one_of(Delivery.message_kind, MessageKind),
        "state": one_of(Delivery.state, DeliveryState),
    },
    default=("id", True),
    key=Delivery.id,
)


def find_webhook(session: Session, webhook_id: int, *, lock: bool = False) -> Webhook | None:
    query = select(Webhook).where(Webhook.id == webhook_id)
    return session.scalar(query.with_for_update().execution_options(populate_existing=True) if lock else query)


def is_taken(session: Session, name: str, *, but: int = 0) -> bool:
    """Return whether a webhook other than ``but`` has the name ``name``."""
    return session.scalar(select(Webhook.id).where(Webhook.name == name, Webhook.id != but)) is not None


def count(session: Session) -> int:
    return session.scalar(select(func.count()).select_from(Webhook)) or 0


def deliveries_of(webhook_id: int) -> Select[Delivery]:
    return select(Delivery).where(Delivery.webhook_id == webhook_id)


def find_delivery(session: Session, webhook_id: int, delivery_id: int) -> Delivery | None:
    return session.scalar(deliveries_of(webhook_id).where(Delivery.id == delivery_id))


def open_test(session: Session, webhook_id: int) -> Delivery | None:
    return session.scalar(
        deliveries_of(webhook_id).where(Delivery.message_kind == MessageKind.TEST, Delivery.ended_at.is_(None)).limit(1)
    )


# ---- pending deliveries ------------------------------------------------------------------------


def add_firing(session: Session, alert_id: int, webhook_id: int, moment: datetime) -> bool:
    """Add a ``FIRING`` message of the alert for the webhook. Return False if the webhook is disabled."""
    return _add(
        session, alert_id, MessageKind.FIRING, moment, select(Webhook.id).where(Webhook.id == webhook_id, Webhook.enabled)
    )


def add_resolved(session: Session, alert_id: int, moment: datetime) -> bool:
    """Add a ``RESOLVED`` message for each enabled webhook that has a ``FIRING`` message of the alert. Return False if no enabled webhook has a
    ``FIRING`` message of the alert."""
    notified = select(Delivery.webhook_id).where(Delivery.alert_id == alert_id, Delivery.message_kind == MessageKind.FIRING)
    return _add(
        session, alert_id, MessageKind.RESOLVED, moment, select(Webhook.id).where(Webhook.id.in_(notified), Webhook.enabled)
    )


def _add(session: Session, alert_id: int, message_kind: MessageKind, moment: datetime, webhooks: Select[int]) -> bool:
    rows = [
        {"alert_id": alert_id, "webhook_id": webhook_id, "message_kind": message_kind, "next_try_at": moment}
        for webhook_id in session.scalars(webhooks)
    ]
    if rows:
        session.execute(insert(Delivery).values(rows).on_conflict_do_nothing())
    return bool(rows)


def add_operations(session: Session, operation_ids: Collection[int], moment: datetime) -> None:
    """Add a message about each of the ended operations, for each webhook that receives OPERATIONS. Skip superseded operations, and operations that
    apply a plan."""
    kind = case((Operation.state == OperationState.FAILED, MessageKind.FAILED.value), else_=MessageKind.SUCCEEDED.value)
    ended = Operation.state.in_((OperationState.SUCCEEDED, OperationState.FAILED)) & (Operation.kind != OperationKind.APPLY_PLAN)
    failed = Operation.state == OperationState.FAILED
    _add_from(
        session,
        ("operation_id", "message_kind", "webhook_id", "next_try_at"),
        select(Operation.id, kind, Webhook.id, literal(moment))
        .join(Webhook, _receives(WebhookEvent.OPERATIONS, failed=failed))
        .where(Operation.id.in_(operation_ids), ended),
    )


def add_plan(session: Session, plan_id: int, kind: MessageKind, moment: datetime) -> None:
    """Add a message about a change of the plan, for each webhook that receives PLANS."""
    _add_from(
        session,
        ("plan_id", "message_kind", "webhook_id", "next_try_at"),
        select(literal(plan_id), literal(kind.value), Webhook.id, literal(moment)).where(
            _receives(WebhookEvent.PLANS, failed=literal(kind is MessageKind.FAILED))
        ),
    )


def _receives(event: WebhookEvent, *, failed: ColumnElement[bool]) -> ColumnElement[bool]:
    """Whether a webhook receives a message about an event that nothing resolves. PagerDuty receives only failures, because each of its messages
    opens an incident."""
    return Webhook.enabled & Webhook.events.contains([event.value]) & or_(Webhook.format != WebhookFormat.PAGERDUTY, failed)


def _add_from(session: Session, columns: Sequence[str], rows: Select[*tuple[Any, ...]]) -> None:
    session.execute(insert(Delivery).from_select(columns, rows).on_conflict_do_nothing())


def claim(session: Session, moment: datetime, until: datetime, limit: int) -> Sequence[int]:
    """Claim webhooks that have messages to send, and return their ids. The webhook that has waited longest comes first. No other worker can claim
    the claimed webhooks before ``until``."""
    due = exists().where(
        Delivery.webhook_id == Webhook.id, Delivery.ended_at.is_(None), Delivery.next_try_at <= moment,
        or_(Webhook.enabled, Delivery.message_kind == MessageKind.TEST),
    )  # fmt: skip
    free = or_(Webhook.not_before.is_(None), Webhook.not_before <= moment)
    chosen = (
        select(Webhook.id)
        .where(free, due)
        .order_by(Webhook.not_before.asc().nulls_first(), Webhook.id)
        .limit(limit)
        .with_for_update(skip_locked=True, key_share=True, of=Webhook)
    )
    ids = session.scalars(chosen).all()
    if ids:
        postpone(session, ids, until)
    return ids


def postpone(session: Session, webhook_ids: Sequence[int], until: datetime | None) -> None:
    """Set the time before which no worker may claim the webhooks. If ``until`` is None, workers may claim the webhooks at once. The versions of
    the webhooks stay the same, because the change does not come from a user."""
    session.execute(
        update(Webhook).where(Webhook.id.in_(webhook_ids)).values(not_before=until).execution_options(synchronize_session=False)
    )


@dataclass(frozen=True, slots=True)
class DueDelivery:
    """A delivery with its webhook, and with the rows that its message is about. For a test message, ``job`` and the following fields are None."""

    delivery: Delivery
    webhook: Webhook
    job: Job | None
    alert: Alert | None
    operation: Operation | None
    plan: RecoveryPlan | None


def next_due(session: Session, webhook_id: int, moment: datetime) -> DueDelivery | None:
    """Lock the next delivery of a webhook. Return None if no delivery is due. A message about an alert or a plan waits until the earlier messages
    about the same alert or plan are delivered or have failed."""
    earlier = aliased(Delivery)
    in_front = exists().where(
        or_(earlier.alert_id == Delivery.alert_id, earlier.plan_id == Delivery.plan_id),
        earlier.webhook_id == Delivery.webhook_id, earlier.id < Delivery.id, earlier.ended_at.is_(None),
    )  # fmt: skip
    found = session.execute(
        select(Delivery, Webhook, Job, Alert, Operation, RecoveryPlan)
        .join(Webhook, Webhook.id == Delivery.webhook_id)
        .outerjoin(Alert, Alert.id == Delivery.alert_id)
        .outerjoin(Operation, Operation.id == Delivery.operation_id)
        .outerjoin(RecoveryPlan, RecoveryPlan.id == Delivery.plan_id)
        .outerjoin(Job, Job.id == func.coalesce(Alert.job_id, Operation.job_id, RecoveryPlan.job_id))
        .where(
            Delivery.webhook_id == webhook_id, Delivery.ended_at.is_(None), Delivery.next_try_at <= moment, ~in_front,
            or_(Webhook.enabled, Delivery.message_kind == MessageKind.TEST),
        )
        .order_by(Delivery.next_try_at, Delivery.id)
        .limit(1)
        .with_for_update(skip_locked=True, of=Delivery)
    ).one_or_none()  # fmt: skip
    return DueDelivery(*found) if found is not None else None


def find(session: Session, delivery_id: int, *, lock: bool = False) -> Delivery | None:
    query = select(Delivery).where(Delivery.id == delivery_id)
    return session.scalar(query.with_for_update().execution_options(populate_existing=True) if lock else query)


def job_of(session: Session, alert_id: int | None) -> Job | None:
    """Lock and return the job of an alert."""
    if alert_id is None:
        return None
    query = select(Job).join(Alert, and_(Alert.job_id == Job.id, Alert.id == alert_id))
    return session.scalar(query.with_for_update(key_share=True, of=Job).execution_options(populate_existing=True))


def give_up_open(session: Session, webhook_id: int, problem: str, moment: datetime) -> int:
    """Mark all pending deliveries of a webhook as failed, except test messages. Return the number of deliveries that this call has marked
    as failed."""
    result: Any = session.execute(
        update(Delivery)
        .where(Delivery.webhook_id == webhook_id, Delivery.ended_at.is_(None), Delivery.message_kind != MessageKind.TEST)
        .values(state=DeliveryState.FAILED, problem=problem, ended_at=moment)
        .execution_options(synchronize_session=False)
    )
    return int(result.rowcount)
