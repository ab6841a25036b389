"""Runs of which nothing is heard: shown as RECONCILING, since nobody knows what they do. What is stored is what they told last."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from weir_backend.kit.presence import Part, there_since
from weir_backend.models import Run, RunState

QUIET_FOR = timedelta(seconds=45)
"""A driver asks for commands all the time: an answer takes twenty seconds at the most."""


def quiet_before(session: Session, moment: datetime) -> datetime | None:
    """Who was last heard before that is out of reach. None: the API itself has not been there for long enough to say so of anybody."""
    since = there_since(session, moment, (Part.API,))
    return moment - QUIET_FOR if since is not None and since <= moment - QUIET_FOR else None


def shown_state(run: Run, quiet: datetime | None) -> RunState:
    """``quiet``: see ``quiet_before``. One whose driver has not said anything yet is being started."""
    if quiet is None or run.ended_at is not None or run.last_contact_at is None or run.last_contact_at >= quiet:
        return run.state
    return RunState.RECONCILING
