"""Deleting a chosen checkpoint."""

from __future__ import annotations

from fastapi import APIRouter

from weir_backend.jobs.schemas import OperationShown
from weir_backend.kit.access import Operator
from weir_backend.kit.forms import Id
from weir_backend.kit.problems import answers
from weir_backend.kit.requests import ServicesDep, SessionDep, TasksDep
from weir_backend.models import Operation
from weir_backend.retention import service

router = APIRouter(tags=["checkpoints"], responses=answers(401, 403, 422))


@router.delete(
    "/jobs/{job_id}/checkpoints/{number}",
    operation_id="delete_checkpoint",
    response_model=OperationShown,
    status_code=202,
    responses=answers(404, 409),
)
def delete(job_id: Id, number: Id, session: SessionDep, services: ServicesDep, tasks: TasksDep, caller: Operator) -> Operation:
    """Delete a checkpoint or savepoint (`number`: its id in the job's log) of a job that does not run. Refused for one that is pinned, that a
    plan refers to, or that the job would go on with. Asked for again while it is under way, the same operation is answered."""
    return service.delete(session, services.settings, tasks, caller, job_id, number)
