"""Heartbeats of the API, the alert evaluation and the hosts of drivers.

Heartbeats show when the control plane itself was down. A driver or a host that was silent during this time is not necessarily unreachable, and its
silence must not fire an alert. All processes of a component (the API or the alert evaluation) share one heartbeat, because a component is up if one
of its processes is up.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, SQLColumnExpression, case, delete, func, literal, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from weir_backend.models import Heartbeat

HEARTBEAT_INTERVAL_S = 5.0
"""The time between two heartbeats of the API."""


class Component(StrEnum):
    API = "api"
    """The heartbeat ``API`` shows that drivers can deliver events."""
    ALERTS = "alerts"
    """The heartbeat ``ALERTS`` shows that workers can reconcile jobs and evaluate alert rules: Celery beat, the task queue and a worker are
    up."""


GAP_MAX = {Component.API: timedelta(seconds=30), Component.ALERTS: timedelta(seconds=60)}
"""The maximum time between two heartbeats of a component. If the time between two heartbeats exceeds ``GAP_MAX``, the component was down in
the meantime."""
_HOST_PREFIX = "m:"


def record_heartbeat(session: Session, component: Component, moment: datetime) -> None:
    _record(session, component.value, moment, GAP_MAX[component])


def record_host_heartbeat(session: Session, host: str, moment: datetime) -> None:
    """Record that a worker on ``host`` is up and can check the drivers on this host. While the host has drivers, its workers record this
    heartbeat every few seconds."""
    _record(session, _HOST_PREFIX + host, moment, GAP_MAX[Component.ALERTS])


def host_component(host: SQLColumnExpression[str | None]) -> ColumnElement[str]:
    """Return an SQL expression for the value of ``Heartbeat.component`` in the row of a host."""
    return literal(_HOST_PREFIX) + host


def delete_host_heartbeats(session: Session, before: datetime) -> int:
    """Delete the rows of hosts whose last heartbeat is older than ``before``. Return their number."""
    result: Any = session.execute(
        delete(Heartbeat).where(Heartbeat.component.startswith(_HOST_PREFIX), Heartbeat.seen_at < before)
    )
    return int(result.rowcount)


def _record(session: Session, component: str, moment: datetime, gap_max: timedelta) -> None:
    row = insert(Heartbeat).values(component=component, since=moment, seen_at=moment)
    uninterrupted = Heartbeat.seen_at >= moment - gap_max
    session.execute(
        row.on_conflict_do_update(
            index_elements=[Heartbeat.component],
            set_={
                "since": case((uninterrupted, Heartbeat.since), else_=row.excluded.since),
                "seen_at": func.greatest(Heartbeat.seen_at, row.excluded.seen_at),
            },
        )
    )


def last_seen(session: Session, component: Component) -> datetime | None:
    """Return the time of the newest heartbeat of a component, or None if there is no heartbeat."""
    return session.scalar(select(Heartbeat.seen_at).where(Heartbeat.component == component.value))


def alive_since(session: Session, moment: datetime, components: Collection[Component] = tuple(Component)) -> datetime | None:
    """Return the time since which all ``components`` have been up, or None if a component is down or has never been up."""
    rows = {
        component: (since, seen_at)
        for component, since, seen_at in session.execute(select(Heartbeat.component, Heartbeat.since, Heartbeat.seen_at))
    }
    if any(component not in rows or rows[component][1] < moment - GAP_MAX[component] for component in components):
        return None
    return max(rows[component][0] for component in components)
