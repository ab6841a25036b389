"""Jobs: what is to run, and the verbs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Response

from weir_backend.errors import NotFound
from weir_backend.jobs import repository, service
from weir_backend.jobs.schemas import GraphShown, JobChange, JobDraft, JobShown, OperationShown, SpecDiff, SpecDraft, SpecShown
from weir_backend.jobs.views import show, show_one
from weir_backend.kit.access import Operator, Viewer
from weir_backend.kit.forms import Id
from weir_backend.kit.idempotency import Idempotent, IdempotentRoute
from weir_backend.kit.listing import Listing, listing, page
from weir_backend.kit.problems import answers
from weir_backend.kit.requests import SessionDep, TasksDep
from weir_backend.kit.versions import etag, if_match
from weir_backend.models import Graph, Operation, Spec

router = APIRouter(prefix="/jobs", tags=["jobs"], route_class=IdempotentRoute, responses=answers(401, 403, 422))
IfMatch = Annotated[str | None, Depends(if_match)]


@router.get("", operation_id="list_jobs", response_model=list[JobShown])
def list_(session: SessionDep, wanted: Annotated[Listing, Depends(listing)], response: Response, _: Viewer) -> list[JobShown]:
    """All jobs, with their newest run and their last checkpoint. Filters: id, name, q (part of the name), desired_state, needs_person (true: nothing
    goes on with it until somebody has looked)."""
    return show(session, page(session, repository.listed(), wanted, repository.FIELDS, response, unit="jobs"))


@router.post("", operation_id="create_job", response_model=JobShown, status_code=201, responses=answers(409))
def create(
    draft: JobDraft, session: SessionDep, tasks: TasksDep, caller: Operator, _once: Idempotent, response: Response
) -> JobShown:
    """Deploy a job: its code is compiled, then it is started. `operation` tells how far that is."""
    job = service.create(session, tasks, caller, draft)
    etag(response, job.version)
    response.headers["Location"] = f"/api/v1/jobs/{job.id}"
    return show_one(session, job)


@router.get("/{job_id}", operation_id="get_job", response_model=JobShown, responses=answers(404))
def get(job_id: Id, session: SessionDep, response: Response, _: Viewer) -> JobShown:
    """One job."""
    job = service.get(session, job_id)
    etag(response, job.version)
    return show_one(session, job)


@router.patch("/{job_id}", operation_id="update_job", response_model=JobShown, responses=answers(404, 412, 428))
def change(job_id: Id, wanted: JobChange, session: SessionDep, caller: Operator, response: Response, seen: IfMatch) -> JobShown:
    """Change what is said about a job. What it runs is changed by a new version of its spec."""
    job = service.change(session, caller, job_id, seen, wanted)
    etag(response, job.version)
    return show_one(session, job)


@router.delete("/{job_id}", operation_id="delete_job", status_code=204, responses=answers(404, 409, 412, 428))
def delete(job_id: Id, session: SessionDep, caller: Operator, seen: IfMatch) -> None:
    """Forget a job that does not run. Its checkpoints and its output stay where they are; the logs of its runs are removed soon."""
    service.delete(session, caller, job_id, seen)


@router.post(
    "/{job_id}/start", operation_id="start_job", response_model=OperationShown, status_code=202, responses=answers(404, 409)
)
def start(job_id: Id, session: SessionDep, tasks: TasksDep, caller: Operator, _once: Idempotent) -> Operation:
    """Run it, from its newest checkpoint if there is one. Also ends the waiting of a job that has failed."""
    return service.start(session, tasks, caller, job_id)


@router.post(
    "/{job_id}/suspend", operation_id="suspend_job", response_model=OperationShown, status_code=202, responses=answers(404, 409)
)
def suspend(job_id: Id, session: SessionDep, tasks: TasksDep, caller: Operator, _once: Idempotent) -> Operation:
    """Stop it with a last checkpoint, from which it goes on when it is started."""
    return service.suspend(session, tasks, caller, job_id)


@router.post(
    "/{job_id}/cancel", operation_id="cancel_job", response_model=OperationShown, status_code=202, responses=answers(404, 409)
)
def cancel(job_id: Id, session: SessionDep, tasks: TasksDep, caller: Operator, _once: Idempotent) -> Operation:
    """Stop it at once, without a last checkpoint: started again, it repeats what came after the newest one."""
    return service.cancel(session, tasks, caller, job_id)


@router.post(
    "/{job_id}/savepoints",
    operation_id="take_savepoint",
    response_model=OperationShown,
    status_code=202,
    responses=answers(404, 409),
)
def savepoint(job_id: Id, session: SessionDep, tasks: TasksDep, caller: Operator, _once: Idempotent) -> Operation:
    """Take a checkpoint that is kept until somebody deletes it. The operation's result has its number."""
    return service.savepoint(session, tasks, caller, job_id)


@router.post(
    "/{job_id}/checkpoints",
    operation_id="take_checkpoint",
    response_model=OperationShown,
    status_code=202,
    responses=answers(404, 409),
)
def checkpoint(job_id: Id, session: SessionDep, tasks: TasksDep, caller: Operator, _once: Idempotent) -> Operation:
    """Take a checkpoint now, not when the next one is due. The operation's result has its number."""
    return service.checkpoint(session, tasks, caller, job_id)


@router.get("/{job_id}/specs", operation_id="list_specs", response_model=list[SpecShown], responses=answers(404))
def specs(
    job_id: Id, session: SessionDep, wanted: Annotated[Listing, Depends(listing)], response: Response, _: Viewer
) -> Sequence[Spec]:
    """All versions of a job's spec, newest first."""
    service.get(session, job_id)
    return page(session, repository.specs_of(job_id), wanted, repository.SPEC_FIELDS, response, unit="specs")


@router.post(
    "/{job_id}/specs", operation_id="add_spec", response_model=SpecShown, status_code=201, responses=answers(404, 409, 412, 428)
)
def add_spec(
    job_id: Id, draft: SpecDraft, session: SessionDep, tasks: TasksDep, caller: Operator, _once: Idempotent, seen: IfMatch
) -> Spec:
    """A new version. It is compiled at once, and runs once an upgrade to it is applied."""
    return service.add_spec(session, tasks, caller, job_id, seen, draft)


@router.get("/{job_id}/specs/{number}", operation_id="get_spec", response_model=SpecShown, responses=answers(404))
def get_spec(job_id: Id, number: Id, session: SessionDep, _: Viewer) -> Spec:
    """One version."""
    return service.spec(session, job_id, number)


@router.get("/{job_id}/specs/{before}/diff/{after}", operation_id="diff_specs", response_model=SpecDiff, responses=answers(404))
def diff(job_id: Id, before: Id, after: Id, session: SessionDep, _: Viewer) -> SpecDiff:
    """What differs between two versions: settings, code, operators."""
    return service.diff(session, job_id, before, after)


@router.get("/{job_id}/specs/{number}/graph", operation_id="get_spec_graph", response_model=GraphShown, responses=answers(404))
def graph(job_id: Id, number: Id, session: SessionDep, _: Viewer) -> Graph:
    """The graph that the code of this version makes: logical and physical."""
    spec = service.spec(session, job_id, number)
    found = repository.find_graph(session, spec.graph_id) if spec.graph_id is not None else None
    if found is None:
        raise NotFound("no-graph", f"version {number} has no graph: it is {spec.state.value}", spec.problem or "try again soon")
    return found
