"""Metrics: time series, current rates, and Prometheus."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import AwareDatetime, Field

from weir_backend.kit.access import ViewerCaller
from weir_backend.kit.dependencies import SessionDep
from weir_backend.kit.listing import BIGINT_MAX
from weir_backend.kit.problems import answers
from weir_backend.kit.schemas import Id
from weir_backend.metrics import service
from weir_backend.metrics.schemas import JobRatesRead, MetricsRead

router = APIRouter(tags=["metrics"])
root = APIRouter(tags=["metrics"])
"""The router of the Prometheus endpoint, whose path does not contain the prefix of the API."""
JOBS_MAX = 200
"""The largest number of jobs in a request for rates."""


@router.get(
    "/jobs/{job_id}/metrics", operation_id="get_job_metrics", response_model=MetricsRead, responses=answers(401, 403, 404, 422)
)
def get_job_metrics(
    caller: ViewerCaller,
    session: SessionDep,
    job_id: Id,
    since: Annotated[AwareDatetime | None, Query(description="With a time zone. Default: 15 minutes ago.")] = None,
    step_s: Annotated[float, Query(ge=1, le=86_400, allow_inf_nan=False, description="The interval between points.")] = 10.0,
    chain: Annotated[int | None, Query(ge=0, le=100_000, description="Return only the subtasks of this chain.")] = None,
) -> Response:
    """Get time series of each subtask and slot: throughput, time per activity, memory, gauges."""
    found = service.job_metrics(session, job_id, since=since, step_s=step_s, chain=chain)
    # Serialise the series here, so that FastAPI does not validate the numbers again. For a hundred thousand numbers, the validation would
    # take longer than the computation.
    return Response(found.model_dump_json(), media_type="application/json")


@router.get("/metrics/jobs", operation_id="get_job_rates", responses=answers(401, 403, 422))
def get_job_rates(
    caller: ViewerCaller,
    session: SessionDep,
    job_id: Annotated[
        list[Annotated[int, Field(ge=1, le=BIGINT_MAX)]],
        Query(max_length=JOBS_MAX, description=f"The jobs to include. Default: the first {JOBS_MAX} running jobs by id."),
    ] = [],  # noqa: B006  # FastAPI copies it
) -> list[JobRatesRead]:
    """Get the current throughput, lag and backpressure of jobs. Jobs without a sample in the last 30 s are omitted."""
    return service.job_rates(session, set(job_id), jobs_max=JOBS_MAX)


@root.get(
    "/metrics",
    operation_id="get_metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **answers(401, 403)},
)
def get_metrics(caller: ViewerCaller, session: SessionDep) -> Response:
    """Get metrics of all jobs in the Prometheus format. Requires a token with the permission to view."""
    return Response(service.exposition(session), media_type=CONTENT_TYPE_LATEST)
