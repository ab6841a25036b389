"""Messages that wait to be sent: written in the transaction of what they tell, sent afterwards, at least once.

A worker takes a webhook for a while, so that messages to one receiver come one after the other, and a receiver that does not answer
keeps one worker's attention at most. It claims a message, sends it without holding any lock, and says what came of it. One that dies in
between is followed by another once the claim has run out: receivers may get a message twice, and know it by its id.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from sqlalchemy.orm import Session

from weir_backend.jobs.history import record
from weir_backend.kit.clock import now
from weir_backend.kit.tasks import DELIVER, Tasks, ask
from weir_backend.models import Alert, Delivery, DeliveryState, Job, MessageAbout, Webhook
from weir_backend.webhooks import repository
from weir_backend.webhooks.retrying import next_try

log = structlog.get_logger(__name__)
CLAIM = timedelta(minutes=2)
"""Longer than a round of sending may take."""
PAUSE = timedelta(seconds=10)
"""A webhook that has not taken a message is left alone for so long, whatever else waits for it."""
PROBLEM_CHARACTERS_MAX = 500


@dataclass(frozen=True, slots=True)
class Message:
    """``body``: see ``_body``."""

    delivery_id: int
    message_id: UUID
    webhook: str
    url: str
    secret_reference: str | None
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sent:
    """``status``: of HTTP, 2xx."""

    status: int


@dataclass(frozen=True, slots=True)
class NotSent:
    """``status`` None: it was not answered."""

    problem: str
    status: int | None = None


def tell_firing(session: Session, tasks: Tasks, alert_id: int, webhook_id: int) -> None:
    if repository.add_firing(session, alert_id, webhook_id, now()):
        ask(session, tasks, DELIVER)


def tell_resolved(session: Session, tasks: Tasks, alert_id: int) -> None:
    """To whom it was told that it fires."""
    if repository.add_resolved(session, alert_id, now()):
        ask(session, tasks, DELIVER)


def take(session: Session, limit: int) -> Sequence[int]:
    """Ids of webhooks with something to send, which are the caller's until it releases them, or for ``CLAIM``."""
    moment = now()
    return repository.take(session, moment, moment + CLAIM, limit)


def release(session: Session, webhook_id: int, *, failed: bool) -> None:
    repository.hold(session, [webhook_id], now() + PAUSE if failed else None)


def claim(session: Session, webhook_id: int) -> Message | None:
    """The next message to a webhook that was taken. None: nothing is due."""
    moment = now()
    row = repository.next_due(session, webhook_id, moment)
    if row is None:
        return None
    delivery, webhook, alert, job = row
    delivery.tries += 1
    delivery.next_try_at = moment + CLAIM
    return Message(
        delivery.id,
        delivery.message_id,
        webhook.name,
        webhook.url,
        webhook.secret_reference,
        _body(delivery, webhook, alert, job),
    )


def _body(delivery: Delivery, webhook: Webhook, alert: Alert | None, job: Job | None) -> dict[str, Any]:
    """The same each time that it is sent: what receivers may rely on is in docs/control-plane.md."""
    if alert is None or job is None:
        return {"type": "test", "text": f"Weir: webhook '{webhook.name}' works", "created_at": delivery.created_at.isoformat()}
    over = delivery.about is MessageAbout.RESOLVED
    return {
        "type": "alert.resolved" if over else "alert.firing",
        "text": f"{job.name}: {f'over: {alert.resolution}' if over else alert.message} ({alert.rule_name})",
        "created_at": delivery.created_at.isoformat(),
        "alert": {
            "id": alert.id,
            "rule": alert.rule_name,
            "kind": alert.kind.value,
            "message": alert.message,
            "since": alert.since.isoformat(),
            "resolved_at": alert.resolved_at.isoformat() if over and alert.resolved_at is not None else None,
            "resolution": alert.resolution if over else None,
        },
        "job": {"id": job.id, "name": job.name},
    }


def ended(session: Session, message: Message, outcome: Sent | NotSent) -> None:
    """What has come of sending it. Whatever was thought of it meanwhile, what has arrived has arrived."""
    moment = now()
    seen = repository.find(session, message.delivery_id)
    if seen is None:
        return
    again_at = next_try(seen.about, tries=seen.tries, created_at=seen.created_at, now=moment)
    # The lock on the job first, as everybody does.
    job = repository.job_of(session, seen.alert_id) if isinstance(outcome, NotSent) and again_at is None else None
    delivery = repository.find(session, message.delivery_id, lock=True)
    if delivery is None or delivery.state is DeliveryState.DELIVERED:
        return
    match outcome:
        case Sent(status):
            delivery.state, delivery.status, delivery.problem, delivery.ended_at = DeliveryState.DELIVERED, status, None, moment
        case NotSent(problem, status) if delivery.ended_at is None:
            delivery.status, delivery.problem = status, problem[:PROBLEM_CHARACTERS_MAX]
            if again_at is not None:
                delivery.next_try_at = again_at
            else:
                _give_up(session, job, delivery, message, moment)
        case NotSent():
            pass  # the webhook was switched off meanwhile


def _give_up(session: Session, job: Job | None, delivery: Delivery, message: Message, moment: datetime) -> None:
    delivery.state, delivery.ended_at = DeliveryState.GIVEN_UP, moment
    log.warning("a message is given up", webhook=message.webhook, about=delivery.about.value, problem=delivery.problem)
    if job is not None:
        record(
            session, job, "AlertNotDelivered",
            alert=delivery.alert_id, webhook=message.webhook, about=delivery.about.value, problem=delivery.problem,
        )  # fmt: skip
