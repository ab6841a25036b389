"""When an operation is over, and how. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from weir_backend.jobs.spec import Checkpointing, seconds
from weir_backend.models import OperationKind, OperationState, RunState, SpecState

LEGAL: dict[OperationState, frozenset[OperationState]] = {
    OperationState.PENDING: frozenset(
        {OperationState.RUNNING, OperationState.SUCCEEDED, OperationState.FAILED, OperationState.ABANDONED}
    ),
    OperationState.RUNNING: frozenset({OperationState.SUCCEEDED, OperationState.FAILED, OperationState.ABANDONED}),
    OperationState.SUCCEEDED: frozenset(),
    OperationState.FAILED: frozenset(),
    OperationState.ABANDONED: frozenset(),
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
}
"""How long an operation may take until it is called failed, if the checkpoints of the job have the time that they have by default."""
_BY_A_CHECKPOINT = frozenset(
    {OperationKind.DEPLOY, OperationKind.SUSPEND, OperationKind.SAVEPOINT, OperationKind.CHECKPOINT, OperationKind.APPLY_PLAN}
)
"""They wait for one."""


def may_take(kind: OperationKind, checkpoint_timeout: timedelta) -> timedelta:
    """``checkpoint_timeout``: of the job. An operation is not called failed while its checkpoint may still come."""
    more = max(timedelta(0), checkpoint_timeout - timedelta(seconds=seconds(Checkpointing().timeout)))
    return TIME[kind] + more if kind in _BY_A_CHECKPOINT else TIME[kind]


REPLACED_BY_ANOTHER = frozenset({OperationKind.DEPLOY, OperationKind.START, OperationKind.SUSPEND, OperationKind.CANCEL})
"""Those that say where a job is to go: a newer one makes the older ones pointless."""

TO_RUN = frozenset({OperationKind.DEPLOY, OperationKind.START})
"""Done once the job runs."""
ENDING = frozenset({"Suspend", "Cancel"})
"""Commands after which a run does not go on."""


@dataclass(frozen=True, slots=True)
class Around:
    """What is known of the job. ``run_state``: of the newest run that was begun since the operation was asked for, or that was live
    then; None: there is none. ``live``: some run is not over."""

    spec_state: SpecState
    spec_problem: str | None
    to_run: bool
    run_state: RunState | None
    run_reason: str
    live: bool
    gave_up: str | None
    newest_checkpoint: int | None


@dataclass(frozen=True, slots=True)
class Over:
    state: OperationState
    result: dict[str, Any] | None = None
    problem: str | None = None


def judge(kind: OperationKind, around: Around, *, now: datetime, deadline: datetime) -> Over | None:
    """None: it goes on. Savepoints, checks and plans are told of by whoever carries them out; here they only run out of time."""
    over = _judge(kind, around)
    if over is None and now >= deadline:
        return Over(OperationState.FAILED, problem=f"it was not done in time: {_still(kind, around)}")
    return over


def _judge(kind: OperationKind, around: Around) -> Over | None:
    match kind:
        case OperationKind.DEPLOY | OperationKind.START:
            return _started(around)
        case OperationKind.SUSPEND | OperationKind.CANCEL:
            return None if around.live else _stopped(kind, around)
        case _:
            return None


def _started(around: Around) -> Over | None:
    if around.spec_state is SpecState.INVALID:
        return Over(OperationState.FAILED, problem=around.spec_problem)
    if not around.to_run:
        return Over(OperationState.SUCCEEDED, result={}) if around.spec_state is SpecState.VALID else None
    if around.run_state in (RunState.RUNNING, RunState.FINISHED):
        return Over(OperationState.SUCCEEDED, result={"state": around.run_state.value})
    if around.gave_up is not None:
        return Over(OperationState.FAILED, problem=around.gave_up)
    return None


def _stopped(kind: OperationKind, around: Around) -> Over:
    result = {"state": around.run_state.value if around.run_state else None, "checkpoint": around.newest_checkpoint}
    if kind is OperationKind.SUSPEND and around.run_state is RunState.FAILED:
        return Over(
            OperationState.FAILED,
            result=result,
            problem=f"the job has stopped, but without a last checkpoint: {around.run_reason}; it would go on from checkpoint "
            f"{around.newest_checkpoint}",
        )
    return Over(OperationState.SUCCEEDED, result=result)


def _still(kind: OperationKind, around: Around) -> str:
    if kind in (OperationKind.SUSPEND, OperationKind.CANCEL):
        return "its driver has not stopped yet"
    if kind is OperationKind.VERIFY:
        return "its files were not read to the end; is a worker running, and does storage answer?"
    if kind is OperationKind.DELETE:
        return "no worker could let go of it; is one running, and does storage answer?"
    if around.spec_state is SpecState.COMPILING:
        return "its code is still being compiled; is a worker running?"
    if around.run_state is None:
        return "no run was begun; is a worker running?"
    return f"its newest run is {around.run_state.value}" + (f" ({around.run_reason})" if around.run_reason else "")
