"""Every write by a person or a program leaves an entry: in the same transaction, so there is none without the other."""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

from weir_backend.kit.access import Caller
from weir_backend.models import AuditEntry


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
    """``action``: a verb (``create``, ``suspend``). ``before`` and ``after``: what has changed, no secret among it."""
    session.add(
        AuditEntry(
            user_id=caller.user_id,
            user_name=caller.name,
            token_id=caller.token_id,
            action=action,
            resource=resource,
            resource_id=resource_id,
            before=before,
            after=after,
            request_id=caller.request_id,
            address=caller.address,
        )
    )
