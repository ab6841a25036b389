"""The states of a run and the legal transitions. Pure."""

from __future__ import annotations

from typing import assert_never

from weir.protocol.events import DriverState
from weir_backend.models import RunState

FINAL = frozenset({RunState.FINISHED, RunState.SUSPENDED, RunState.CANCELED, RunState.FAILED})

# A driver may reach each of these from any earlier state: the events in between may be lost.
_WORKING = frozenset({RunState.INITIALIZING, RunState.RUNNING, RunState.RESTARTING, RunState.CANCELLING})

LEGAL: dict[RunState, frozenset[RunState]] = {
    RunState.CREATED: _WORKING | {RunState.FAILING} | FINAL,
    RunState.INITIALIZING: _WORKING | {RunState.FAILING} | FINAL,
    RunState.RUNNING: _WORKING | {RunState.FAILING} | FINAL,
    RunState.RESTARTING: _WORKING | {RunState.FAILING} | FINAL,
    # The driver also passes this state before its next generation, without a failure.
    RunState.CANCELLING: _WORKING | {RunState.FAILING} | FINAL,
    RunState.FAILING: FINAL,
    # RECONCILING is shown and never stored: see reachability.py.
    RunState.RECONCILING: frozenset(),
    # Later reports about an ended run are logged and change nothing.
    RunState.FINISHED: frozenset(),
    RunState.SUSPENDED: frozenset(),
    RunState.CANCELED: frozenset(),
    RunState.FAILED: frozenset(),
}

SUPERSEDED = "another driver runs the job"


def is_legal(current: RunState, target: RunState) -> bool:
    """A run that keeps its state makes no transition."""
    return target in LEGAL[current] and target is not current


def from_driver_state(told: DriverState) -> RunState:
    """Translate the state that a driver reports."""
    match told:
        case DriverState.SUPERSEDED:
            return RunState.FAILED
        case (
            DriverState.INITIALIZING
            | DriverState.RUNNING
            | DriverState.RESTARTING
            | DriverState.CANCELLING
            | DriverState.FINISHED
            | DriverState.SUSPENDED
            | DriverState.CANCELED
            | DriverState.FAILED
        ):
            return RunState(told.value)
        case _:
            assert_never(told)


def from_driver_reason(told: DriverState, reason: str) -> str:
    if told is DriverState.SUPERSEDED:
        return f"superseded: {reason or SUPERSEDED}"
    return reason
