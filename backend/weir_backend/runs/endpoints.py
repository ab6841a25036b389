"""Endpoints of runs, their failures, graphs and logs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Response

from weir_backend.kit.access import ViewerCaller
from weir_backend.kit.dependencies import ServicesDep, SessionDep
from weir_backend.kit.listing import BIGINT_MAX, ListingDep
from weir_backend.kit.problems import answers
from weir_backend.kit.schemas import Id
from weir_backend.models import Failure
from weir_backend.runs import driver_log, service
from weir_backend.runs.schemas import FailureRead, GraphRead, RunRead

router = APIRouter(tags=["runs"])


@router.get("/runs", operation_id="list_runs", responses=answers(401, 403, 422))
def list_runs(caller: ViewerCaller, session: SessionDep, response: Response, wanted: ListingDep) -> Sequence[RunRead]:
    """List runs, newest first. Filters: `id`, `job_id`, `state`. The filter `state` compares its value with the state that the driver of a run
    last reported. For an unreachable run, the response contains the state RECONCILING instead of the reported state. Therefore, the filter
    `state=RECONCILING` matches no run."""
    return service.list_runs(session, wanted, response)


@router.get("/runs/{run_id}", operation_id="get_run", responses=answers(401, 403, 404, 422))
def get_run(caller: ViewerCaller, session: SessionDep, run_id: Id) -> RunRead:
    """Return one run."""
    return service.read_run(session, run_id)


@router.get("/runs/{run_id}/graph", operation_id="get_run_graph", responses=answers(401, 403, 404, 422))
def get_run_graph(caller: ViewerCaller, session: SessionDep, run_id: Id) -> GraphRead:
    """Return the physical graph that the run deployed last. A physical graph contains the logical graph."""
    return service.get_graph(session, run_id)


@router.get(
    "/jobs/{job_id}/failures",
    operation_id="list_failures",
    response_model=list[FailureRead],
    responses=answers(401, 403, 404, 422),
)
def list_failures(
    caller: ViewerCaller, session: SessionDep, response: Response, job_id: Id, wanted: ListingDep
) -> Sequence[Failure]:
    """List the failures of a job, newest first. Filters: `run_id`, `kind`, `recovery`."""
    return service.list_failures(session, job_id, wanted, response)


@router.get(
    "/runs/{run_id}/log",
    operation_id="read_log",
    response_class=Response,
    responses={
        **answers(401, 403, 404, 409, 410, 422),
        200: {
            "content": {"text/plain": {}},
            "headers": {
                "X-Log-Size": {"schema": {"type": "integer"}, "description": "Size of the log in bytes"},
                "X-Log-Next": {"schema": {"type": "integer"}, "description": "Offset of the next chunk"},
            },
        },
    },
)
def read_log(
    run_id: Id,
    session: SessionDep,
    services: ServicesDep,
    _: ViewerCaller,
    offset: Annotated[
        int,
        Query(ge=-BIGINT_MAX, le=BIGINT_MAX, description="Offset in bytes. A negative offset counts from the end of the log."),
    ] = 0,
) -> Response:
    """Return a chunk of the log of the driver, at most 256 KiB."""
    found = driver_log.read_chunk(session, services.settings.data_dir, run_id, offset)
    return Response(found.data, media_type="text/plain", headers={"X-Log-Size": str(found.size), "X-Log-Next": str(found.next)})
