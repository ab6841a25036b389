"""Numbers over time."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import AwareDatetime, Field

from weir_backend.kit.access import Viewer
from weir_backend.kit.listing import BIGINT_MAX
from weir_backend.kit.problems import answers
from weir_backend.kit.requests import SessionDep
from weir_backend.metrics import service
from weir_backend.metrics.schemas import JobRatesBody, MetricsBody

router = APIRouter(tags=["metrics"])
root = APIRouter(tags=["metrics"])
"""Where Prometheus looks: without the prefix of the API."""
JOBS_MAX = 200
"""In one question for rates: as many as a page of a list may reasonably show."""


@router.get(
    "/jobs/{job_id}/metrics", operation_id="get_job_metrics", response_model=MetricsBody, responses=answers(401, 403, 404, 422)
)
def get_job_metrics(
    caller: Viewer,
    session: SessionDep,
    job_id: Annotated[int, Path(ge=1, le=BIGINT_MAX)],
    since: Annotated[AwareDatetime | None, Query(description="with a time zone; 15 minutes ago if not given")] = None,
    step_s: Annotated[float, Query(ge=1, le=86_400, allow_inf_nan=False, description="distance of the points")] = 10.0,
    chain: Annotated[int | None, Query(ge=0, le=100_000, description="of its subtasks only: a large job has many")] = None,
) -> Response:
    """Throughput, use of time and memory of each subtask and slot, as series."""
    found = service.job_metrics(session, job_id, since=since, step_s=step_s, chain=chain)
    # As it is: to have a hundred thousand numbers checked once more, and turned into JSON by way of Python, takes longer than all before.
    return Response(found.model_dump_json(), media_type="application/json")


@router.get("/metrics/jobs", operation_id="get_job_rates", response_model=list[JobRatesBody], responses=answers(401, 403, 422))
def get_job_rates(
    caller: Viewer,
    session: SessionDep,
    job_id: Annotated[
        list[Annotated[int, Field(ge=1, le=BIGINT_MAX)]],
        Query(max_length=JOBS_MAX, description=f"of which jobs; of the first {JOBS_MAX} that run if not given"),
    ] = [],  # noqa: B006  # FastAPI copies it
) -> list[JobRatesBody]:
    """What jobs do just now: throughput, lag, backpressure. Jobs that do not run, or have not told anything for half a minute, are left out."""
    return service.job_rates(session, set(job_id), jobs_max=JOBS_MAX)


@root.get(
    "/metrics",
    operation_id="get_metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **answers(401, 403)},
)
def get_metrics(caller: Viewer, session: SessionDep) -> Response:
    """All jobs, for Prometheus. It needs a token that may view."""
    return Response(service.exposition(session), media_type=CONTENT_TYPE_LATEST)
