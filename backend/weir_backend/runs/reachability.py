"""Unreachable runs. The API returns their state as RECONCILING, because it is unknown. The stored state is the last reported one."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from weir_backend.kit.heartbeats import Component, alive_since
from weir_backend.models import Run, RunState

UNREACHABLE_AFTER = timedelta(seconds=45)
"""A run is unreachable after this time without contact. The time is longer than the longest time between two contacts, because the driver polls for
commands continuously and a poll takes at most twenty seconds."""


def unreachable_before(session: Session, moment: datetime) -> datetime | None:
    """Return the time limit for reachability: a run is unreachable if its last contact was before this time. Return None if the API has not run for
    long enough to know."""
    since = alive_since(session, moment, (Component.API,))
    return moment - UNREACHABLE_AFTER if since is not None and since <= moment - UNREACHABLE_AFTER else None


def shown_state(run: Run, limit: datetime | None) -> RunState:
    """Return the state to show. ``limit``: from ``unreachable_before``. A run whose driver has not reported yet is starting, not unreachable."""
    if limit is None or run.ended_at is not None or run.last_contact_at is None or run.last_contact_at >= limit:
        return run.state
    return RunState.RECONCILING
