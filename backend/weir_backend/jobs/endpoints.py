"""``/jobs``: jobs, their specs and their actions."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter, Response

from weir_backend.errors import NotFound, or_raise
from weir_backend.jobs import repository, service
from weir_backend.jobs.schemas import (
    JobCreate,
    JobRead,
    JobStart,
    JobUpdate,
    ProfileCreate,
    SpecCreate,
    SpecDiffRead,
    SpecGraphRead,
    SpecRead,
)
from weir_backend.jobs.serializers import read_job, read_jobs
from weir_backend.kit.access import OperatorCaller, ViewerCaller
from weir_backend.kit.dependencies import SessionDep, TasksDep
from weir_backend.kit.etags import IfMatch, set_etag
from weir_backend.kit.idempotency import Idempotent, IdempotentRoute
from weir_backend.kit.listing import ListingDep, page
from weir_backend.kit.problems import answers
from weir_backend.kit.schemas import Id
from weir_backend.models import Graph, Operation, Spec
from weir_backend.operations.endpoints import ACCEPTED

router = APIRouter(prefix="/jobs", tags=["jobs"], route_class=IdempotentRoute, responses=answers(401, 403, 422))


@router.get("", operation_id="list_jobs")
def list_(session: SessionDep, wanted: ListingDep, response: Response, caller: ViewerCaller) -> list[JobRead]:
    """List jobs with their newest run and last checkpoint. Filters: `id`, `name`, `q` (part of the name), `desired_state`, `labels` (an object:
    selects jobs that have all these labels), `needs_attention` (true selects jobs that only a user can bring to their desired state)."""
    return read_jobs(session, caller, page(session, repository.listed(), wanted, repository.FIELDS, response, unit="jobs"))


@router.post("", operation_id="create_job", status_code=201, responses=answers(409))
def create(
    draft: JobCreate, session: SessionDep, tasks: TasksDep, caller: OperatorCaller, _once: Idempotent, response: Response
) -> JobRead:
    """Deploy a job: compile its code, then start it. `operation` reports the progress."""
    job = service.create(session, tasks, caller, draft)
    set_etag(response, job.version)
    response.headers["Location"] = f"/api/v1/jobs/{job.id}"
    return read_job(session, caller, job)


@router.get("/{job_id}", operation_id="get_job", responses=answers(404))
def get(job_id: Id, session: SessionDep, response: Response, caller: ViewerCaller) -> JobRead:
    """Return one job."""
    job = service.get(session, job_id)
    set_etag(response, job.version)
    return read_job(session, caller, job)


@router.patch("/{job_id}", operation_id="update_job", responses=answers(404, 412, 428))
def change(
    job_id: Id, wanted: JobUpdate, session: SessionDep, caller: OperatorCaller, response: Response, seen: IfMatch
) -> JobRead:
    """Update the description and labels of a job. To change what the job runs, add a version to its spec."""
    job = service.change(session, caller, job_id, seen, wanted)
    set_etag(response, job.version)
    return read_job(session, caller, job)


@router.delete("/{job_id}", operation_id="delete_job", status_code=204, responses=answers(404, 409, 412, 428))
def delete(job_id: Id, session: SessionDep, caller: OperatorCaller, seen: IfMatch) -> None:
    """Delete a job that is not running. The checkpoints and the output of the job remain. After the deletion, Weir also deletes the logs of the
    job's runs."""
    service.delete(session, caller, job_id, seen)


@router.post("/{job_id}/start", operation_id="start_job", **ACCEPTED)
def start(
    job_id: Id,
    session: SessionDep,
    tasks: TasksDep,
    caller: OperatorCaller,
    _once: Idempotent,
    wanted: JobStart | None = None,
) -> Operation:
    """Start a job from its newest checkpoint, or without state if the job has no checkpoint. A failed job starts immediately, without waiting
    for its restart delay."""
    return service.start(session, tasks, caller, job_id, wanted or JobStart())


@router.post("/{job_id}/suspend", operation_id="suspend_job", **ACCEPTED)
def suspend(job_id: Id, session: SessionDep, tasks: TasksDep, caller: OperatorCaller, _once: Idempotent) -> Operation:
    """Take a last checkpoint of a job, then stop the job. When the job is started again, it resumes from this checkpoint."""
    return service.suspend(session, tasks, caller, job_id)


@router.post("/{job_id}/cancel", operation_id="cancel_job", **ACCEPTED)
def cancel(job_id: Id, session: SessionDep, tasks: TasksDep, caller: OperatorCaller, _once: Idempotent) -> Operation:
    """Stop a job immediately, without a last checkpoint. When the job is started again, it replays the input since its newest
    checkpoint."""
    return service.cancel(session, tasks, caller, job_id)


@router.post("/{job_id}/savepoints", operation_id="take_savepoint", **ACCEPTED)
def savepoint(job_id: Id, session: SessionDep, tasks: TasksDep, caller: OperatorCaller, _once: Idempotent) -> Operation:
    """Take a savepoint: a checkpoint that is kept until a user deletes it. The result of the operation contains the number of the
    savepoint."""
    return service.savepoint(session, tasks, caller, job_id)


@router.post("/{job_id}/checkpoints", operation_id="take_checkpoint", **ACCEPTED)
def checkpoint(job_id: Id, session: SessionDep, tasks: TasksDep, caller: OperatorCaller, _once: Idempotent) -> Operation:
    """Trigger a checkpoint now. The result of the operation contains the number of the checkpoint."""
    return service.checkpoint(session, tasks, caller, job_id)


@router.post("/{job_id}/profiles", operation_id="take_profile", **ACCEPTED)
def profile(
    job_id: Id, wanted: ProfileCreate, session: SessionDep, tasks: TasksDep, caller: OperatorCaller, _once: Idempotent
) -> Operation:
    """Take a profile of a slot: for `seconds` seconds, a sampling profiler counts which functions its threads run. The job continues. When
    the operation has succeeded, `GET /operations/{operation_id}/profile` returns the profile."""
    return service.profile(session, tasks, caller, job_id, wanted)


@router.get("/{job_id}/specs", operation_id="list_specs", response_model=list[SpecRead], responses=answers(404))
def specs(job_id: Id, session: SessionDep, wanted: ListingDep, response: Response, _: ViewerCaller) -> Sequence[Spec]:
    """List the versions of the spec of a job, newest first."""
    service.get(session, job_id)
    return page(session, repository.specs_of(job_id), wanted, repository.SPEC_FIELDS, response, unit="specs")


@router.post(
    "/{job_id}/specs", operation_id="add_spec", response_model=SpecRead, status_code=201, responses=answers(404, 409, 412, 428)
)
def add_spec(
    job_id: Id, draft: SpecCreate, session: SessionDep, tasks: TasksDep, caller: OperatorCaller, _once: Idempotent, seen: IfMatch
) -> Spec:
    """Add a version to the spec of a job. A worker compiles the version immediately. To run the new version, apply an upgrade plan."""
    return service.add_spec(session, tasks, caller, job_id, seen, draft)


@router.get("/{job_id}/specs/{number}", operation_id="get_spec", response_model=SpecRead, responses=answers(404))
def get_spec(job_id: Id, number: Id, session: SessionDep, _: ViewerCaller) -> Spec:
    """Get a version of the spec of a job."""
    return service.spec(session, job_id, number)


@router.get("/{job_id}/specs/{before}/diff/{after}", operation_id="diff_specs", responses=answers(404))
def diff(job_id: Id, before: Id, after: Id, session: SessionDep, _: ViewerCaller) -> SpecDiffRead:
    """Compare two versions of the spec of a job: settings, code and operators."""
    return service.diff(session, job_id, before, after)


@router.get("/{job_id}/specs/{number}/graph", operation_id="get_spec_graph", response_model=SpecGraphRead, responses=answers(404))
def graph(job_id: Id, number: Id, session: SessionDep, _: ViewerCaller) -> Graph:
    """Get the logical and physical graph of a version of the spec of a job."""
    spec = service.spec(session, job_id, number)
    problem = f"Version {number} has no graph: its state is {spec.state.value}."
    missing = NotFound("no-graph", problem, spec.problem or "Retry soon.")
    return or_raise(session.get(Graph, spec.graph_id) if spec.graph_id is not None else None, missing)
