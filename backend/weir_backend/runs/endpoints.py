"""Runs of all jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response

from weir_backend.kit.access import Viewer
from weir_backend.kit.listing import BIGINT_MAX, Listing, listing
from weir_backend.kit.problems import answers
from weir_backend.kit.requests import SessionDep
from weir_backend.runs import reading
from weir_backend.runs.schemas import GraphBody, RunBody

router = APIRouter(prefix="/runs", tags=["runs"])
RunId = Annotated[int, Path(ge=1, le=BIGINT_MAX)]


@router.get("", operation_id="list_runs", responses=answers(401, 403, 422))
def list_runs(
    caller: Viewer, session: SessionDep, response: Response, wanted: Annotated[Listing, Depends(listing)]
) -> Sequence[RunBody]:
    """Runs with their generations. Filters: `job_id`, `state` (as the run told it last: one of which nothing is heard is shown as RECONCILING)."""
    return reading.list_runs(session, wanted, response)


@router.get("/{run_id}", operation_id="get_run", responses=answers(401, 403, 404, 422))
def get_run(caller: Viewer, session: SessionDep, run_id: RunId) -> RunBody:
    """One run."""
    return reading.shown_run(session, run_id)


@router.get("/{run_id}/graph", operation_id="get_run_graph", response_model=GraphBody, responses=answers(401, 403, 404, 422))
def get_run_graph(caller: Viewer, session: SessionDep, run_id: RunId) -> GraphBody:
    """What the run deployed last: the physical graph, with the logical one in it."""
    return reading.graph(session, run_id)
