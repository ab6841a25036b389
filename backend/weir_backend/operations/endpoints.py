"""Reading operations: who has asked for something looks here for what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Response

from weir_backend.jobs.schemas import OperationShown
from weir_backend.kit.access import Viewer
from weir_backend.kit.forms import Id
from weir_backend.kit.listing import Listing, listing, page
from weir_backend.kit.problems import answers
from weir_backend.kit.requests import SessionDep
from weir_backend.models import Operation
from weir_backend.operations import repository, service

router = APIRouter(prefix="/operations", tags=["operations"], responses=answers(401, 403, 422))


@router.get("", operation_id="list_operations", response_model=list[OperationShown])
def list_(
    session: SessionDep, wanted: Annotated[Listing, Depends(listing)], response: Response, _: Viewer
) -> Sequence[Operation]:
    """What was asked for, newest first. Filters: id, job_id."""
    return page(session, repository.listed(), wanted, repository.FIELDS, response, unit="operations")


@router.get("/{operation_id}", operation_id="get_operation", response_model=OperationShown, responses=answers(404))
def get(operation_id: Id, session: SessionDep, _: Viewer) -> Operation:
    """One operation, with its steps so far. It is over once `ended_at` is set."""
    return service.get(session, operation_id)
