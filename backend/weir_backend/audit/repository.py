"""Entries of the audit in the database."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import Response
from sqlalchemy import select
from sqlalchemy.orm import Session

from weir_backend.kit.listing import Fields, Listing, equals, page
from weir_backend.models import AuditEntry

FIELDS = Fields(
    # They are added in the order of time. By user or action: nothing holds millions of entries in such an order.
    sortable={"id": AuditEntry.id, "at": AuditEntry.id},
    filters={
        "id": equals(AuditEntry.id, int),
        "user_name": equals(AuditEntry.user_name, str),
        "action": equals(AuditEntry.action, str),
        "resource": equals(AuditEntry.resource, str),
        "resource_id": equals(AuditEntry.resource_id, int),
    },
    default=("id", True),
    key=AuditEntry.id,
)


def entries(session: Session, wanted: Listing, response: Response) -> Sequence[AuditEntry]:
    return page(session, select(AuditEntry), wanted, FIELDS, response, unit="audit")
