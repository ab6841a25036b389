"""The verbs that change what is wanted of a job. Each holds the lock on the job; what comes of it is for the workers."""

from __future__ import annotations

from typing import Any

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from weir_backend.artifacts import repository as artifacts
from weir_backend.errors import Conflict, Invalid, NotFound
from weir_backend.jobs import repository
from weir_backend.jobs.diff import changes, code_diff, operators
from weir_backend.jobs.history import record
from weir_backend.jobs.schemas import JobChange, JobDraft, SpecDiff, SpecDraft
from weir_backend.jobs.spec import SpecBody, whole
from weir_backend.kit.access import Caller
from weir_backend.kit.audit import audit
from weir_backend.kit.clock import now
from weir_backend.kit.json_form import clean_text
from weir_backend.kit.tasks import COMPILE, INSPECT, RECONCILE, Tasks, ask
from weir_backend.kit.versions import check_version
from weir_backend.link import commands
from weir_backend.models import DesiredState, Job, Operation, OperationKind, OperationState, RunState, Spec, SpecState
from weir_backend.operations import repository as operation_rows
from weir_backend.operations import service as operations
from weir_backend.operations.lifecycle import Over
from weir_backend.reconciling import repository as runs
from weir_backend.recovery import repository as plans


def create(session: Session, tasks: Tasks, caller: Caller, draft: JobDraft) -> Job:
    """With version 1 of its spec and an operation ``deploy``. Raises Conflict, Invalid."""
    if repository.find_by_name(session, draft.name) is not None:
        raise _taken(draft.name)
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
        history=1,
        created_by=caller.user_id,
        created_at=moment,
        updated_at=moment,
        next_look_at=moment,
    )
    session.add(job)
    try:
        session.flush()
    except IntegrityError:
        raise _taken(draft.name) from None
    spec = _add_spec(session, tasks, caller, job, 1, draft.spec, draft.comment)
    operations.begin(session, job, OperationKind.DEPLOY, caller, {"spec": 1, "start": draft.start})
    record(session, job, "JobDeployed", spec=1, by=caller.name)
    audit(session, caller, "create", "job", job.id, after={"name": job.name, "spec": spec.body, "start": draft.start})
    return job


def _taken(name: str) -> Conflict:
    return Conflict("name-taken", f"there is a job '{name}' already", "give it a new version of its spec, or choose another name")


def get(session: Session, job_id: int, *, lock: bool = False) -> Job:
    """Raises NotFound."""
    found = repository.find(session, job_id, lock=lock)
    if found is None:
        raise NotFound("no-job", f"there is no job {job_id}")
    return found


def change(session: Session, caller: Caller, job_id: int, seen: str | None, wanted: JobChange) -> Job:
    """Raises NotFound, PreconditionFailed, PreconditionRequired."""
    job = get(session, job_id, lock=True)
    check_version(seen, job.version)
    before = {"description": job.description, "labels": job.labels}
    if wanted.description is not None:
        job.description = wanted.description
    if wanted.labels is not None:
        job.labels = dict(wanted.labels)
    touch(job)
    audit(session, caller, "update", "job", job.id, before=before, after={"description": job.description, "labels": job.labels})
    return job


def add_spec(session: Session, tasks: Tasks, caller: Caller, job_id: int, seen: str | None, draft: SpecDraft) -> Spec:
    """The next version. It does not run until an upgrade to it is applied. Raises NotFound, PreconditionFailed, Invalid."""
    job = get(session, job_id, lock=True)
    check_version(seen, job.version)
    number = repository.newest_spec_number(session, job.id) + 1
    spec = _add_spec(session, tasks, caller, job, number, draft.spec, draft.comment)
    touch(job)
    record(session, job, "SpecAdded", spec=number, by=caller.name)
    audit(session, caller, "create", "spec", spec.id, after={"job": job.name, "number": number, "spec": spec.body})
    return spec


def _add_spec(session: Session, tasks: Tasks, caller: Caller, job: Job, number: int, body: SpecBody, comment: str) -> Spec:
    artifact = artifacts.find_by_digest(session, body.artifact)
    if artifact is None:
        raise Invalid(
            "no-artifact", f"spec.artifact: no file of the digest {body.artifact} was uploaded", "upload it to /artifacts first"
        )
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
    ask(session, tasks, COMPILE, spec.id)
    return spec


def compiled(session: Session, tasks: Tasks, spec: Spec, *, graph_id: int | None, problem: str | None) -> None:
    """A worker has compiled the code of ``spec``: ``problem`` None if it went well. A second time changes nothing."""
    job = repository.find(session, spec.job_id, lock=True)
    session.refresh(spec)
    if job is None or spec.state is not SpecState.COMPILING:
        return
    assert (graph_id is None) != (problem is None)
    if graph_id is not None and (taken := _taken_place(session, job, spec, graph_id)) is not None:
        graph_id, problem = None, taken
    spec.state = SpecState.VALID if problem is None else SpecState.INVALID
    problem = clean_text(problem) if problem is not None else None  # it repeats what user code says
    spec.graph_id, spec.problem = graph_id, problem
    record(session, job, "SpecCompiled", spec=spec.number, state=spec.state.value, problem=problem)
    for plan in plans.waiting_for_spec(session, job.id, spec.number):
        ask(session, tasks, INSPECT, plan.id)
    look_soon(session, tasks, job)


def _taken_place(session: Session, job: Job, spec: Spec, graph_id: int) -> str | None:
    """Why its checkpoints cannot be where it wants them; None: they can. A directory of the installation's own is nobody else's."""
    wanted: str | None = spec.body.get("checkpointing", {}).get("directory")
    name = repository.name_of_graph(session, graph_id)
    if wanted is None or name is None:
        return None
    other = repository.neighbour(session, job.id, wanted, name)
    if other is None:
        return None
    return (
        f"its checkpoints would be in {wanted} under the name '{name}', where those of job '{other}' are: each of the two would take the "
        "other's for its own. Give it another directory of checkpoints, or another name in Job(...)"
    )


def start(session: Session, tasks: Tasks, caller: Caller, job_id: int) -> Operation:
    """Raises NotFound, Conflict if it could not come to anything."""
    job = _free(session, job_id)
    run = runs.newest(session, job)
    if run is not None and run.state is RunState.FINISHED:
        raise Conflict(
            "finished", f"job '{job.name}' has finished: its input has ended", "deploy it under another name to run it again"
        )
    before = job.desired_state
    job.desired_state = DesiredState.RUNNING
    job.gave_up, job.not_before, job.restarts = None, None, 0
    if run is not None and run.state is RunState.FAILED:
        job.not_before = now()  # somebody has looked: it need not wait
    return _asked(session, tasks, caller, job, OperationKind.START, before)


def suspend(session: Session, tasks: Tasks, caller: Caller, job_id: int) -> Operation:
    """Stop with a last checkpoint. Raises NotFound, Conflict."""
    job = _free(session, job_id)
    before, job.desired_state = job.desired_state, DesiredState.SUSPENDED
    return _asked(session, tasks, caller, job, OperationKind.SUSPEND, before)


def cancel(session: Session, tasks: Tasks, caller: Caller, job_id: int) -> Operation:
    """Stop without one. Raises NotFound, Conflict."""
    job = _free(session, job_id)
    before, job.desired_state = job.desired_state, DesiredState.CANCELLED
    return _asked(session, tasks, caller, job, OperationKind.CANCEL, before)


def _free(session: Session, job_id: int) -> Job:
    job = get(session, job_id, lock=True)
    plan = plans.applying(session, job.id)
    if plan is not None:
        raise Conflict(
            "plan-applying", f"plan {plan.id} is being applied to job '{job.name}'", "wait until it is over", plan=plan.id
        )
    return job


def _asked(session: Session, tasks: Tasks, caller: Caller, job: Job, kind: OperationKind, before: DesiredState) -> Operation:
    touch(job)
    operation = operations.begin(session, job, kind, caller)
    record(session, job, "StateWanted", desired=job.desired_state.value, by=caller.name)
    audit(
        session, caller, kind.value, "job", job.id,
        before={"desired_state": before.value}, after={"desired_state": job.desired_state.value},
    )  # fmt: skip
    look_soon(session, tasks, job)
    return operation


def savepoint(session: Session, tasks: Tasks, caller: Caller, job_id: int) -> Operation:
    """Raises NotFound, Conflict if no run could take one."""
    return _take(session, tasks, caller, job_id, OperationKind.SAVEPOINT, "TakeSavepoint")


def checkpoint(session: Session, tasks: Tasks, caller: Caller, job_id: int) -> Operation:
    """Raises NotFound, Conflict if no run could take one."""
    return _take(session, tasks, caller, job_id, OperationKind.CHECKPOINT, "TakeCheckpoint")


def _take(session: Session, tasks: Tasks, caller: Caller, job_id: int, kind: OperationKind, command: str) -> Operation:
    job = _free(session, job_id)
    run = runs.live(session, job.id)
    if run is None or run.state is not RunState.RUNNING:
        raise Conflict(
            "not-running", f"job '{job.name}' is not running, so there is nothing to take a {kind.value} of", "start it first"
        )
    operation = operations.begin(session, job, kind, caller)
    commands.give(session, run, command, {}, operation.id)
    operations.step(operation, f"asked the driver of run {run.number}")
    audit(session, caller, kind.value, "job", job.id)
    look_soon(session, tasks, job)
    return operation


def delete(session: Session, caller: Caller, job_id: int, seen: str | None) -> None:
    """Forget a job that does not run. Its checkpoints stay in storage. Raises NotFound, Conflict, PreconditionFailed."""
    job = _free(session, job_id)
    check_version(seen, job.version)
    newest = runs.newest(session, job)
    live = newest is not None and newest.ended_at is None
    finished = newest is not None and newest.state is RunState.FINISHED
    if live or (job.desired_state is DesiredState.RUNNING and not finished):
        raise Conflict("running", f"job '{job.name}' is running", "suspend or cancel it first")
    job.deleted_at = now()
    job.next_look_at = None
    for operation in operation_rows.open_of(session, job.id):
        operations.end(operation, Over(OperationState.ABANDONED, problem="the job was deleted"))
    touch(job)
    record(session, job, "JobDeleted", by=caller.name)
    audit(session, caller, "delete", "job", job.id, before={"name": job.name})


def touch(job: Job) -> None:
    """A person or a plan has changed it."""
    job.version += 1
    job.updated_at = now()


def look_soon(session: Session, tasks: Tasks, job: Job) -> None:
    """There is something to do. If the broker is away, the next round of looking finds it."""
    job.next_look_at = now()
    ask(session, tasks, RECONCILE, job.id)


def spec(session: Session, job_id: int, number: int) -> Spec:
    """Raises NotFound."""
    job = get(session, job_id)
    found = repository.find_spec(session, job_id, number)
    if found is None:
        raise NotFound("no-spec", f"job '{job.name}' has no version {number} of its spec")
    return found


def diff(session: Session, job_id: int, before: int, after: int) -> SpecDiff:
    """Raises NotFound."""
    old, new = spec(session, job_id, before), spec(session, job_id, after)
    graphs: list[dict[str, Any]] = [operators(_graph(session, one)) for one in (old, new)]
    contents = [artifacts.content(session, one.artifact_id) for one in (old, new)]
    return SpecDiff(
        before=before,
        after=after,
        changes=changes(whole(old.body), whole(new.body)),
        code=code_diff(contents[0], contents[1], (f"version {before}", f"version {after}")),
        operators_added=sorted(graphs[1].keys() - graphs[0].keys()),
        operators_removed=sorted(graphs[0].keys() - graphs[1].keys()),
        operators_changed=sorted(uid for uid in graphs[0].keys() & graphs[1].keys() if graphs[0][uid] != graphs[1][uid]),
    )


def _graph(session: Session, one: Spec) -> dict[str, Any] | None:
    found = repository.find_graph(session, one.graph_id) if one.graph_id is not None else None
    return found.body if found is not None else None
