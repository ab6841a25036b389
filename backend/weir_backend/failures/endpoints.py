"""What went wrong in a job, and what recovery did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response

from weir_backend.failures import service
from weir_backend.failures.schemas import FailureBody
from weir_backend.kit.access import Viewer
from weir_backend.kit.listing import BIGINT_MAX, Listing, listing
from weir_backend.kit.problems import answers
from weir_backend.kit.requests import SessionDep
from weir_backend.models import Failure

router = APIRouter(tags=["failures"])


@router.get(
    "/jobs/{job_id}/failures",
    operation_id="list_failures",
    response_model=list[FailureBody],
    responses=answers(401, 403, 404, 422),
)
def list_failures(
    caller: Viewer,
    session: SessionDep,
    response: Response,
    job_id: Annotated[int, Path(ge=1, le=BIGINT_MAX)],
    wanted: Annotated[Listing, Depends(listing)],
) -> Sequence[Failure]:
    """The history of exceptions of a job, newest first. Filters: `run_id`, `kind`, `recovery`."""
    return service.list_failures(session, job_id, wanted, response)
