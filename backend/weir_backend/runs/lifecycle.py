"""The states of a run and the legal transitions. Pure."""

from __future__ import annotations

from weir.protocol.events import DriverState
from weir_backend.models import RunState

FINAL = frozenset({RunState.FINISHED, RunState.SUSPENDED, RunState.CANCELED, RunState.FAILED})

# A driver can report the states in ``_WORKING`` in any order, because events can be lost. A driver also reports CANCELLING before it starts its
# next generation, so CANCELLING does not mean that the run is ending.
_WORKING = frozenset({RunState.INITIALIZING, RunState.RUNNING, RunState.RESTARTING, RunState.CANCELLING})

LEGAL: dict[RunState, frozenset[RunState]] = {
    **dict.fromkeys(_WORKING | {RunState.CREATED}, _WORKING | {RunState.FAILING} | FINAL),
    RunState.FAILING: FINAL,
    # If a driver reports a state after its run has ended, the report is stored as an event and does not change the state of the run. The API
    # returns RECONCILING but never stores this state (see reachability.py).
    **dict.fromkeys(FINAL | {RunState.RECONCILING}, frozenset()),
}

SUPERSEDED = "another driver runs the job"


def is_legal(current: RunState, target: RunState) -> bool:
    """Return whether a run may change from the state ``current`` to the state ``target``. Staying in the same state is not a transition."""
    return target in LEGAL[current] and target is not current


def from_driver_state(state: DriverState) -> RunState:
    """Translate the state that a driver reports to the state of its run."""
    return RunState.FAILED if state is DriverState.SUPERSEDED else RunState(state.value)


def from_driver_reason(state: DriverState, reason: str) -> str:
    return f"superseded: {reason or SUPERSEDED}" if state is DriverState.SUPERSEDED else reason
