"""Unreachable runs: they are shown as RECONCILING, since their state is unknown. The stored state is the last one that they reported."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from weir_backend.kit.heartbeats import Component, alive_since
from weir_backend.models import Run, RunState

UNREACHABLE_AFTER = timedelta(seconds=45)
"""A driver polls for commands all the time; one poll takes twenty seconds at most."""


def unreachable_before(session: Session, moment: datetime) -> datetime | None:
    """Return the time before which a run was last heard of if it is unreachable. None: unknown, as the API has not run for long enough."""
    since = alive_since(session, moment, (Component.API,))
    return moment - UNREACHABLE_AFTER if since is not None and since <= moment - UNREACHABLE_AFTER else None


def shown_state(run: Run, quiet: datetime | None) -> RunState:
    """``quiet``: see ``unreachable_before``. A run whose driver has not reported yet is starting."""
    if quiet is None or run.ended_at is not None or run.last_contact_at is None or run.last_contact_at >= quiet:
        return run.state
    return RunState.RECONCILING
