"""``/audit``: the audit log."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter, Response
from sqlalchemy import select

from weir_backend.audit import repository
from weir_backend.audit.schemas import AuditEntryRead
from weir_backend.kit.access import AdministratorCaller
from weir_backend.kit.dependencies import SessionDep
from weir_backend.kit.listing import ListingDep, page
from weir_backend.kit.problems import answers
from weir_backend.models import AuditEntry

router = APIRouter(prefix="/audit", tags=["audit"])


@router.get("", operation_id="list_audit", response_model=list[AuditEntryRead], responses=answers(401, 403, 422))
def list_audit(_: AdministratorCaller, wanted: ListingDep, session: SessionDep, response: Response) -> Sequence[AuditEntry]:
    """List the entries of the audit log, newest first. Filters: `id`, `user_name`, `action`, `resource`, `resource_id`."""
    return page(session, select(AuditEntry), wanted, repository.FIELDS, response, unit="audit")
