"""The states of a run and the legal transitions. Pure."""

from __future__ import annotations

from weir.protocol.events import DriverState
from weir_backend.models import RunState

FINAL = frozenset({RunState.FINISHED, RunState.SUSPENDED, RunState.CANCELED, RunState.FAILED})

# A driver can report any of these states after any earlier state, because the events in between can be lost. The driver also reports CANCELLING
# before its next generation, so CANCELLING does not imply the end of the run.
_WORKING = frozenset({RunState.INITIALIZING, RunState.RUNNING, RunState.RESTARTING, RunState.CANCELLING})

LEGAL: dict[RunState, frozenset[RunState]] = {
    **dict.fromkeys(_WORKING | {RunState.CREATED}, _WORKING | {RunState.FAILING} | FINAL),
    RunState.FAILING: FINAL,
    # Later reports of an ended run are stored as events. RECONCILING is returned by the API and never stored: see reachability.py.
    **dict.fromkeys(FINAL | {RunState.RECONCILING}, frozenset()),
}

SUPERSEDED = "another driver runs the job"


def is_legal(current: RunState, target: RunState) -> bool:
    """Return whether the transition is legal. Staying in the same state is not a transition."""
    return target in LEGAL[current] and target is not current


def from_driver_state(state: DriverState) -> RunState:
    """Translate the state that a driver reports."""
    return RunState.FAILED if state is DriverState.SUPERSEDED else RunState(state.value)


def from_driver_reason(state: DriverState, reason: str) -> str:
    return f"superseded: {reason or SUPERSEDED}" if state is DriverState.SUPERSEDED else reason
