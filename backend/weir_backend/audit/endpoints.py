"""``/audit``: the audit log."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter, Response

from weir_backend.audit import service
from weir_backend.audit.schemas import AuditEntryRead
from weir_backend.kit.access import AdministratorCaller
from weir_backend.kit.dependencies import SessionDep
from weir_backend.kit.listing import ListingDep
from weir_backend.kit.problems import answers

router = APIRouter(prefix="/audit", tags=["audit"])


@router.get("", operation_id="list_audit", response_model=list[AuditEntryRead], responses=answers(401, 403, 422))
def list_audit(_: AdministratorCaller, wanted: ListingDep, session: SessionDep, response: Response) -> Sequence[AuditEntryRead]:
    """List the entries of the audit log, newest first. Filters: `id`, `user_name`, `action`, `resource`, `resource_id`."""
    return service.list_entries(session, wanted, response)
