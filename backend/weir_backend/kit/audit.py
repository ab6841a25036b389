"""Audit log: every change by a user or a token writes an entry in the same transaction."""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

from weir_backend.kit.access import Caller
from weir_backend.kit.audited_resources import recorded_text, resource_texts
from weir_backend.models import AuditEntry


def audit_changes(
    session: Session, caller: Caller, resource: str, resource_id: int, before: dict[str, Any], after: dict[str, Any], *also: str
) -> None:
    """Add an audit entry for an update. The entry contains the values that have changed. ``also`` names values to record even if they have
    not changed."""
    changed = {name for name in after if after[name] != before[name]} | {*also}
    if changed:
        of = [{name: values[name] for name in changed} for values in (before, after)]
        audit(session, caller, "update", resource, resource_id, before=of[0], after=of[1])


def audit(
    session: Session,
    caller: Caller,
    action: str,
    resource: str,
    resource_id: int | None,
    *,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> None:
    """Add an entry. ``action`` is a verb, such as ``create`` or ``suspend``. ``before`` and ``after`` are the changed values, without
    secrets. The entry contains the name of the resource at this time, so that it stays readable if the resource is renamed or deleted."""
    found = resource_texts(session, [(resource, resource_id)] if resource_id is not None else [])
    text = next((one.text for one in found.values()), None) or recorded_text(
        resource, resource_id, {**(before or {}), **(after or {})}
    )
    session.add(
        AuditEntry(
            user_id=caller.user_id,
            user_name=caller.name,
            token_id=caller.token_id,
            action=action,
            resource=resource,
            resource_id=resource_id,
            resource_text=text,
            before=before,
            after=after,
            request_id=caller.request_id,
            address=caller.address,
        )
    )
