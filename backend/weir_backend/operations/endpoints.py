"""``/operations``: asynchronous requests and their outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Response
from sqlalchemy import select

from weir_backend.jobs.schemas import OperationRead
from weir_backend.kit.access import ViewerCaller
from weir_backend.kit.dependencies import SessionDep
from weir_backend.kit.listing import ListingDep, page
from weir_backend.kit.problems import answers
from weir_backend.kit.schemas import Id
from weir_backend.models import Operation
from weir_backend.operations import repository, service

router = APIRouter(prefix="/operations", tags=["operations"], responses=answers(401, 403, 422))
ACCEPTED: dict[str, Any] = {"response_model": OperationRead, "status_code": 202, "responses": answers(404, 409)}
"""Options of routes that begin an operation on a job."""


@router.get("", operation_id="list_operations", response_model=list[OperationRead])
def list_(session: SessionDep, wanted: ListingDep, response: Response, _: ViewerCaller) -> Sequence[Operation]:
    """List operations, newest first. Filters: `id`, `job_id`."""
    return page(session, select(Operation), wanted, repository.FIELDS, response, unit="operations")


@router.get("/{operation_id}", operation_id="get_operation", response_model=OperationRead, responses=answers(404))
def get(operation_id: Id, session: SessionDep, _: ViewerCaller) -> Operation:
    """Return one operation, with its steps so far. The operation has ended when `ended_at` is set."""
    return service.get(session, operation_id)
