"""Beginning and ending operations. All under the lock on the job."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy.orm import Session

from weir_backend.errors import NotFound
from weir_backend.jobs import repository as jobs
from weir_backend.jobs.history import record
from weir_backend.jobs.spec import seconds, whole
from weir_backend.kit.access import Caller
from weir_backend.kit.clock import now
from weir_backend.models import Job, Operation, OperationKind, OperationState
from weir_backend.operations import repository
from weir_backend.operations.lifecycle import ENDING, LEGAL, REPLACED_BY_ANOTHER, TO_RUN, Over, may_take
from weir_backend.reconciling import repository as runs


def begin(session: Session, job: Job, kind: OperationKind, caller: Caller, request: dict[str, Any] | None = None) -> Operation:
    """What an earlier operation wanted the job to do is abandoned, if this one says where it is to go."""
    moment = now()
    if kind in REPLACED_BY_ANOTHER:
        for other in repository.open_of(session, job.id):
            if other.kind in REPLACED_BY_ANOTHER:
                end(
                    other,
                    Over(OperationState.ABANDONED, problem=f"{caller.name} has asked for something else since: {kind.value}"),
                )
    operation = Operation(
        job_id=job.id,
        after_run=_after_run(session, job, kind),
        kind=kind,
        state=OperationState.PENDING,
        request=request or {},
        created_by=caller.user_id,
        created_at=moment,
        deadline_at=moment + may_take(kind, _checkpoint_timeout(session, job)),
        steps=[],
    )
    session.add(operation)
    session.flush()
    # Its deadline is kept also where nothing else is to be done for the job.
    job.next_look_at = min(filter(None, (job.next_look_at, operation.deadline_at)))
    return operation


def _checkpoint_timeout(session: Session, job: Job) -> timedelta:
    """Of the version that runs, or else of the one that is to run."""
    live = runs.live(session, job.id)
    spec = jobs.find_spec_by_id(session, live.spec_id) if live is not None else jobs.find_spec(session, job.id, job.spec_number)
    body = {} if spec is None else spec.body
    return timedelta(seconds=seconds(whole(body)["checkpointing"]["timeout"]))


def _after_run(session: Session, job: Job, kind: OperationKind) -> int:
    """The run that is live may be what it asks for, unless that is on its way down already."""
    live = runs.live(session, job.id)
    if live is None or (kind in TO_RUN and runs.commands_given(session, live.id) & ENDING):
        return job.run_number
    return job.run_number - 1


def step(operation: Operation, text: str) -> None:
    """Something was done for it. A step said twice in a row is one."""
    if operation.state is OperationState.PENDING:
        move(operation, OperationState.RUNNING)
    if not operation.steps or operation.steps[-1]["text"] != text:
        # A new list: SQLAlchemy does not see what happens inside one.
        operation.steps = [*operation.steps, {"at": now().isoformat(), "text": text}]


def end(operation: Operation, over: Over) -> None:
    """Does nothing if it is over already."""
    if operation.ended_at is not None:
        return
    move(operation, over.state)
    operation.result = over.result
    operation.problem = over.problem
    operation.ended_at = now()


def end_and_tell(session: Session, job: Job, operation: Operation, over: Over) -> None:
    """And the job's log says so, with why it has failed. Does nothing if it is over already."""
    if operation.ended_at is None:
        end(operation, over)
        told: dict[str, Any] = {
            "operation": operation.id,
            "kind_": operation.kind.value,
            "state": over.state.value,
            "problem": over.problem,
        }
        record(session, job, "OperationEnded", **told)


def move(operation: Operation, state: OperationState) -> None:
    assert state in LEGAL[operation.state], f"operation {operation.id}: {operation.state} to {state}"
    operation.state = state


def get(session: Session, operation_id: int) -> Operation:
    """Raises NotFound."""
    found = repository.find(session, operation_id)
    if found is None:
        raise NotFound("no-operation", f"there is no operation {operation_id}")
    return found
