"""What is old enough is forgotten, in bites, and nothing else."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import func, select, update
from tests.backend.conftest import RecordedTasks
from tests.backend.jobs import completed, new_job, new_run, numbered, sample, triggered

from weir.protocol.events import MetricsSampled
from weir_backend.housekeeping import repository, service
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.link.service import KnownRun, store
from weir_backend.models import (
    Alert,
    AlertKind,
    AlertState,
    Checkpoint,
    CheckpointState,
    Delivery,
    Event,
    MessageAbout,
    MetricSample,
    Webhook,
)
from weir_backend.settings import Settings


def history(database: Database) -> None:
    """Samples, events, a completed checkpoint and one that has failed."""
    run = new_run(database)
    told = [MetricsSampled(sample(0, second)) for second in range(5)]
    with database.session() as session:
        known = KnownRun(run.id, run.job_id, False, 0, None)
        store(session, RecordedTasks(), known, numbered([*told, triggered(1), completed(1), triggered(2)]), oldest=1)
        session.execute(update(Checkpoint).where(Checkpoint.number == 2).values(state=CheckpointState.FAILED))


def counted(database: Database) -> dict[str, int]:
    with database.session() as session:
        return {
            table.__tablename__: session.scalar(select(func.count()).select_from(table)) or 0
            for table in (MetricSample, Event, Checkpoint)
        }


def test_what_is_new_stays_and_what_is_old_goes_but_for_completed_checkpoints(database: Database, settings: Settings) -> None:
    history(database)
    before = counted(database)
    assert before == {"metric_samples": 5, "events": 3, "checkpoints": 2}
    old = now() - timedelta(days=1_000)
    with database.session() as session:
        # As told by drivers: they are of a fixed time, which is long ago for samples that are kept for a day.
        session.execute(update(MetricSample).values(at=now()))
        session.execute(update(Checkpoint).values(triggered_at=now()))
    for chore in service.CHORES:
        with database.session() as session:
            assert chore.do(session, settings) == 0, chore.name
    assert counted(database) == before
    with database.session() as session:
        session.execute(update(MetricSample).values(at=old))
        session.execute(update(Event).values(received_at=old))
        session.execute(update(Checkpoint).values(triggered_at=old))
    for chore in service.CHORES:
        with database.session() as session:
            chore.do(session, settings)
    assert counted(database) == {"metric_samples": 0, "events": 0, "checkpoints": 1}


def test_alerts_that_are_over_and_messages_are_forgotten_and_what_fires_or_waits_stays(
    database: Database, settings: Settings
) -> None:
    job_id, old = new_job(database), now() - timedelta(days=1_000)
    with database.session() as session:
        webhook = Webhook(name="ops", url="http://127.0.0.1/")
        session.add(webhook)
        session.flush()
        for state, resolved_at in ((AlertState.FIRING, None), (AlertState.RESOLVED, now()), (AlertState.RESOLVED, old)):
            alert = Alert(
                rule_name="r",
                kind=AlertKind.FAILURES,
                job_id=job_id,
                state=state,
                message="m",
                since=old,
                resolved_at=resolved_at,
            )
            session.add(alert)
            session.flush()
            for about, ended_at in ((MessageAbout.FIRING, old), (MessageAbout.RESOLVED, None)):
                session.add(Delivery(alert_id=alert.id, webhook_id=webhook.id, about=about, next_try_at=old, ended_at=ended_at))
    for chore in service.CHORES:
        with database.session() as session:
            chore.do(session, settings)
    with database.session() as session:
        assert session.scalar(select(func.count()).select_from(Alert)) == 2
        assert [one.about for one in session.scalars(select(Delivery))] == [MessageAbout.RESOLVED] * 2


def test_it_is_done_in_bites(database: Database) -> None:
    history(database)
    with database.session() as session:
        assert [repository.forget_samples(session, now() + timedelta(days=1), 2) for _ in range(4)] == [2, 2, 1, 0]
