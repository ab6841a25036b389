"""The states of a run and the legal transitions. Pure."""

from __future__ import annotations

from typing import assert_never

from weir.protocol.events import DriverState
from weir_backend.models import RunState

FINAL = frozenset({RunState.FINISHED, RunState.SUSPENDED, RunState.CANCELED, RunState.FAILED})

# A driver may report any of these after any earlier state, because the events in between may be lost.
_WORKING = frozenset({RunState.INITIALIZING, RunState.RUNNING, RunState.RESTARTING, RunState.CANCELLING})

LEGAL: dict[RunState, frozenset[RunState]] = {
    RunState.CREATED: _WORKING | {RunState.FAILING} | FINAL,
    RunState.INITIALIZING: _WORKING | {RunState.FAILING} | FINAL,
    RunState.RUNNING: _WORKING | {RunState.FAILING} | FINAL,
    RunState.RESTARTING: _WORKING | {RunState.FAILING} | FINAL,
    # The driver also passes this state before its next generation, so it does not imply the end of the run.
    RunState.CANCELLING: _WORKING | {RunState.FAILING} | FINAL,
    RunState.FAILING: FINAL,
    # RECONCILING is returned by the API and never stored: see reachability.py.
    RunState.RECONCILING: frozenset(),
    # Later reports of an ended run are stored as events and do not change the state.
    RunState.FINISHED: frozenset(),
    RunState.SUSPENDED: frozenset(),
    RunState.CANCELED: frozenset(),
    RunState.FAILED: frozenset(),
}

SUPERSEDED = "another driver runs the job"


def is_legal(current: RunState, target: RunState) -> bool:
    """Return whether the transition is legal. Staying in the same state is not a transition."""
    return target in LEGAL[current] and target is not current


def from_driver_state(state: DriverState) -> RunState:
    """Translate the state that a driver reports."""
    match state:
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
            return RunState(state.value)
        case _:
            assert_never(state)


def from_driver_reason(state: DriverState, reason: str) -> str:
    if state is DriverState.SUPERSEDED:
        return f"superseded: {reason or SUPERSEDED}"
    return reason
