"""The states of operations, and their outcomes. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from weir_backend.jobs.spec import Checkpointing, seconds
from weir_backend.models import OperationKind, OperationState, RunState, SpecState
from weir_backend.runs.lifecycle import FINAL

LEGAL: dict[OperationState, frozenset[OperationState]] = {
    OperationState.PENDING: frozenset(
        {OperationState.RUNNING, OperationState.SUCCEEDED, OperationState.FAILED, OperationState.SUPERSEDED}
    ),
    OperationState.RUNNING: frozenset({OperationState.SUCCEEDED, OperationState.FAILED, OperationState.SUPERSEDED}),
    OperationState.SUCCEEDED: frozenset(),
    OperationState.FAILED: frozenset(),
    OperationState.SUPERSEDED: frozenset(),
}

TIME = {
    OperationKind.DEPLOY: timedelta(minutes=15),
    OperationKind.START: timedelta(minutes=10),
    OperationKind.SUSPEND: timedelta(minutes=15),
    OperationKind.CANCEL: timedelta(minutes=5),
    OperationKind.SAVEPOINT: timedelta(minutes=15),
    OperationKind.CHECKPOINT: timedelta(minutes=15),
    OperationKind.VERIFY: timedelta(hours=2),
    OperationKind.APPLY_PLAN: timedelta(minutes=30),
    OperationKind.DELETE: timedelta(minutes=15),
    OperationKind.PROFILE: timedelta(minutes=2),
}
"""Timeouts of operations, for jobs with the default checkpoint timeout."""
_WAITING_FOR_CHECKPOINT = frozenset(
    {OperationKind.DEPLOY, OperationKind.SUSPEND, OperationKind.SAVEPOINT, OperationKind.CHECKPOINT, OperationKind.APPLY_PLAN}
)
"""Kinds of operations that wait for a checkpoint."""


def timeout_of(kind: OperationKind, checkpoint_timeout: timedelta) -> timedelta:
    """Return the timeout of an operation. For an operation that waits for a checkpoint, the timeout includes the time by which
    ``checkpoint_timeout`` exceeds the default."""
    more = max(timedelta(0), checkpoint_timeout - timedelta(seconds=seconds(Checkpointing().timeout)))
    return TIME[kind] + more if kind in _WAITING_FOR_CHECKPOINT else TIME[kind]


SETS_DESIRED_STATE = frozenset({OperationKind.DEPLOY, OperationKind.START, OperationKind.SUSPEND, OperationKind.CANCEL})
"""Kinds of operations that set the desired state. A new operation that sets the desired state supersedes all open operations that set it."""

TO_RUN = frozenset({OperationKind.DEPLOY, OperationKind.START})
"""Kinds of operations that succeed when the job is running."""
ENDING = frozenset({"Suspend", "Cancel"})
"""Commands that end a run."""


@dataclass(frozen=True, slots=True)
class OperationFacts:
    """The facts that decide whether an operation on a job has ended. ``run_state`` is the state of the newest run that can complete the operation
    (see ``Operation.after_run``), or None if there is no such run. Only the run that received the command
    can complete a profile. ``live`` is True if the newest run of the job has not ended."""

    spec_state: SpecState
    spec_problem: str | None
    to_run: bool
    run_state: RunState | None
    run_reason: str
    live: bool
    restarts_stopped_reason: str | None
    newest_checkpoint: int | None


@dataclass(frozen=True, slots=True)
class OperationOutcome:
    state: OperationState
    result: dict[str, Any] | None = None
    problem: str | None = None


def judge(kind: OperationKind, job: OperationFacts, *, now: datetime, deadline: datetime) -> OperationOutcome | None:
    """Return the outcome of an operation, or None if the operation continues. For an operation on a checkpoint or plan, return an outcome only
    after the deadline, because other modules end these operations."""
    outcome = _judge(kind, job)
    if outcome is None and now >= deadline:
        return OperationOutcome(OperationState.FAILED, problem=f"The operation timed out: {_obstacle(kind, job)}")
    return outcome


def _judge(kind: OperationKind, job: OperationFacts) -> OperationOutcome | None:
    match kind:
        case OperationKind.DEPLOY | OperationKind.START:
            return _started(job)
        case OperationKind.SUSPEND | OperationKind.CANCEL:
            return None if job.live else _stopped(kind, job)
        case OperationKind.PROFILE if job.run_state is None or job.run_state in FINAL:
            return OperationOutcome(OperationState.FAILED, problem="The run ended before the profile was complete.")
        case _:
            return None


def _started(job: OperationFacts) -> OperationOutcome | None:
    if job.spec_state is SpecState.INVALID:
        return OperationOutcome(OperationState.FAILED, problem=job.spec_problem)
    if not job.to_run:
        return OperationOutcome(OperationState.SUCCEEDED, result={}) if job.spec_state is SpecState.VALID else None
    if job.run_state in (RunState.RUNNING, RunState.FINISHED):
        return OperationOutcome(OperationState.SUCCEEDED, result={"state": job.run_state.value})
    if job.restarts_stopped_reason is not None:
        return OperationOutcome(OperationState.FAILED, problem=job.restarts_stopped_reason)
    return None


def _stopped(kind: OperationKind, job: OperationFacts) -> OperationOutcome:
    result = {"state": job.run_state.value if job.run_state else None, "checkpoint": job.newest_checkpoint}
    if kind is OperationKind.SUSPEND and job.run_state is RunState.FAILED:
        next_start = (
            f"The next run resumes from checkpoint {job.newest_checkpoint}."
            if job.newest_checkpoint is not None
            else "The job has no checkpoint, so the next run starts without state."
        )
        return OperationOutcome(
            OperationState.FAILED,
            result=result,
            problem=f"The job stopped without a final checkpoint: {job.run_reason}. {next_start}",
        )
    return OperationOutcome(OperationState.SUCCEEDED, result=result)


def _obstacle(kind: OperationKind, job: OperationFacts) -> str:
    if kind in (OperationKind.SUSPEND, OperationKind.CANCEL):
        return "the driver has not stopped. Check that a worker is running on the host of the driver."
    if kind is OperationKind.VERIFY:
        return "not all files were read. Check that a worker runs and that the storage is reachable."
    if kind is OperationKind.PROFILE:
        return "the driver has not sent the profile. Check that the driver can reach the control plane."
    if kind is OperationKind.DELETE:
        return "no worker deleted the checkpoint. Check that a worker runs and that the storage is reachable."
    if job.spec_state is SpecState.COMPILING:
        return "the code has not been compiled. Check that a worker runs."
    if job.run_state is None:
        return "no run was created. Check that a worker runs."
    return f"the newest run is {job.run_state.value}" + (f" ({job.run_reason})." if job.run_reason else ".")
