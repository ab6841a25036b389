"""Begin and end operations. Callers must hold the lock on the job."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy.orm import Session, object_session

from weir_backend.errors import NotFound, or_raise
from weir_backend.jobs import repository as jobs
from weir_backend.jobs.event_log import record_event
from weir_backend.jobs.spec import seconds, with_defaults
from weir_backend.kit.access import Caller
from weir_backend.kit.clock import now
from weir_backend.kit.notifications import job_key, publish
from weir_backend.models import Job, Operation, OperationKind, OperationState
from weir_backend.operations import repository
from weir_backend.operations.lifecycle import ENDING, LEGAL, SETS_DESIRED_STATE, TO_RUN, OperationOutcome, timeout_of
from weir_backend.runs import repository as runs
from weir_backend.webhooks import outbox

PROFILES_KEPT_MAX = 20
"""The number of profiles that Weir keeps for each job. Weir also deletes a profile with its operation."""


def begin(session: Session, job: Job, kind: OperationKind, caller: Caller, request: dict[str, Any] | None = None) -> Operation:
    """Begin an operation. If the operation sets the desired state of the job, it supersedes all open operations that set the desired state."""
    moment = now()
    if kind in SETS_DESIRED_STATE:
        for other in repository.open_of(session, job.id):
            if other.kind in SETS_DESIRED_STATE:
                problem = f"{caller.name} has requested a newer operation: {kind.value}."
                end(other, OperationOutcome(OperationState.SUPERSEDED, problem=problem))
    operation = Operation(
        job_id=job.id,
        after_run=after_run(session, job, kind),
        kind=kind,
        state=OperationState.PENDING,
        request=request or {},
        created_by=caller.user_id,
        created_at=moment,
        deadline_at=moment + timeout_of(kind, _checkpoint_timeout(session, job)),
        steps=[],
    )
    session.add(operation)
    session.flush()
    # Reconcile the job no later than the deadline of the operation, because the reconciliation ends an operation that has timed out.
    job.next_reconcile_at = min(filter(None, (job.next_reconcile_at, operation.deadline_at)))
    return operation


def _checkpoint_timeout(session: Session, job: Job) -> timedelta:
    """Return the checkpoint timeout from the spec version of the live run, or from the current spec version if the job has no live run."""
    live = runs.live_run(session, job.id)
    spec = jobs.find_spec_by_id(session, live.spec_id) if live is not None else jobs.find_spec(session, job.id, job.spec_number)
    body = {} if spec is None else spec.body
    return timedelta(seconds=seconds(with_defaults(body)["checkpointing"]["timeout"]))


def after_run(session: Session, job: Job, kind: OperationKind) -> int:
    """Return the value of ``Operation.after_run``: only runs with a larger number can complete the operation. A live run can complete the
    operation, with one exception: a run that is stopping cannot complete an operation that starts the job."""
    live = runs.live_run(session, job.id)
    if live is None or (kind in TO_RUN and runs.commands_given(session, live.id) & ENDING):
        return job.run_number
    return job.run_number - 1


def step(operation: Operation, text: str) -> None:
    """Add a step to the operation, unless the newest step has the same text. Wake the requests that wait for the operation."""
    if operation.state is OperationState.PENDING:
        move(operation, OperationState.RUNNING)
    if not operation.steps or operation.steps[-1]["text"] != text:
        # Assign a new list, because SQLAlchemy does not detect changes inside a list.
        operation.steps = [*operation.steps, {"at": now().isoformat(), "text": text}]
        session = object_session(operation)
        assert session is not None, "the caller has read the operation in a session"
        publish(session, job_key(operation.job_id))


def end(operation: Operation, outcome: OperationOutcome) -> None:
    """End an operation. Do nothing if the operation has ended already."""
    if operation.ended_at is not None:
        return
    move(operation, outcome.state)
    operation.result = outcome.result
    operation.problem = outcome.problem
    operation.ended_at = now()


def end_and_record(session: Session, job: Job, operation: Operation, outcome: OperationOutcome) -> None:
    """End an operation, record an event with the outcome, and notify webhooks. Do nothing if the operation has ended already."""
    if operation.ended_at is None:
        end(operation, outcome)
        fields: dict[str, Any] = {
            "operation": operation.id,
            "operation_kind": operation.kind.value,
            "state": outcome.state.value,
            "problem": outcome.problem,
        }
        record_event(session, job, "OperationEnded", **fields)
        outbox.add_ended_operations(session, [operation.id])


def move(operation: Operation, state: OperationState) -> None:
    assert state in LEGAL[operation.state], f"operation {operation.id}: {operation.state} to {state}"
    operation.state = state


def profile_of(session: Session, operation_id: int) -> dict[str, Any]:
    """Return the profile that an operation has taken, as JSON of ``weir.protocol.profiles.SlotProfile``. Raises NotFound."""
    operation = get(session, operation_id)
    if operation.kind is not OperationKind.PROFILE:
        raise NotFound("no-profile", f"Operation {operation_id} is of the kind '{operation.kind}' and takes no profile.")
    if (found := repository.stored_profile(session, operation_id)) is not None:
        return found
    if operation.ended_at is None:
        raise NotFound("no-profile", f"Operation {operation_id} has not ended yet.", "Wait until the operation has ended.")
    if operation.state is OperationState.SUCCEEDED:
        reason = f"The profile of operation {operation_id} was deleted: Weir keeps the {PROFILES_KEPT_MAX} newest profiles of each job."
        raise NotFound("no-profile", reason, "Take a new profile.")
    raise NotFound("no-profile", f"Operation {operation_id} has no profile: {operation.problem}")


def get(session: Session, operation_id: int) -> Operation:
    """Return an operation. Raises NotFound."""
    return or_raise(session.get(Operation, operation_id), NotFound("no-operation", f"Operation {operation_id} does not exist."))
