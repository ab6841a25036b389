"""Whether the control plane itself is there, and since when: what it did not see while it was away is nobody's fault.

Each part says so itself, every few seconds. Of several API processes one is enough, as drivers come to whichever answers. Machines with
drivers say so, too: see ``say_machine``.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, SQLColumnExpression, case, delete, func, literal, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from weir_backend.models import Presence

SAY_EVERY_S = 5.0
"""Of the API."""


class Part(StrEnum):
    API = "api"
    """Drivers can tell what happens."""
    ALERTS = "alerts"
    """Workers look after jobs, and at alerts: beat, the queue and a worker are there."""


GAP = {Part.API: timedelta(seconds=30), Part.ALERTS: timedelta(seconds=60)}
"""After so long without a word a part was away."""
_MACHINE = "m:"


def say(session: Session, part: Part, moment: datetime) -> None:
    """It is there."""
    _say(session, part.value, moment, GAP[part])


def say_machine(session: Session, host: str, moment: datetime) -> None:
    """A worker on it is there, which sees the drivers there. Said while it has any, more often than workers
    say anything else."""
    _say(session, _MACHINE + host, moment, GAP[Part.ALERTS])


def machine_of(host: SQLColumnExpression[str | None]) -> ColumnElement[str]:
    """What ``Presence.part`` is called of a machine."""
    return literal(_MACHINE) + host


def forget_machines(session: Session, before: datetime) -> int:
    """That have not said anything since then. How many."""
    gone: Any = session.execute(delete(Presence).where(Presence.part.startswith(_MACHINE), Presence.seen_at < before))
    return int(gone.rowcount)


def _say(session: Session, part: str, moment: datetime, gap: timedelta) -> None:
    row = insert(Presence).values(part=part, since=moment, seen_at=moment)
    went_on = Presence.seen_at >= moment - gap
    session.execute(
        row.on_conflict_do_update(
            index_elements=[Presence.part],
            set_={
                "since": case((went_on, Presence.since), else_=row.excluded.since),
                "seen_at": func.greatest(Presence.seen_at, row.excluded.seen_at),
            },
        )
    )


def there_since(session: Session, moment: datetime, parts: Collection[Part] = tuple(Part)) -> datetime | None:
    """Since when all these parts have been there. None: one of them is not, or never was."""
    rows = {
        part: (since, seen_at)
        for part, since, seen_at in session.execute(select(Presence.part, Presence.since, Presence.seen_at))
    }
    if any(part not in rows or rows[part][1] < moment - GAP[part] for part in parts):
        return None
    return max(rows[part][0] for part in parts)
