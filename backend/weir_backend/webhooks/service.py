"""Webhooks as administrators make, change, try and delete them."""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

from weir_backend.alerts import repository as rules
from weir_backend.errors import Conflict, NotFound
from weir_backend.kit.access import Caller
from weir_backend.kit.audit import audit
from weir_backend.kit.clock import now
from weir_backend.kit.tasks import DELIVER, Tasks, ask
from weir_backend.kit.versions import check_version
from weir_backend.models import Delivery, MessageAbout, Webhook
from weir_backend.webhooks import repository
from weir_backend.webhooks.addresses import receiver_of
from weir_backend.webhooks.schemas import WebhookChange, WebhookDraft

WEBHOOKS_MAX = 100


def get(session: Session, webhook_id: int, *, lock: bool = False) -> Webhook:
    """Raises NotFound."""
    found = repository.find_webhook(session, webhook_id, lock=lock)
    if found is None:
        raise NotFound("not-found", f"there is no webhook {webhook_id}")
    return found


def create(session: Session, caller: Caller, draft: WebhookDraft) -> Webhook:
    """Raises Conflict."""
    if repository.is_taken(session, draft.name):
        raise _taken(draft.name)
    if repository.count(session) >= WEBHOOKS_MAX:
        raise Conflict("too-many-webhooks", f"there are {WEBHOOKS_MAX} webhooks", "delete those that nobody needs")
    webhook = Webhook(
        name=draft.name, url=draft.url, secret_reference=draft.secret_reference, enabled=draft.enabled, created_at=now()
    )  # fmt: skip
    session.add(webhook)
    session.flush()
    audit(session, caller, "create", "webhook", webhook.id, after=_told(webhook))
    return webhook


def change(session: Session, caller: Caller, webhook_id: int, seen: str | None, wanted: WebhookChange) -> Webhook:
    """Raises NotFound, Conflict and what ``check_version`` raises."""
    webhook = get(session, webhook_id, lock=True)
    check_version(seen, webhook.version)
    before, url = _told(webhook), webhook.url
    if wanted.name is not None:
        if repository.is_taken(session, wanted.name, but=webhook_id):
            raise _taken(wanted.name)
        webhook.name = wanted.name
    if wanted.url is not None:
        webhook.url = wanted.url
    if "secret_reference" in wanted.model_fields_set:
        webhook.secret_reference = wanted.secret_reference
    if wanted.enabled is not None:
        webhook.enabled = wanted.enabled
        if not wanted.enabled:
            repository.give_up_open(session, webhook_id, "the webhook was switched off", now())
    after = _told(webhook)
    if after != before or webhook.url != url:
        changed = {name for name in after if after[name] != before[name]}
        if webhook.url != url:
            changed.add("receiver")  # even if that is the same: another path may be another receiver
        audit(
            session, caller, "update", "webhook", webhook_id,
            before={name: before[name] for name in changed}, after={name: after[name] for name in changed},
        )  # fmt: skip
    session.flush()
    return webhook


def delete(session: Session, caller: Caller, webhook_id: int, seen: str | None) -> None:
    """With the list of its messages. Raises NotFound, Conflict if rules tell of their alerts by it, and what ``check_version`` raises."""
    webhook = get(session, webhook_id, lock=True)
    check_version(seen, webhook.version)
    used = rules.rules_of_webhook(session, webhook_id)
    if used:
        named = ", ".join(f"'{name}'" for name in used[:3]) + (f" and {len(used) - 3} more" if len(used) > 3 else "")
        raise Conflict(
            "in-use",
            f"nobody would be told of alerts of {named}: webhook '{webhook.name}' is theirs",
            "give these rules another one first",
        )
    audit(session, caller, "delete", "webhook", webhook_id, before=_told(webhook))
    session.flush()
    session.delete(webhook)


def test(session: Session, tasks: Tasks, caller: Caller, webhook_id: int) -> Delivery:
    """Have a worker send a message. One at a time: while one waits to be sent, asking again is answered with that. Raises NotFound."""
    webhook = get(session, webhook_id, lock=True)
    found = repository.open_test(session, webhook_id)
    if found is None:
        moment = now()
        found = Delivery(webhook_id=webhook_id, about=MessageAbout.TEST, next_try_at=moment, created_at=moment)
        session.add(found)
        session.flush()
        session.refresh(found)
        audit(session, caller, "test", "webhook", webhook_id, after={"name": webhook.name})
    ask(session, tasks, DELIVER)
    return found


def delivery(session: Session, webhook_id: int, delivery_id: int) -> Delivery:
    """Raises NotFound."""
    found = repository.find_delivery(session, webhook_id, delivery_id)
    if found is None:
        raise NotFound("not-found", f"webhook {webhook_id} has no delivery {delivery_id}")
    return found


def _taken(name: str) -> Conflict:
    return Conflict("name-taken", f"there is a webhook '{name}' already", "take another name")


def _told(webhook: Webhook) -> dict[str, Any]:
    """Without what of the URL is as good as a password."""
    return {
        "name": webhook.name,
        "receiver": receiver_of(webhook.url).shown,
        "secret_reference": webhook.secret_reference,
        "enabled": webhook.enabled,
    }
