"""The outbox of messages to webhooks. A message about an alert, an operation or a plan is stored in the transaction that changes the alert,
operation or plan. After the commit, a worker sends the message at least once.

A worker claims a webhook for a limited time. Until the claim ends, no other worker sends messages to the webhook, so a slow receiver occupies at
most one worker. The messages about one alert or plan arrive in order. The order of other messages is not guaranteed, because the worker
sends a message again later if its delivery has failed. The worker claims a message, sends the message without holding a lock, and records the
outcome. If the worker dies before it has recorded the outcome, another worker sends the message again after the claim has expired. Receivers
recognize a repeated message by its id.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from sqlalchemy.orm import Session

from weir_backend.jobs.event_log import record_event
from weir_backend.kit.clock import now
from weir_backend.kit.tasks import DELIVER, Tasks, enqueue_after_commit
from weir_backend.models import (
    Alert,
    AlertKind,
    Delivery,
    DeliveryState,
    Job,
    MessageKind,
    Operation,
    RecoveryPlan,
    User,
    WebhookFormat,
)
from weir_backend.webhooks import message_formats, repository
from weir_backend.webhooks.message_formats import Notification, Severity
from weir_backend.webhooks.repository import DueDelivery

log = structlog.get_logger(__name__)
CLAIM_DURATION = timedelta(minutes=2)
"""The duration of a worker's claim on a webhook. A worker sends the messages of a webhook in less time than ``CLAIM_DURATION``."""
PAUSE_AFTER_FAILURE = timedelta(seconds=10)
"""After a message to a webhook has failed, workers send no messages to the webhook for ``PAUSE_AFTER_FAILURE``."""
PROBLEM_CHARACTERS_MAX = 500


@dataclass(frozen=True, slots=True)
class WebhookMessage:
    """A message to send. If the format is PAGERDUTY, the worker adds the routing key to the body."""

    delivery_id: int
    message_id: UUID
    webhook: str
    url: str
    secret_reference: str | None
    format: WebhookFormat
    body: dict[str, Any] = field(repr=False)


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


def add_ended_operations(session: Session, operation_ids: Collection[int]) -> None:
    """Add messages about operations that have succeeded or failed in this transaction. The periodic task of the workers sends them."""
    session.flush()
    repository.add_operations(session, operation_ids, now())


def add_plan(session: Session, plan: RecoveryPlan, kind: MessageKind) -> None:
    """Add messages about a change of the plan in this transaction. The periodic task of the workers sends them."""
    session.flush()
    repository.add_plan(session, plan.id, kind, now())


def claim_webhooks(session: Session, limit: int) -> Sequence[int]:
    """Claim webhooks that have messages to send, and return their ids. A claim ends when the worker releases the webhook, or after
    ``CLAIM_DURATION``."""
    moment = now()
    return repository.claim(session, moment, moment + CLAIM_DURATION, limit)


def release_webhook(session: Session, webhook_id: int, *, failed: bool) -> None:
    repository.postpone(session, [webhook_id], now() + PAUSE_AFTER_FAILURE if failed else None)


def claim_message(session: Session, webhook_id: int, ui_url: str | None = None) -> WebhookMessage | None:
    """Claim and return the next message to a claimed webhook. Return None if no message is due. ``ui_url`` is ``Settings.ui_url``."""
    moment = now()
    due = repository.next_due(session, webhook_id, moment)
    if due is None:
        return None
    delivery, webhook = due.delivery, due.webhook
    delivery.tries += 1
    delivery.next_try_at = moment + CLAIM_DURATION
    return WebhookMessage(
        delivery.id,
        delivery.message_id,
        webhook.name,
        webhook.url,
        webhook.secret_reference,
        webhook.format,
        message_formats.body(_notification(session, due, ui_url), webhook.format),
    )


_SEVERITIES = {
    AlertKind.NO_CHECKPOINT: Severity.CRITICAL,
    AlertKind.FAILURES: Severity.CRITICAL,
    AlertKind.RESTARTS: Severity.ERROR,
    AlertKind.LAG: Severity.WARNING,
    AlertKind.HEALTH: Severity.WARNING,
}


def _notification(session: Session, due: DueDelivery, ui_url: str | None) -> Notification:
    """Return what a message says, which is the same for each attempt."""
    match due:
        case DueDelivery(job=Job() as job, alert=Alert() as alert):
            return _about_alert(due.delivery, job, alert, ui_url)
        case DueDelivery(job=Job() as job, operation=Operation() as operation):
            return _about_operation(due.delivery, job, operation, ui_url)
        case DueDelivery(job=Job() as job, plan=RecoveryPlan() as plan):
            return _about_plan(session, due.delivery, job, plan, ui_url)
        case _:
            text = f"Weir: webhook '{due.webhook.name}' works"
            return Notification(
                type="test",
                created_at=due.delivery.created_at,
                text=text,
                sentence=text,
                severity=Severity.INFO,
                dedup_key=f"weir-{due.delivery.message_id}",
                page=_page(ui_url, f"webhooks/{due.webhook.id}"),
            )


def _about_alert(delivery: Delivery, job: Job, alert: Alert, ui_url: str | None) -> Notification:
    resolved = delivery.message_kind is MessageKind.RESOLVED
    sentence = f"resolved: {alert.resolution}" if resolved else alert.message
    return Notification(
        type="alert.resolved" if resolved else "alert.firing",
        created_at=delivery.created_at,
        text=f"{job.name}: {sentence} ({alert.rule_name})",
        sentence=sentence,
        severity=_SEVERITIES[alert.kind],
        job=job.name,
        rule=alert.rule_name,
        condition=alert.kind.value,
        # The time distinguishes the alerts of installations that send to the same service.
        dedup_key=f"weir-alert-{alert.id}-{alert.since.timestamp():.6f}",
        resolves=resolved,
        page=_page(ui_url, f"jobs/{job.id}"),
        fields={
            "alert": {
                "id": alert.id,
                "rule": alert.rule_name,
                "kind": alert.kind.value,
                "message": alert.message,
                "since": alert.since.isoformat(),
                "resolved_at": alert.resolved_at.isoformat() if resolved and alert.resolved_at is not None else None,
                "resolution": alert.resolution if resolved else None,
            },
            "job": _job(job),
        },
    )


def _about_operation(delivery: Delivery, job: Job, operation: Operation, ui_url: str | None) -> Notification:
    kind, word = operation.kind.value, delivery.message_kind.value.lower()
    problem = f": {operation.problem}" if operation.problem else ""
    sentence = f"operation {operation.id} ({kind}) {word}{problem}"
    fields = {"id": operation.id, "kind": kind, "state": operation.state.value, "problem": operation.problem}
    return _without_resolution(
        delivery, job, "operation", sentence, fields | {"result": operation.result}, _page(ui_url, f"jobs/{job.id}/events")
    )


def _about_plan(session: Session, delivery: Delivery, job: Job, plan: RecoveryPlan, ui_url: str | None) -> Notification:
    match delivery.message_kind:
        case MessageKind.PROPOSED:
            user_id = plan.created_by
        case MessageKind.APPROVED:
            user_id = plan.approved_by
        case _:
            user_id = None
    user = session.get(User, user_id) if user_id is not None else None
    problem = plan.problem if delivery.message_kind is MessageKind.FAILED else None
    word = delivery.message_kind.value.lower()
    sentence = (
        f"plan {plan.id} ({plan.kind.value}) {word}" + (f" by {user.name}" if user else "") + (f": {problem}" if problem else "")
    )
    fields = {"id": plan.id, "kind": plan.kind.value, "problem": problem, "by": user.name if user is not None else None}
    return _without_resolution(delivery, job, "plan", sentence, fields, _page(ui_url, f"jobs/{job.id}/recovery/{plan.id}"))


def _without_resolution(
    delivery: Delivery, job: Job, subject: str, sentence: str, fields: dict[str, Any], page: str | None
) -> Notification:
    """Return what a message about an operation or a plan says. No later message resolves it, so its ``dedup_key`` is unique."""
    return Notification(
        type=f"{subject}.{delivery.message_kind.value.lower()}",
        created_at=delivery.created_at,
        text=f"{job.name}: {sentence}",
        sentence=sentence,
        severity=Severity.ERROR if delivery.message_kind is MessageKind.FAILED else Severity.INFO,
        job=job.name,
        dedup_key=f"weir-{delivery.message_id}",
        page=page,
        fields={subject: fields, "job": _job(job)},
    )


def _job(job: Job) -> dict[str, Any]:
    return {"id": job.id, "name": job.name}


def _page(ui_url: str | None, path: str) -> str | None:
    return f"{ui_url}/{path}" if ui_url is not None else None


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
