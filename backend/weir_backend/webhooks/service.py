"""Create, update, test and delete webhooks."""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

from weir_backend.alerts import repository as rules
from weir_backend.errors import Conflict, Invalid, NotFound, or_raise
from weir_backend.kit.access import Caller
from weir_backend.kit.audit import audit, audit_changes
from weir_backend.kit.clock import now
from weir_backend.kit.etags import check_if_match
from weir_backend.kit.tasks import DELIVER, Tasks, enqueue_after_commit
from weir_backend.models import Delivery, MessageKind, Webhook, WebhookEvent, WebhookFormat
from weir_backend.webhooks import repository
from weir_backend.webhooks.addresses import receiver_of
from weir_backend.webhooks.schemas import WebhookCreate, WebhookUpdate

WEBHOOKS_MAX = 100


def get(session: Session, webhook_id: int, *, lock: bool = False) -> Webhook:
    """Return a webhook. Raises NotFound."""
    return or_raise(
        repository.find_webhook(session, webhook_id, lock=lock), NotFound("not-found", f"Webhook {webhook_id} does not exist.")
    )


def create(session: Session, caller: Caller, draft: WebhookCreate) -> Webhook:
    """Create a webhook. Raises Conflict if the name is taken or there are too many webhooks. Raises Invalid if the format needs a
    routing key, and the webhook names none."""
    if repository.is_taken(session, draft.name):
        raise _taken(draft.name)
    if repository.count(session) >= WEBHOOKS_MAX:
        raise Conflict(
            "too-many-webhooks", f"There are already {WEBHOOKS_MAX} webhooks.", "Delete webhooks that you do not need."
        )
    events = [event.value for event in draft.events]
    webhook = Webhook(**draft.model_dump(exclude={"events"}), events=events, created_at=now())
    _check_routing_key(webhook)
    session.add(webhook)
    session.flush()
    audit(session, caller, "create", "webhook", webhook.id, after=_as_audited(webhook))
    return webhook


def change(session: Session, caller: Caller, webhook_id: int, seen: str | None, wanted: WebhookUpdate) -> Webhook:
    """Update a webhook. Raises NotFound if the webhook does not exist, Conflict if the name is taken or if rules need the events that the webhook
    would no longer receive, Invalid if it needs a routing key, and the errors of ``check_if_match``."""
    webhook = get(session, webhook_id, lock=True)
    check_if_match(seen, webhook.version)
    before, url = _as_audited(webhook), webhook.url
    if wanted.name is not None:
        if repository.is_taken(session, wanted.name, but=webhook_id):
            raise _taken(wanted.name)
        webhook.name = wanted.name
    if wanted.url is not None:
        webhook.url = wanted.url
    if "secret_reference" in wanted.model_fields_set:
        webhook.secret_reference = wanted.secret_reference
    if wanted.format is not None:
        webhook.format = wanted.format
    _check_routing_key(webhook)
    if wanted.events is not None:
        if WebhookEvent.ALERTS not in wanted.events:
            _refuse_if_used(session, webhook)
        webhook.events = [event.value for event in wanted.events]
    if wanted.enabled is not None:
        webhook.enabled = wanted.enabled
        if not wanted.enabled:
            repository.give_up_open(session, webhook_id, "the webhook was disabled", now())
    # Record that the URL has changed, even if only its secret part has changed.
    also = ("receiver",) if webhook.url != url else ()
    audit_changes(session, caller, "webhook", webhook_id, before, _as_audited(webhook), *also)
    session.flush()
    return webhook


def delete(session: Session, caller: Caller, webhook_id: int, seen: str | None) -> None:
    """Delete a webhook and its deliveries. Raises NotFound if the webhook does not exist, Conflict if alert rules use the webhook, and the errors
    of ``check_if_match``."""
    webhook = get(session, webhook_id, lock=True)
    check_if_match(seen, webhook.version)
    _refuse_if_used(session, webhook)
    audit(session, caller, "delete", "webhook", webhook_id, before=_as_audited(webhook))
    session.flush()
    session.delete(webhook)


def test(session: Session, tasks: Tasks, caller: Caller, webhook_id: int) -> Delivery:
    """Have a worker send a test message. If an earlier test message is still pending, return the delivery of this message instead. Raises
    NotFound."""
    webhook = get(session, webhook_id, lock=True)
    found = repository.open_test(session, webhook_id)
    if found is None:
        moment = now()
        found = Delivery(webhook_id=webhook_id, message_kind=MessageKind.TEST, next_try_at=moment, created_at=moment)
        session.add(found)
        session.flush()
        session.refresh(found)
        audit(session, caller, "test", "webhook", webhook_id, after={"name": webhook.name})
    enqueue_after_commit(session, tasks, DELIVER)
    return found


def delivery(session: Session, webhook_id: int, delivery_id: int) -> Delivery:
    """Return a delivery. Raises NotFound."""
    return or_raise(
        repository.find_delivery(session, webhook_id, delivery_id),
        NotFound("not-found", f"Webhook {webhook_id} has no delivery {delivery_id}."),
    )


def _refuse_if_used(session: Session, webhook: Webhook) -> None:
    used = rules.rules_of_webhook(session, webhook.id)
    if used:
        named = ", ".join(f"'{name}'" for name in used[:3]) + (f" and {len(used) - 3} more" if len(used) > 3 else "")
        raise Conflict("in-use", f"Webhook '{webhook.name}' is used by the rules {named}.", "Change these rules first.")


def _check_routing_key(webhook: Webhook) -> None:
    if webhook.format is WebhookFormat.PAGERDUTY and webhook.secret_reference is None:
        raise Invalid(
            "no-routing-key",
            "secret_reference: a webhook with the format pagerduty needs the routing key of the integration.",
            "Store the routing key in a variable or file of the workers, and name it in secret_reference.",
        )


def _taken(name: str) -> Conflict:
    return Conflict("name-taken", f"A webhook named '{name}' already exists.", "Choose another name.")


def _as_audited(webhook: Webhook) -> dict[str, Any]:
    """Return the values of the webhook for the audit log, without the parts of the URL that may be secret."""
    return {
        "name": webhook.name,
        "receiver": receiver_of(webhook.url).shown,
        "secret_reference": webhook.secret_reference,
        "format": webhook.format,
        "events": webhook.events,
        "enabled": webhook.enabled,
    }
