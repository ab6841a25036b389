"""Read audit entries with the names of their resources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fastapi import Response
from sqlalchemy import select
from sqlalchemy.orm import Session

from weir_backend.audit import repository
from weir_backend.audit.schemas import AuditEntryRead
from weir_backend.kit.audited_resources import ResourceKey, ResourceText, recorded_text, resource_texts
from weir_backend.kit.listing import Listing, page
from weir_backend.models import AuditEntry

REFERENCES: Mapping[str, str] = {"job_id": "job", "user_id": "user", "webhook_id": "webhook"}
"""The fields of ``before`` and ``after`` that contain the id of a resource, with the kind of the resource."""


def list_entries(session: Session, wanted: Listing, response: Response) -> Sequence[AuditEntryRead]:
    entries: Sequence[AuditEntry] = page(session, select(AuditEntry), wanted, repository.FIELDS, response, unit="audit")
    resources = {(one.resource, one.resource_id) for one in entries if one.resource_id is not None}
    tokens = {("token", one.token_id) for one in entries if one.token_id is not None}
    references = {key for one in entries for _, key in _references(one)}
    texts = resource_texts(session, resources | tokens | references)
    return [_read(one, texts) for one in entries]


def _references(entry: AuditEntry) -> list[tuple[str, ResourceKey]]:
    """Return the fields of ``before`` and ``after`` that refer to a resource, with the resource."""
    values = [
        (field, kind, fields.get(field)) for fields in (entry.before, entry.after) if fields for field, kind in REFERENCES.items()
    ]
    return [(field, (kind, value)) for field, kind, value in values if isinstance(value, int)]


def _read(entry: AuditEntry, texts: Mapping[ResourceKey, ResourceText]) -> AuditEntryRead:
    found = texts.get((entry.resource, entry.resource_id)) if entry.resource_id is not None else None
    token = texts.get(("token", entry.token_id)) if entry.token_id is not None else None
    # Older versions of Weir wrote entries without a text.
    current = (
        found.text if found else recorded_text(entry.resource, entry.resource_id, {**(entry.before or {}), **(entry.after or {})})
    )
    return AuditEntryRead.read(
        entry,
        resource_text=entry.resource_text or current,
        job_id=found.job_id if found else None,
        token_text=token.text if token else None,
        references={f"{field} {key[1]}": texts[key].text for field, key in _references(entry) if key in texts},
    )
