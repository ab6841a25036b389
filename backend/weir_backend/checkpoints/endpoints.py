"""Checkpoints and savepoints of all jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response

from weir_backend.checkpoints import service
from weir_backend.checkpoints.schemas import (
    CheckpointBody,
    CheckpointDetailBody,
    CheckpointPatch,
    CheckpointSeriesBody,
    JobSummaryBody,
)
from weir_backend.kit.access import Operator, Viewer
from weir_backend.kit.listing import BIGINT_MAX, Listing, listing
from weir_backend.kit.problems import answers
from weir_backend.kit.requests import SessionDep, TasksDep
from weir_backend.kit.versions import etag, if_match
from weir_backend.models import Checkpoint

router = APIRouter(tags=["checkpoints"])
CheckpointKey = Annotated[int, Path(ge=1, le=BIGINT_MAX, description="the id in the list, not the number in the job")]


@router.get(
    "/checkpoints", operation_id="list_checkpoints", response_model=list[CheckpointBody], responses=answers(401, 403, 422)
)
def list_checkpoints(
    caller: Viewer, session: SessionDep, response: Response, wanted: Annotated[Listing, Depends(listing)]
) -> Sequence[Checkpoint]:
    """Checkpoints and savepoints. Filters: `job_id`, `run_id`, `number`, `state`, `trigger`, `is_savepoint`, `pinned`,
    `kept` (completed, and its files are there)."""
    return service.list_checkpoints(session, wanted, response)


@router.get(
    "/checkpoints/{checkpoint_id}",
    operation_id="get_checkpoint",
    response_model=CheckpointDetailBody,
    responses=answers(401, 403, 404, 422),
)
def get_checkpoint(caller: Viewer, session: SessionDep, response: Response, checkpoint_id: CheckpointKey) -> CheckpointDetailBody:
    """One checkpoint, with what each subtask measured and who was slow. The ETag is that of its pin."""
    found = service.detail(session, checkpoint_id)
    etag(response, found.version)
    return found


@router.patch(
    "/checkpoints/{checkpoint_id}",
    operation_id="pin_checkpoint",
    response_model=CheckpointBody,
    responses=answers(401, 403, 404, 409, 412, 422, 428),
)
def pin_checkpoint(
    caller: Operator,
    session: SessionDep,
    tasks: TasksDep,
    response: Response,
    checkpoint_id: CheckpointKey,
    wanted: CheckpointPatch,
    seen: Annotated[str | None, Depends(if_match)],
) -> Checkpoint:
    """Pin a checkpoint, so that it is kept however old it gets; or let go of it. A worker writes it into the job's log: from then on,
    as `pin_in_force` says, a driver that runs keeps it, too. Until then the driver may retire it."""
    found = service.pin(session, tasks, caller, checkpoint_id, seen, wanted)
    etag(response, found.version)
    return found


@router.get(
    "/jobs/{job_id}/checkpoints/summary",
    operation_id="get_checkpoint_summary",
    response_model=JobSummaryBody,
    responses=answers(401, 403, 404, 422),
)
def get_checkpoint_summary(
    caller: Viewer,
    session: SessionDep,
    job_id: Annotated[int, Path(ge=1, le=BIGINT_MAX)],
    last: Annotated[int, Query(ge=1, le=10_000, description="over how many completed ones")] = 100,
) -> JobSummaryBody:
    """How many there are, how long the last ones took, and the newest of each kind."""
    return service.summary(session, job_id, last)


@router.get(
    "/jobs/{job_id}/checkpoints/series",
    operation_id="get_checkpoint_series",
    response_model=CheckpointSeriesBody,
    responses=answers(401, 403, 404, 422),
)
def get_checkpoint_series(
    caller: Viewer,
    session: SessionDep,
    job_id: Annotated[int, Path(ge=1, le=BIGINT_MAX)],
    last: Annotated[int, Query(ge=1, le=500, description="over how many completed ones")] = 100,
    chain: Annotated[int | None, Query(ge=0, le=100_000, description="`parts` are the subtasks of this one, not chains")] = None,
    parts: Annotated[bool, Query(description="false: only how they went in all, as parts of a large job are many")] = True,
) -> CheckpointSeriesBody:
    """How the last completed ones went, oldest first, in all and by part of the job: which chain, and with `chain` which subtask, took how long
    to be reached by barriers, to align them, and for its snapshot."""
    return service.series(session, job_id, last, chain, with_parts=parts)
