"""The outbox of messages to webhooks. A message about an alert is stored in the transaction that stores the alert. After the commit, a
worker sends the message at least once.

A worker claims a webhook for a limited time. Until the claim ends, no other worker sends messages to the webhook, so a slow receiver occupies at
most one worker. The messages about one alert arrive in order. The order of messages about different alerts is not guaranteed, because the worker
sends a message again later if its delivery has failed. The worker claims a message, sends the message without holding a lock, and records the
outcome. If the worker dies before it has recorded the outcome, another worker sends the message again after the claim has expired. Receivers
recognize a repeated message by its id.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from sqlalchemy.orm import Session

from weir_backend.jobs.event_log import record_event
from weir_backend.kit.clock import now
from weir_backend.kit.tasks import DELIVER, Tasks, enqueue_after_commit
from weir_backend.models import Alert, Delivery, DeliveryState, Job, MessageKind, Webhook
from weir_backend.webhooks import repository

log = structlog.get_logger(__name__)
CLAIM_DURATION = timedelta(minutes=2)
"""The duration of a worker's claim on a webhook. A worker sends the messages of a webhook in less time than ``CLAIM_DURATION``."""
PAUSE_AFTER_FAILURE = timedelta(seconds=10)
"""After a message to a webhook has failed, workers send no messages to the webhook for ``PAUSE_AFTER_FAILURE``."""
PROBLEM_CHARACTERS_MAX = 500


@dataclass(frozen=True, slots=True)
class WebhookMessage:
    """A message to send. ``_body`` builds the ``body``."""

    delivery_id: int
    message_id: UUID
    webhook: str
    url: str
    secret_reference: str | None
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class DeliverySuccess:
    """The receiver has accepted the message. ``status`` is the HTTP status of the response, which is 2xx."""

    status: int


@dataclass(frozen=True, slots=True)
class DeliveryFailure:
    """The message was not delivered. ``status`` is the HTTP status of the response, or None if the receiver sent no response."""

    problem: str
    status: int | None = None


def add_firing(session: Session, tasks: Tasks, alert_id: int, webhook_id: int) -> None:
    if repository.add_firing(session, alert_id, webhook_id, now()):
        enqueue_after_commit(session, tasks, DELIVER)


def add_resolved(session: Session, tasks: Tasks, alert_id: int) -> None:
    """Add a ``RESOLVED`` message for each webhook that has a ``FIRING`` message of the alert."""
    if repository.add_resolved(session, alert_id, now()):
        enqueue_after_commit(session, tasks, DELIVER)


def claim_webhooks(session: Session, limit: int) -> Sequence[int]:
    """Claim webhooks that have messages to send, and return their ids. A claim ends when the worker releases the webhook, or after
    ``CLAIM_DURATION``."""
    moment = now()
    return repository.claim(session, moment, moment + CLAIM_DURATION, limit)


def release_webhook(session: Session, webhook_id: int, *, failed: bool) -> None:
    repository.postpone(session, [webhook_id], now() + PAUSE_AFTER_FAILURE if failed else None)


def claim_message(session: Session, webhook_id: int) -> WebhookMessage | None:
    """Claim and return the next message to a claimed webhook. Return None if no message is due."""
    moment = now()
    row = repository.next_due(session, webhook_id, moment)
    if row is None:
        return None
    delivery, webhook, alert, job = row
    delivery.tries += 1
    delivery.next_try_at = moment + CLAIM_DURATION
    return WebhookMessage(
        delivery.id,
        delivery.message_id,
        webhook.name,
        webhook.url,
        webhook.secret_reference,
        _body(delivery, webhook, alert, job),
    )


def _body(delivery: Delivery, webhook: Webhook, alert: Alert | None, job: Job | None) -> dict[str, Any]:
    """Return the body of a message, which is the same for each attempt. docs/control-plane.md documents the body."""
    if alert is None or job is None:
        return {"type": "test", "text": f"Weir: webhook '{webhook.name}' works", "created_at": delivery.created_at.isoformat()}
    resolved = delivery.message_kind is MessageKind.RESOLVED
    return {
        "type": "alert.resolved" if resolved else "alert.firing",
        "text": f"{job.name}: {f'resolved: {alert.resolution}' if resolved else alert.message} ({alert.rule_name})",
        "created_at": delivery.created_at.isoformat(),
        "alert": {
            "id": alert.id,
            "rule": alert.rule_name,
            "kind": alert.kind.value,
            "message": alert.message,
            "since": alert.since.isoformat(),
            "resolved_at": alert.resolved_at.isoformat() if resolved and alert.resolved_at is not None else None,
            "resolution": alert.resolution if resolved else None,
        },
        "job": {"id": job.id, "name": job.name},
    }


def record_outcome(session: Session, message: WebhookMessage, outcome: DeliverySuccess | DeliveryFailure) -> None:
    """Record the outcome of an attempt to send a message. If an earlier attempt has delivered the message, its delivery stays DELIVERED."""
    moment = now()
    seen = repository.find(session, message.delivery_id)
    if seen is None:
        return
    retry_at = next_try(seen.message_kind, tries=seen.tries, created_at=seen.created_at, now=moment)
    # Lock the row of the job before the row of the delivery.
    job = repository.job_of(session, seen.alert_id) if isinstance(outcome, DeliveryFailure) and retry_at is None else None
    delivery = repository.find(session, message.delivery_id, lock=True)
    if delivery is None or delivery.state is DeliveryState.DELIVERED:
        return
    match outcome:
        case DeliverySuccess(status):
            delivery.state, delivery.ended_at = DeliveryState.DELIVERED, moment
            delivery.http_status, delivery.problem = status, None
        case DeliveryFailure(problem, status) if delivery.ended_at is None:
            delivery.http_status, delivery.problem = status, problem[:PROBLEM_CHARACTERS_MAX]
            if retry_at is not None:
                delivery.next_try_at = retry_at
            else:
                _give_up(session, job, delivery, message, moment)
        case DeliveryFailure():
            pass  # the delivery has ended already, because the webhook was disabled in the meantime


def _give_up(session: Session, job: Job | None, delivery: Delivery, message: WebhookMessage, moment: datetime) -> None:
    delivery.state, delivery.ended_at = DeliveryState.FAILED, moment
    log.warning(
        "a delivery has failed", webhook=message.webhook, message_kind=delivery.message_kind.value, problem=delivery.problem
    )
    if job is not None:
        record_event(
            session, job, "AlertNotDelivered",
            alert=delivery.alert_id, webhook=message.webhook, message_kind=delivery.message_kind.value, problem=delivery.problem,
        )  # fmt: skip


FIRST_RETRY = timedelta(seconds=10)
RETRY_MAX = timedelta(minutes=15)
GIVE_UP_AFTER = timedelta(hours=24)
"""How long workers retry a message, counted from the creation of the message."""


def next_try(message_kind: MessageKind, *, tries: int, created_at: datetime, now: datetime) -> datetime | None:
    """Return the time of the next attempt after ``tries`` failed attempts, or None if the delivery has failed for good."""
    if message_kind is MessageKind.TEST:
        return None
    # Limit the exponent, so that the number of seconds does not overflow.
    at = now + min(RETRY_MAX, FIRST_RETRY * 2 ** min(tries - 1, 16))
    return at if at < created_at + GIVE_UP_AFTER else None
