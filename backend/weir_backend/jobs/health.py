"""The state and health of a job. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from weir_backend.jobs.schemas import Health
from weir_backend.models import DesiredState, RunState, SpecState

_TRANSITIONAL = frozenset(
    {RunState.CREATED, RunState.INITIALIZING, RunState.RESTARTING, RunState.FAILING, RunState.CANCELLING, RunState.RECONCILING}
)


@dataclass(frozen=True, slots=True)
class JobHealth:
    state: RunState
    health: Health
    reason: str


def job_health(
    *,
    desired: DesiredState,
    spec_state: SpecState,
    spec_problem: str | None,
    run_state: RunState | None,
    run_reason: str,
    restarts_stopped_reason: str | None,
    restart_at: datetime | None,
) -> JobHealth:
    """Return the state of a job, its health, and the reason for its health. ``run_state`` is the state of the newest run, or None if the job has no
    run."""
    state = run_state or RunState.CREATED
    if desired is DesiredState.RUNNING:
        if spec_state is SpecState.INVALID and run_state is None:
            return JobHealth(state, Health.NEEDS_ATTENTION, f"The code does not compile: {spec_problem}")
        if restarts_stopped_reason is not None:
            return JobHealth(state, Health.NEEDS_ATTENTION, restarts_stopped_reason)
        if state is RunState.RECONCILING:
            return JobHealth(state, Health.DEGRADED, "The driver is unreachable. Weir is checking whether the driver is running.")
        if state in (RunState.RUNNING, RunState.FINISHED):
            return JobHealth(state, Health.HEALTHY, "")
        if state is RunState.FAILED and restart_at is not None:
            return JobHealth(state, Health.DEGRADED, f"The job failed and will restart soon: {run_reason}")
        if spec_state is SpecState.COMPILING and run_state is None:
            return JobHealth(state, Health.DEGRADED, "A worker is compiling the user code.")
        return JobHealth(state, Health.DEGRADED, run_reason)
    if state in _TRANSITIONAL or state is RunState.RUNNING:
        if run_state is None:
            return JobHealth(state, Health.HEALTHY, "")
        return JobHealth(state, Health.DEGRADED, "The job is stopping.")
    return JobHealth(state, Health.HEALTHY, run_reason if state is RunState.FAILED else "")
