"""What is old enough is forgotten, in bites, and nothing else."""

from __future__ import annotations

import itertools
from datetime import timedelta

import pytest
from sqlalchemy import func, select, update
from tests.backend.conftest import RecordedTasks
from tests.backend.jobs import completed, end_run, new_job, new_run, numbered, sample, triggered

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
    Job,
    MessageAbout,
    MetricSample,
    PlanKind,
    PlanState,
    RecoveryPlan,
    Run,
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


def made_old(database: Database) -> None:
    with database.session() as session:
        session.execute(update(MetricSample).values(at=now() - timedelta(days=1_000)))
        session.execute(update(Event).values(received_at=now() - timedelta(days=1_000)))
        session.execute(update(Checkpoint).values(triggered_at=now()))


def test_a_round_takes_bites_of_all_in_turns_until_nothing_is_left(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    history(database)
    made_old(database)
    monkeypatch.setattr(service, "BITE_ROWS", 2)
    removed = service.do_round(database.session, settings, lambda: 0.0)
    assert {name: rows for name, rows in removed.items() if rows} == {"metric samples": 5, "events": 3}
    assert counted(database) == {"metric_samples": 0, "events": 0, "checkpoints": 2}


def test_a_round_ends_when_its_time_is_over_and_the_next_one_goes_on(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    history(database)
    made_old(database)
    monkeypatch.setattr(service, "BITE_ROWS", 2)
    clock = itertools.count(step=service.ROUND_S / 1.5)  # its beginning, one turn, and then it is over
    assert service.do_round(database.session, settings, lambda: next(clock))["metric samples"] == 2
    assert counted(database)["metric_samples"] == 3
    assert service.do_round(database.session, settings, lambda: 0.0)["metric samples"] == 3


def test_what_is_oldest_goes_first(database: Database) -> None:
    history(database)
    with database.session() as session:
        newest = session.scalars(select(MetricSample.at).order_by(MetricSample.at.desc())).first()
        assert repository.forget_samples(session, now() + timedelta(days=10_000), 4) == 4
        assert session.scalars(select(MetricSample.at)).all() == [newest]


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


def test_completed_checkpoints_are_forgotten_long_after_their_files_and_not_those_that_history_refers_to(
    database: Database, settings: Settings
) -> None:
    run = new_run(database)
    told = [one for number in range(1, 10) for one in (triggered(number), completed(number))]
    with database.session() as session:
        store(session, RecordedTasks(), KnownRun(run.id, run.job_id, False, 0, None), numbered(told), oldest=1)
    end_run(database, run)
    new_run(database, run.job_id, start={"mode": "from", "checkpoint": 2})
    plan = {
        "job_id": run.job_id, "kind": PlanKind.ROLLBACK, "state": PlanState.APPLIED, "job_version": 1, "request": {}, "signature": b"",
    }  # fmt: skip
    old, recent = now() - timedelta(days=366), now() - timedelta(days=364)
    with database.session() as session:
        session.add(RecoveryPlan(**plan, preview={"checkpoint": 3}, safety_checkpoint=4))
        session.add(RecoveryPlan(**plan, preview={"checkpoint": None}))
        session.execute(update(Job).values(next_start={"checkpoint": 5, "after_run": 1}))
        session.execute(update(Checkpoint).values(discarded_at=old))
        session.execute(update(Checkpoint).where(Checkpoint.number == 6).values(discarded_at=recent))
        session.execute(update(Checkpoint).where(Checkpoint.number == 7).values(discarded_at=None))
    for chore in service.CHORES:
        with database.session() as session:
            chore.do(session, settings)
    with database.session() as session:
        left = sorted(session.scalars(select(Checkpoint.number)))
    assert left == [2, 3, 4, 5, 6, 7, 9], "what was gone back to, what is not gone for long, and where the line ends"


def test_a_job_is_forgotten_long_after_it_was_deleted_and_others_are_left_alone(database: Database, settings: Settings) -> None:
    runs = [new_run(database) for _ in range(3)]
    for run in runs:
        told = [triggered(1), completed(1)]
        with database.session() as session:
            store(session, RecordedTasks(), KnownRun(run.id, run.job_id, False, 0, None), numbered(told), oldest=1)
        end_run(database, run)
    long_ago, lately, kept = runs
    with database.session() as session:
        session.get_one(Job, long_ago.job_id).deleted_at = now() - timedelta(days=366)
        session.get_one(Job, lately.job_id).deleted_at = now() - timedelta(days=364)

    def round_() -> list[int]:
        for chore in service.CHORES:
            with database.session() as session:
                chore.do(session, settings)
        with database.session() as session:
            return sorted(session.scalars(select(Job.id)))

    assert round_() == [long_ago.job_id, lately.job_id, kept.job_id], "its events are kept for their time"
    with database.session() as session:
        assert sorted(session.scalars(select(Checkpoint.job_id))) == [lately.job_id, kept.job_id]
        session.execute(update(Event).values(received_at=now() - timedelta(days=1_000)))
    assert round_() == [lately.job_id, kept.job_id]
    with database.session() as session:
        assert sorted(session.scalars(select(Run.job_id))) == [lately.job_id, kept.job_id]
