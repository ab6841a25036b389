"""Database access to audit entries."""

from __future__ import annotations

from weir_backend.kit.listing import Fields, equals
from weir_backend.models import AuditEntry

FIELDS = Fields(
    # Ids grow with time. The list cannot be sorted by user or action, because sorting would need another index over millions of entries.
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
