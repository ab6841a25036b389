"""Having a checkpoint verified now."""

from __future__ import annotations

from fastapi import APIRouter

from weir_backend.jobs.schemas import OperationShown
from weir_backend.kit.access import Operator
from weir_backend.kit.forms import Id
from weir_backend.kit.idempotency import Idempotent, IdempotentRoute
from weir_backend.kit.problems import answers
from weir_backend.kit.requests import SessionDep, TasksDep
from weir_backend.models import Operation
from weir_backend.verification import service

router = APIRouter(tags=["checkpoints"], route_class=IdempotentRoute, responses=answers(401, 403, 422))


@router.post(
    "/jobs/{job_id}/checkpoints/{number}/verify",
    operation_id="verify_checkpoint",
    response_model=OperationShown,
    status_code=202,
    responses=answers(404, 409),
)
def verify(job_id: Id, number: Id, session: SessionDep, tasks: TasksDep, caller: Operator, _once: Idempotent) -> Operation:
    """Read all files of a checkpoint (`number`: its id in the job's log) and compare them with what was written. The operation's result says
    whether it is `whole`, and the checkpoint what its `damage` is. It is also done from time to time by itself."""
    return service.verify(session, tasks, caller, job_id, number)
