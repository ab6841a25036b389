"""Endpoints of checkpoints and savepoints."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from weir_backend.checkpoints import retention_gc, service, verification
from weir_backend.checkpoints.schemas import (
    CheckpointDetailRead,
    CheckpointOverviewRead,
    CheckpointRead,
    CheckpointSeriesRead,
    CheckpointUpdate,
)
from weir_backend.kit.access import OperatorCaller, ViewerCaller
from weir_backend.kit.dependencies import ServicesDep, SessionDep, TasksDep
from weir_backend.kit.etags import IfMatch, set_etag
from weir_backend.kit.idempotency import Idempotent, IdempotentRoute
from weir_backend.kit.listing import BIGINT_MAX, ListingDep
from weir_backend.kit.problems import answers
from weir_backend.kit.schemas import Id
from weir_backend.models import Operation
from weir_backend.operations.endpoints import ACCEPTED

router = APIRouter(tags=["checkpoints"], route_class=IdempotentRoute, responses=answers(401, 403, 422))
CheckpointKey = Annotated[int, Path(ge=1, le=BIGINT_MAX, description="The id of the checkpoint, not its number in the job")]


@router.get("/checkpoints", operation_id="list_checkpoints")
def list_checkpoints(
    caller: ViewerCaller, session: SessionDep, services: ServicesDep, response: Response, wanted: ListingDep
) -> list[CheckpointRead]:
    """List checkpoints and savepoints. Filters: `job_id`, `run_id`, `number`, `state`, `trigger`, `is_savepoint`, `pinned`, `kept`. A checkpoint is
    `kept` if it is completed and its files exist."""
    return service.list_checkpoints(session, services.settings, caller, wanted, response)


@router.get("/checkpoints/{checkpoint_id}", operation_id="get_checkpoint", responses=answers(404))
def get_checkpoint(
    caller: ViewerCaller, session: SessionDep, services: ServicesDep, response: Response, checkpoint_id: CheckpointKey
) -> CheckpointDetailRead:
    """Return one checkpoint with the statistics of its subtasks. The ETag changes when the pin changes."""
    found = service.detail(session, services.settings, caller, checkpoint_id)
    set_etag(response, found.version)
    return found


@router.patch("/checkpoints/{checkpoint_id}", operation_id="pin_checkpoint", responses=answers(404, 409, 412, 428))
def pin_checkpoint(
    caller: OperatorCaller,
    session: SessionDep,
    services: ServicesDep,
    tasks: TasksDep,
    response: Response,
    checkpoint_id: CheckpointKey,
    wanted: CheckpointUpdate,
    seen: IfMatch,
) -> CheckpointRead:
    """Pin a checkpoint for the caller, or release the pin of the caller. Pins of other holders remain. A worker writes the pin to the job log within
    about a second and sets `pin_in_force` to true. Until `pin_in_force` is true, a running driver can still retire the checkpoint."""
    found = service.pin(session, tasks, caller, checkpoint_id, seen, wanted)
    set_etag(response, found.version)
    return service.read_checkpoint(session, services.settings, caller, found)


@router.get("/jobs/{job_id}/checkpoints/summary", operation_id="get_checkpoint_summary", responses=answers(404))
def get_checkpoint_summary(
    caller: ViewerCaller,
    session: SessionDep,
    services: ServicesDep,
    job_id: Id,
    last: Annotated[int, Query(ge=1, le=10_000, description="Number of completed checkpoints to summarize")] = 100,
) -> CheckpointOverviewRead:
    """Return counts of all checkpoints, summaries of the last completed checkpoints, and the newest checkpoint of each kind."""
    return service.summary(session, services.settings, caller, job_id, last)


@router.get("/jobs/{job_id}/checkpoints/series", operation_id="get_checkpoint_series", responses=answers(404))
def get_checkpoint_series(
    caller: ViewerCaller,
    session: SessionDep,
    job_id: Id,
    last: Annotated[int, Query(ge=1, le=500, description="Number of completed checkpoints to return")] = 100,
    chain: Annotated[
        int | None,
        Query(
            ge=0,
            le=100_000,
            description="Return the `phases` of each subtask of this chain instead of the `phases` of each chain",
        ),
    ] = None,
    phases: Annotated[bool, Query(description="If false, omit `phases`, which is long for a large job")] = True,
) -> CheckpointSeriesRead:
    """Return the last completed checkpoints, oldest first, with duration and sizes. `phases` contains the start delay, alignment and snapshot times
    of each chain, or of each subtask of `chain` if this parameter is set."""
    return service.series(session, job_id, last, chain, with_phases=phases)


@router.post("/jobs/{job_id}/checkpoints/{number}/verify", operation_id="verify_checkpoint", **ACCEPTED)
def verify(job_id: Id, number: Id, session: SessionDep, tasks: TasksDep, caller: OperatorCaller, _once: Idempotent) -> Operation:
    """Read all files of a checkpoint (`number` in the job log) and compare them with their checksums. The result of the operation contains `intact`,
    which is false if a file is damaged or missing. The field `damage` of the checkpoint describes the damage. Workers also verify all checkpoints
    periodically."""
    return verification.verify(session, tasks, caller, job_id, number)


@router.delete("/jobs/{job_id}/checkpoints/{number}", operation_id="delete_checkpoint", **ACCEPTED)
def delete(
    job_id: Id, number: Id, session: SessionDep, services: ServicesDep, tasks: TasksDep, caller: OperatorCaller
) -> Operation:
    """Delete a checkpoint or savepoint (`number` in the job log) of a job that is not running. The API refuses to delete a checkpoint that is pinned,
    that a plan needs, or from which the job resumes. If the checkpoint is a savepoint, the caller needs the permission `rollback`. A repeated request
    returns the same operation."""
    return retention_gc.delete(session, services.settings, tasks, caller, job_id, number)
