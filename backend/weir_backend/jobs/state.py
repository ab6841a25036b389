"""What people are shown of a job: one state, one health, one sentence. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from weir_backend.jobs.schemas import Health
from weir_backend.models import DesiredState, RunState, SpecState

_WORKING = frozenset(
    {RunState.CREATED, RunState.INITIALIZING, RunState.RESTARTING, RunState.FAILING, RunState.CANCELLING, RunState.RECONCILING}
)


@dataclass(frozen=True, slots=True)
class Standing:
    state: RunState
    health: Health
    why: str


def standing(
    *,
    desired: DesiredState,
    spec_state: SpecState,
    spec_problem: str | None,
    run_state: RunState | None,
    run_reason: str,
    gave_up: str | None,
    not_before: datetime | None,
) -> Standing:
    """``run_state``: of the newest run; None: there is none yet."""
    state = run_state or RunState.CREATED
    if desired is DesiredState.RUNNING:
        if spec_state is SpecState.INVALID and run_state is None:
            return Standing(state, Health.PERSON, f"its code does not compile: {spec_problem}")
        if gave_up is not None:
            return Standing(state, Health.PERSON, gave_up)
        if state is RunState.RECONCILING:
            return Standing(state, Health.WORKING, "nothing is heard of its driver; whether it lives is being found out")
        if state in (RunState.RUNNING, RunState.FINISHED):
            return Standing(state, Health.OK, "")
        if state is RunState.FAILED and not_before is not None:
            return Standing(state, Health.WORKING, f"it has failed and is started again soon: {run_reason}")
        if spec_state is SpecState.COMPILING and run_state is None:
            return Standing(state, Health.WORKING, "its code is being compiled")
        return Standing(state, Health.WORKING, run_reason)
    if state in _WORKING or state is RunState.RUNNING:
        if run_state is None:
            return Standing(state, Health.OK, "")
        return Standing(state, Health.WORKING, "it is being stopped")
    return Standing(state, Health.OK, run_reason if state is RunState.FAILED else "")
