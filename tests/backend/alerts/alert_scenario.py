"""Jobs, alert rules and a simulated clock for tests of alerts."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, select
from tests.backend.conftest import RecordedTasks
from tests.backend.jobs import RunHandle, new_job, new_run

from weir.protocol.events import DriverState, Event, NumberedEvent, RunStateChanged
from weir.protocol.ids import EventNumber, Generation
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.kit.heartbeats import Component
from weir_backend.link import service as link
from weir_backend.models import Alert, AlertKind, AlertRule, Delivery, Heartbeat, Webhook
from weir_backend.models import Event as Row
from weir_backend.settings import Settings
from weir_workers.context import Context
from weir_workers.tasks import alerts

RUN_STARTED = RunStateChanged(DriverState.RUNNING, Generation(1))


@dataclass
class AlertScenario:
    """Jobs and alert rules in a database without the default alert rules. Times count from ``began``."""

    database: Database
    settings: Settings
    began: datetime = field(default_factory=now)
    tasks: RecordedTasks = field(default_factory=RecordedTasks)

    def __post_init__(self) -> None:
        with self.database.session() as session:
            session.execute(delete(AlertRule))
        self.record_heartbeats()

    @property
    def context(self) -> Context:
        return Context(self.settings, self.database, self.tasks, "here", os.getpid())

    def record_heartbeats(self, *, since: datetime | None = None, seen: datetime | None = None) -> None:
        """Record heartbeats of all components from ``since`` until ``seen``, by default from three days before to three days after ``began``."""
        begin, end = since or self.began - timedelta(days=3), seen or self.began + timedelta(days=3)
        with self.database.session() as session:
            session.execute(delete(Heartbeat))
            session.add_all(Heartbeat(component=component.value, since=begin, seen_at=end) for component in Component)

    def rule(self, kind: AlertKind, *, job_id: int | None = None, webhook_id: int | None = None, **parameters: Any) -> int:
        with self.database.session() as session:
            rule = AlertRule(job_id=job_id, name=f"{kind.value} rule", kind=kind, parameters=parameters, webhook_id=webhook_id)
            session.add(rule)
            session.flush()
            return rule.id

    def webhook(self, url: str = "http://127.0.0.1:1/nothing", name: str = "ops", **more: Any) -> int:
        with self.database.session() as session:
            webhook = Webhook(name=name, url=url, **more)
            session.add(webhook)
            session.flush()
            return webhook.id

    def running(self, name: str | None = None) -> RunHandle:
        run = new_run(self.database, new_job(self.database, name))
        self.send_events(run, RUN_STARTED)
        return run

    def send_events(self, run: RunHandle, *events: Event, at: datetime | None = None) -> None:
        """Send the next events of the run. ``at`` is the time of the events by the clock of the driver."""
        with self.database.session() as session:
            known = link.known_run(session, run.id, run.token)
            stored = link.repository.locked(session, known.job_id, run.id)[1].stored_event
            at_ms = int((at or now()).timestamp() * 1000)
            numbered = [NumberedEvent(EventNumber(stored + place), at_ms, event) for place, event in enumerate(events, 1)]
            link.store(session, self.tasks, known, numbered, oldest=stored + 1)

    def evaluate(self, after: timedelta = timedelta(0)) -> None:
        """Evaluate all rules at the time ``began`` + ``after``."""
        alerts.evaluate(self.context, self.began + after)

    def alerts(self) -> list[Alert]:
        with self.database.session() as session:
            return list(session.scalars(select(Alert).order_by(Alert.id)))

    def states(self) -> list[str]:
        return [one.state.value for one in self.alerts()]

    def deliveries(self) -> list[Delivery]:
        with self.database.session() as session:
            return list(session.scalars(select(Delivery).order_by(Delivery.id)))

    def events_of(self, job_id: int, kind: str) -> list[dict[str, Any]]:
        """Return the fields of the job's events of kind ``kind``."""
        with self.database.session() as session:
            rows = session.scalars(select(Row).where(Row.job_id == job_id, Row.kind == kind).order_by(Row.number))
            return [dict(row.fields) for row in rows]
