"""The life of a run as the control plane sees it: which state may follow which. Pure."""

from __future__ import annotations

from typing import assert_never

from weir.protocol.events import RunState as Told
from weir_backend.models import RunState

FINAL = frozenset({RunState.FINISHED, RunState.SUSPENDED, RunState.CANCELED, RunState.FAILED})

# A driver may come to each of these from any state before: what lay between may be among the events that got lost.
_WORKING = frozenset({RunState.INITIALIZING, RunState.RUNNING, RunState.RESTARTING, RunState.CANCELLING})

LEGAL: dict[RunState, frozenset[RunState]] = {
    RunState.CREATED: _WORKING | {RunState.FAILING} | FINAL,
    RunState.INITIALIZING: _WORKING | {RunState.FAILING} | FINAL,
    RunState.RUNNING: _WORKING | {RunState.FAILING} | FINAL,
    RunState.RESTARTING: _WORKING | {RunState.FAILING} | FINAL,
    # Without a failure before it, the driver goes through this to its next generation, too.
    RunState.CANCELLING: _WORKING | {RunState.FAILING} | FINAL,
    RunState.FAILING: FINAL,
    # What is not known is no state that anything gets into: see reach.py.
    RunState.RECONCILING: frozenset(),
    # Whatever is told of a run that is over has its place in the log, and changes nothing.
    RunState.FINISHED: frozenset(),
    RunState.SUSPENDED: frozenset(),
    RunState.CANCELED: frozenset(),
    RunState.FAILED: frozenset(),
}

SUPERSEDED = "another driver runs the job"


def may_become(current: RunState, wanted: RunState) -> bool:
    """To stay what one is is no transition."""
    return wanted in LEGAL[current] and wanted is not current


def of_driver(told: Told) -> RunState:
    """What a driver says of itself, in the control plane's words."""
    match told:
        case Told.SUPERSEDED:
            return RunState.FAILED
        case (
            Told.INITIALIZING
            | Told.RUNNING
            | Told.RESTARTING
            | Told.CANCELLING
            | Told.FINISHED
            | Told.SUSPENDED
            | Told.CANCELED
            | Told.FAILED
        ):
            return RunState(told.value)
        case _:
            assert_never(told)


def reason_of_driver(told: Told, reason: str) -> str:
    if told is Told.SUPERSEDED:
        return f"superseded: {reason or SUPERSEDED}"
    return reason
