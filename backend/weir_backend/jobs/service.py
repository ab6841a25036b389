"""Change jobs. Each function that changes a job locks the job and stores the change. Workers then reconcile the job."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from weir_backend.actions.rules import JobActionFacts, enforce, job_refusal
from weir_backend.actions.schemas import Verb
from weir_backend.artifacts import repository as artifacts
from weir_backend.errors import Conflict, Invalid, NotFound, or_raise
from weir_backend.jobs import repository
from weir_backend.jobs.diff import changes, code_diff, operators
from weir_backend.jobs.event_log import record_event
from weir_backend.jobs.schemas import JobCreate, JobStart, JobUpdate, ProfileCreate, SpecCreate, SpecDiffRead
from weir_backend.jobs.spec import JobSpec, with_defaults
from weir_backend.kit.access import Caller, Permission
from weir_backend.kit.audit import audit
from weir_backend.kit.clock import now
from weir_backend.kit.etags import check_if_match
from weir_backend.kit.jsonb import clean_text
from weir_backend.kit.tasks import COMPILE, INSPECT, RECONCILE, Tasks, enqueue_after_commit
from weir_backend.link import commands
from weir_backend.models import (
    Artifact,
    DesiredState,
    Graph,
    Job,
    Operation,
    OperationKind,
    OperationState,
    Run,
    RunState,
    Spec,
    SpecState,
)
from weir_backend.operations import repository as operation_rows
from weir_backend.operations import service as operations
from weir_backend.operations.lifecycle import OperationOutcome
from weir_backend.recovery import repository as plans
from weir_backend.runs import repository as runs


def create(session: Session, tasks: Tasks, caller: Caller, draft: JobCreate) -> Job:
    """Create a job with version 1 of its spec, and begin the operation ``deploy``. Raises Conflict, Invalid."""
    if repository.find_by_name(session, draft.name) is not None:
        raise _name_taken(draft.name)
    moment = now()
    job = Job(
        name=draft.name,
        description=draft.description,
        labels=dict(draft.labels),
        desired_state=DesiredState.RUNNING if draft.start else DesiredState.SUSPENDED,
        spec_number=1,
        version=1,
        run_number=0,
        event_number=0,
        restarts=0,
        lineage=1,
        created_by=caller.user_id,
        created_at=moment,
        updated_at=moment,
        next_reconcile_at=moment,
    )
    session.add(job)
    try:
        session.flush()
    except IntegrityError:
        raise _name_taken(draft.name) from None
    spec = _add_spec(session, tasks, caller, job, 1, draft.spec, draft.comment)
    operations.begin(session, job, OperationKind.DEPLOY, caller, {"spec": 1, "start": draft.start})
    record_event(session, job, "JobDeployed", spec=1, by=caller.name)
    audit(session, caller, "create", "job", job.id, after={"name": job.name, "spec": spec.body, "start": draft.start})
    return job


def _name_taken(name: str) -> Conflict:
    return Conflict("name-taken", f"A job named '{name}' already exists.", "Add a version to that job, or choose another name.")


def get(session: Session, job_id: int, *, lock: bool = False) -> Job:
    """Return a job. Raises NotFound."""
    return or_raise(repository.find(session, job_id, lock=lock), NotFound("no-job", f"Job {job_id} does not exist."))


def check_exists(session: Session, job_id: int) -> None:
    """Check that the job exists. Raises NotFound."""
    query = select(Job.id).where(Job.id == job_id, Job.deleted_at.is_(None))
    or_raise(session.scalar(query), NotFound("not-found", f"Job {job_id} does not exist."))


def change(session: Session, caller: Caller, job_id: int, seen: str | None, wanted: JobUpdate) -> Job:
    """Update the description and labels of a job. Raises NotFound, PreconditionFailed, PreconditionRequired."""
    job = get(session, job_id, lock=True)
    check_if_match(seen, job.version)
    before = {"description": job.description, "labels": job.labels}
    if wanted.description is not None:
        job.description = wanted.description
    if wanted.labels is not None:
        job.labels = dict(wanted.labels)
    touch(job)
    audit(session, caller, "update", "job", job.id, before=before, after={"description": job.description, "labels": job.labels})
    return job


def add_spec(session: Session, tasks: Tasks, caller: Caller, job_id: int, seen: str | None, draft: SpecCreate) -> Spec:
    """Add a version to the spec. The job runs the new version after an upgrade plan to this version is applied. Raises NotFound,
    PreconditionFailed, Invalid."""
    job = get(session, job_id, lock=True)
    check_if_match(seen, job.version)
    number = repository.newest_spec_number(session, job.id) + 1
    spec = _add_spec(session, tasks, caller, job, number, draft.spec, draft.comment)
    touch(job)
    record_event(session, job, "SpecAdded", spec=number, by=caller.name)
    audit(session, caller, "create", "spec", spec.id, after={"job": job.name, "number": number, "spec": spec.body})
    return spec


def artifact_of(session: Session, body: JobSpec) -> Artifact:
    """Return the artifact of the spec, and lock it against deletion. Raises Invalid."""
    problem = f"spec.artifact: no artifact has the digest {body.artifact}."
    missing = Invalid("no-artifact", problem, "Upload the file to /artifacts first.")
    return or_raise(artifacts.find_by_digest(session, body.artifact), missing)


def _add_spec(session: Session, tasks: Tasks, caller: Caller, job: Job, number: int, body: JobSpec, comment: str) -> Spec:
    artifact = artifact_of(session, body)
    spec = Spec(
        job_id=job.id,
        number=number,
        artifact_id=artifact.id,
        body=body.model_dump(mode="json"),
        state=SpecState.COMPILING,
        comment=comment,
        created_by=caller.user_id,
        created_at=now(),
    )
    session.add(spec)
    session.flush()
    enqueue_after_commit(session, tasks, COMPILE, spec.id)
    return spec


def compiled(session: Session, tasks: Tasks, spec: Spec, *, graph_id: int | None, problem: str | None) -> None:
    """Store the result of the compilation: ``graph_id``, or ``problem`` if the compilation failed. Repeated calls change nothing."""
    job = repository.find(session, spec.job_id, lock=True)
    session.refresh(spec)
    if job is None or spec.state is not SpecState.COMPILING:
        return
    assert (graph_id is None) != (problem is None)
    if graph_id is not None and (conflict := _directory_conflict(session, job, spec, graph_id)) is not None:
        graph_id, problem = None, conflict
    spec.state = SpecState.VALID if problem is None else SpecState.INVALID
    problem = clean_text(problem) if problem is not None else None  # the problem can contain output of user code
    spec.graph_id, spec.problem = graph_id, problem
    record_event(session, job, "SpecCompiled", spec=spec.number, state=spec.state.value, problem=problem)
    for plan in plans.waiting_for_spec(session, job.id, spec.number):
        enqueue_after_commit(session, tasks, INSPECT, plan.id)
    reconcile_soon(session, tasks, job)


def _directory_conflict(session: Session, job: Job, spec: Spec, graph_id: int) -> str | None:
    """Return why the job cannot use the checkpoint directory of its spec, or None. Default directories never conflict."""
    directory: str | None = spec.body.get("checkpointing", {}).get("directory")
    name = repository.name_of_graph(session, graph_id)
    if directory is None or name is None:
        return None
    other = repository.find_directory_user(session, job.id, directory, name)
    if other is None:
        return None
    return (
        f"The checkpoint directory {directory} with the name '{name}' already belongs to job '{other}'. Two jobs with the "
        "same name in Job(...) must not share a checkpoint directory. Set another checkpoint directory, or another name in Job(...)."
    )


def start(session: Session, tasks: Tasks, caller: Caller, job_id: int, wanted: JobStart) -> Operation:
    """Start a job. Raises NotFound and Forbidden. Raises Conflict if the job cannot start, or if ``wanted`` requires a new run but the live
    run continues."""
    if wanted.revoke_unknown_output:
        caller.require(Permission.ROLLBACK)
    job, run = _allowed(session, job_id, Verb.START)
    if wanted.revoke_unknown_output and operations.after_run(session, job, OperationKind.START) < job.run_number:
        reason = f"Run {job.run_number} of job '{job.name}' has not ended, and only a new run can revoke unknown output."
        raise Conflict("running", reason, "Suspend or cancel the job first.")
    before = job.desired_state
    job.desired_state = DesiredState.RUNNING
    job.restarts_stopped_reason, job.restart_at, job.restarts = None, None, 0
    if run is not None and run.state is RunState.FAILED:
        job.restart_at = now()  # do not wait for the restart delay
    return _set_desired_state(session, tasks, caller, job, OperationKind.START, before, wanted.model_dump(exclude_defaults=True))


def suspend(session: Session, tasks: Tasks, caller: Caller, job_id: int) -> Operation:
    """Take a last checkpoint of a job, then stop the job. Raises NotFound, Conflict."""
    job, _ = _allowed(session, job_id, Verb.SUSPEND)
    before, job.desired_state = job.desired_state, DesiredState.SUSPENDED
    return _set_desired_state(session, tasks, caller, job, OperationKind.SUSPEND, before)


def cancel(session: Session, tasks: Tasks, caller: Caller, job_id: int) -> Operation:
    """Stop a job without a last checkpoint. Raises NotFound, Conflict."""
    job, _ = _allowed(session, job_id, Verb.CANCEL)
    before, job.desired_state = job.desired_state, DesiredState.CANCELLED
    return _set_desired_state(session, tasks, caller, job, OperationKind.CANCEL, before)


def _allowed(session: Session, job_id: int, verb: Verb) -> tuple[Job, Run | None]:
    """Lock the job. Return the job and its newest run. Raises NotFound, and Conflict if the job does not allow ``verb``."""
    job = get(session, job_id, lock=True)
    run = runs.newest_run(session, job)
    refuse(session, job, run, verb)
    return job, run


def refuse(session: Session, job: Job, run: Run | None, verb: Verb) -> None:
    """Raise Conflict if the job does not allow ``verb``."""
    applying = plans.applying(session, job.id)
    current = repository.find_spec(session, job.id, job.spec_number)
    assert current is not None, f"job {job.id} has no version {job.spec_number}"
    plan_id = applying.id if applying is not None else None
    facts = JobActionFacts.of(job, run, applying=plan_id, spec=(current.state, current.problem))
    enforce(job_refusal(verb, facts), **({"plan": plan_id} if plan_id is not None else {}))


def _set_desired_state(
    session: Session,
    tasks: Tasks,
    caller: Caller,
    job: Job,
    kind: OperationKind,
    before: DesiredState,
    request: dict[str, Any] | None = None,
) -> Operation:
    touch(job)
    operation = operations.begin(session, job, kind, caller, request)
    record_event(session, job, "DesiredStateChanged", desired_state=job.desired_state.value, by=caller.name)
    audit(
        session, caller, kind.value, "job", job.id,
        before={"desired_state": before.value}, after={"desired_state": job.desired_state.value, **operation.request},
    )  # fmt: skip
    reconcile_soon(session, tasks, job)
    return operation


def savepoint(session: Session, tasks: Tasks, caller: Caller, job_id: int) -> Operation:
    """Request a savepoint. Raises NotFound, and Conflict if the job is not running."""
    return _take(session, tasks, caller, job_id, OperationKind.SAVEPOINT, "TakeSavepoint")


def checkpoint(session: Session, tasks: Tasks, caller: Caller, job_id: int) -> Operation:
    """Request a checkpoint. Raises NotFound, and Conflict if the job is not running."""
    return _take(session, tasks, caller, job_id, OperationKind.CHECKPOINT, "TakeCheckpoint")


def profile(session: Session, tasks: Tasks, caller: Caller, job_id: int, wanted: ProfileCreate) -> Operation:
    """Request a profile of a slot. Raises NotFound, and Conflict if the job is not running."""
    operation = _take(session, tasks, caller, job_id, OperationKind.PROFILE, "ProfileSlot", wanted.model_dump())
    operation_rows.delete_old_profiles(session, job_id, kept_max=operations.PROFILES_KEPT_MAX)
    return operation


def _take(
    session: Session,
    tasks: Tasks,
    caller: Caller,
    job_id: int,
    kind: OperationKind,
    command: str,
    fields: dict[str, Any] | None = None,
) -> Operation:
    """Send a command to the driver. ``fields`` are the fields of the command."""
    job, run = _allowed(session, job_id, Verb(kind.value))
    assert run is not None, "only a running job takes checkpoints and profiles"
    operation = operations.begin(session, job, kind, caller, fields)
    commands.send_command(session, run, command, fields, operation.id)
    operations.step(operation, f"sent the command to the driver of run {run.number}")
    audit(session, caller, kind.value, "job", job.id, after=fields)
    reconcile_soon(session, tasks, job)
    return operation


def delete(session: Session, caller: Caller, job_id: int, seen: str | None) -> None:
    """Delete a job that is not running. The checkpoints of the job remain in storage. Raises NotFound, Conflict, PreconditionFailed."""
    check_if_match(seen, get(session, job_id, lock=True).version)
    job, _ = _allowed(session, job_id, Verb.DELETE)
    job.deleted_at = now()
    job.next_reconcile_at = None
    for operation in operation_rows.open_of(session, job.id):
        operations.end(operation, OperationOutcome(OperationState.SUPERSEDED, problem="The job was deleted."))
    touch(job)
    record_event(session, job, "JobDeleted", by=caller.name)
    audit(session, caller, "delete", "job", job.id, before={"name": job.name})


def touch(job: Job) -> None:
    """Increase the version of the job after a change by a user or a plan."""
    job.version += 1
    job.updated_at = now()


def reconcile_soon(session: Session, tasks: Tasks, job: Job) -> None:
    """Have a worker reconcile the job soon. If the broker is unreachable, the next periodic task reconciles the job."""
    job.next_reconcile_at = now()
    enqueue_after_commit(session, tasks, RECONCILE, job.id)


def spec(session: Session, job_id: int, number: int) -> Spec:
    """Return a version of the spec. Raises NotFound."""
    job = get(session, job_id)
    return or_raise(
        repository.find_spec(session, job_id, number), NotFound("no-spec", f"Job '{job.name}' has no spec version {number}.")
    )


def diff(session: Session, job_id: int, before: int, after: int) -> SpecDiffRead:
    """Compare two versions of the spec. Raises NotFound."""
    old, new = spec(session, job_id, before), spec(session, job_id, after)
    graphs: list[dict[str, Any]] = [operators(_graph(session, one)) for one in (old, new)]
    contents = [artifacts.content(session, one.artifact_id) for one in (old, new)]
    return SpecDiffRead(
        before=before,
        after=after,
        changes=changes(with_defaults(old.body), with_defaults(new.body)),
        code=code_diff(contents[0], contents[1], (f"version {before}", f"version {after}")),
        operators_added=sorted(graphs[1].keys() - graphs[0].keys()),
        operators_removed=sorted(graphs[0].keys() - graphs[1].keys()),
        operators_changed=sorted(uid for uid in graphs[0].keys() & graphs[1].keys() if graphs[0][uid] != graphs[1][uid]),
    )


def _graph(session: Session, one: Spec) -> dict[str, Any] | None:
    found = session.get(Graph, one.graph_id) if one.graph_id is not None else None
    return found.body if found is not None else None
