"""The reachability of runs. For an unreachable run, the API returns the state RECONCILING, because the current state of the run is unknown. The
database keeps the last state that the driver has reported."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from weir_backend.kit.heartbeats import Component, alive_since
from weir_backend.models import Run, RunState

RUN_UNREACHABLE_AFTER = timedelta(seconds=45)
"""A run is unreachable if its driver has not contacted the control plane for ``RUN_UNREACHABLE_AFTER``. A reachable driver contacts the control
plane more often, because it polls for commands continuously and a poll takes at most twenty seconds."""


def unreachable_before(session: Session, moment: datetime) -> datetime | None:
    """Return the limit for reachability: a run is unreachable if its last contact was before this time. Return None if the API has not been
    running for long enough to decide which runs are unreachable."""
    since = alive_since(session, moment, (Component.API,))
    return moment - RUN_UNREACHABLE_AFTER if since is not None and since <= moment - RUN_UNREACHABLE_AFTER else None


def shown_state(run: Run, limit: datetime | None) -> RunState:
    """Return the state of a run as the API shows it. ``limit`` is the result of ``unreachable_before``. A run whose driver has not reported yet
    is starting, not unreachable."""
    if limit is None or run.ended_at is not None or run.last_contact_at is None or run.last_contact_at >= limit:
        return run.state
    return RunState.RECONCILING
