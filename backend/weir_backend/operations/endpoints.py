"""``/operations``: asynchronous requests and their outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from sqlalchemy import select

from weir_backend.jobs.schemas import OperationRead
from weir_backend.kit.access import ViewerCaller, WaitingViewerCaller
from weir_backend.kit.dependencies import ServicesDep, SessionDep
from weir_backend.kit.listing import BIGINT_MAX, ListingDep, page
from weir_backend.kit.notifications import job_key
from weir_backend.kit.problems import answers
from weir_backend.kit.schemas import Id
from weir_backend.kit.waiting import WaitParam, read_until, wait_s
from weir_backend.models import Operation
from weir_backend.operations import repository, service
from weir_backend.operations.schemas import ProfileRead

router = APIRouter(prefix="/operations", tags=["operations"], responses=answers(401, 403, 422))
ACCEPTED: dict[str, Any] = {"response_model": OperationRead, "status_code": 202, "responses": answers(404, 409)}
"""Options of routes that begin an operation on a job."""


@router.get("", operation_id="list_operations", response_model=list[OperationRead])
def list_(session: SessionDep, wanted: ListingDep, response: Response, _: ViewerCaller) -> Sequence[Operation]:
    """List operations, newest first. Filters: `id`, `job_id`, `kind`."""
    return page(session, select(Operation), wanted, repository.FIELDS, response, unit="operations")


@router.get("/{operation_id}", operation_id="get_operation", response_model=OperationRead, responses=answers(404))
async def get(
    request: Request,
    services: ServicesDep,
    operation_id: Id,
    caller: WaitingViewerCaller,
    wait: WaitParam = "0s",
    after_steps: Annotated[
        int | None,
        Query(
            ge=0,
            le=BIGINT_MAX,
            description="The number of steps that the client has. The wait also ends when there are more steps.",
        ),
    ] = None,
) -> Operation:
    """Return one operation, with its steps so far. The operation has ended when `ended_at` is set. With `wait`, the API responds when the operation
    ends, or after the time `wait` if the operation has not ended."""
    read = partial(service.get, operation_id=operation_id)
    found = await services.db_gate.run(read)

    def is_done(operation: Operation) -> bool:
        return operation.ended_at is not None or (after_steps is not None and len(operation.steps) > after_steps)

    if is_done(found):
        return found
    return await read_until(request, services, job_key(found.job_id), read, is_done, wait_s=wait_s(wait), caller=caller)


@router.get("/{operation_id}/profile", operation_id="get_profile", response_model=ProfileRead, responses=answers(404))
def get_profile(session: SessionDep, operation_id: Id, _: ViewerCaller) -> dict[str, Any]:
    """Return the profile that an operation of the kind `profile` has taken. Weir keeps the 20 newest profiles of each job."""
    return service.profile_of(session, operation_id)
