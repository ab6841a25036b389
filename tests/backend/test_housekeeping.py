"""Housekeeping deletes only old rows, and each statement deletes a limited number of rows."""

from __future__ import annotations

import itertools
from datetime import datetime, timedelta

import pytest
from sqlalchemy import func, select, update
from tests.backend.conftest import RecordedTasks
from tests.backend.jobs import completed, end_run, new_job, new_run, numbered, sample, triggered

from weir.protocol.events import MetricsSampled
from weir_backend.housekeeping import repository, service
from weir_backend.housekeeping.batches import Batch
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.link.service import KnownRun, store
from weir_backend.metrics import repository as metrics
from weir_backend.models import (
    Alert,
    AlertKind,
    AlertState,
    AuditEntry,
    Checkpoint,
    CheckpointState,
    Command,
    Delivery,
    Event,
    Failure,
    Job,
    MessageKind,
    MetricSample,
    Operation,
    OperationKind,
    OperationState,
    PlanKind,
    PlanState,
    RecoveryPlan,
    Run,
    Webhook,
)
from weir_backend.settings import Settings


def create_rows(database: Database) -> None:
    """Create samples, events, a completed checkpoint and a failed checkpoint."""
    run = new_run(database)
    events = [MetricsSampled(sample(0, second)) for second in range(5)]
    with database.session() as session:
        known = KnownRun(run.id, run.job_id, False, 0, None)
        store(session, RecordedTasks(), known, numbered([*events, triggered(1), completed(1), triggered(2)]), oldest=1)
        session.execute(update(Checkpoint).where(Checkpoint.number == 2).values(state=CheckpointState.FAILED))


def counted(database: Database) -> dict[str, int]:
    with database.session() as session:
        return {
            table.__tablename__: session.scalar(select(func.count()).select_from(table)) or 0
            for table in (MetricSample, Event, Checkpoint)
        }


def test_old_rows_other_than_completed_checkpoints_are_deleted(database: Database, settings: Settings) -> None:
    create_rows(database)
    before = counted(database)
    assert before == {"metric_samples": 5, "events": 3, "checkpoints": 2}
    old = now() - timedelta(days=1_000)
    with database.session() as session:
        # Samples are kept for one day, but ``create_rows`` creates samples that are older.
        session.execute(update(MetricSample).values(at=now()))
        session.execute(update(Checkpoint).values(triggered_at=now()))
    for cleanup in service.CLEANUPS:
        with database.session() as session:
            assert cleanup.run(session, settings) == Batch(0, more=False), cleanup.name
    assert counted(database) == before
    with database.session() as session:
        session.execute(update(MetricSample).values(at=old))
        session.execute(update(Event).values(received_at=old))
        session.execute(update(Checkpoint).values(triggered_at=old))
    for cleanup in service.CLEANUPS:
        with database.session() as session:
            cleanup.run(session, settings)
    assert counted(database) == {"metric_samples": 0, "events": 0, "checkpoints": 1}


def make_old(database: Database) -> None:
    with database.session() as session:
        session.execute(update(MetricSample).values(at=now() - timedelta(days=1_000)))
        session.execute(update(Event).values(received_at=now() - timedelta(days=1_000)))
        session.execute(update(Checkpoint).values(triggered_at=now()))


def test_a_round_deletes_all_old_rows_of_all_tables(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_rows(database)
    make_old(database)
    monkeypatch.setattr(service, "BATCH_ROWS", 2)
    removed = service.run_round(database.session, settings, lambda: 0.0)
    assert {name: rows for name, rows in removed.items() if rows} == {"metric samples": 5, "events": 3}
    assert counted(database) == {"metric_samples": 0, "events": 0, "checkpoints": 2}


def test_a_round_ends_at_its_time_limit_and_the_next_round_continues(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_rows(database)
    make_old(database)
    monkeypatch.setattr(service, "BATCH_ROWS", 2)
    clock = itertools.count(step=service.ROUND_S / 1.5)  # the third reading of the clock exceeds the time limit
    assert service.run_round(database.session, settings, lambda: next(clock))["metric samples"] == 2
    assert counted(database)["metric_samples"] == 3
    assert service.run_round(database.session, settings, lambda: 0.0)["metric samples"] == 3


def test_the_oldest_rows_are_deleted_first(database: Database) -> None:
    create_rows(database)
    with database.session() as session:
        newest = session.scalars(select(MetricSample.at).order_by(MetricSample.at.desc())).first()
        assert repository.delete_samples(session, now() + timedelta(days=10_000), 4) == 4
        assert session.scalars(select(MetricSample.at)).all() == [newest]


def test_old_resolved_alerts_and_ended_deliveries_are_deleted(database: Database, settings: Settings) -> None:
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
            for message_kind, ended_at in ((MessageKind.FIRING, old), (MessageKind.RESOLVED, None)):
                session.add(
                    Delivery(
                        alert_id=alert.id, webhook_id=webhook.id, message_kind=message_kind, next_try_at=old, ended_at=ended_at
                    )
                )
    for cleanup in service.CLEANUPS:
        with database.session() as session:
            cleanup.run(session, settings)
    with database.session() as session:
        assert session.scalar(select(func.count()).select_from(Alert)) == 2
        assert [one.message_kind for one in session.scalars(select(Delivery))] == [MessageKind.RESOLVED] * 2


def test_each_statement_deletes_a_limited_number_of_rows(database: Database) -> None:
    create_rows(database)
    with database.session() as session:
        assert [repository.delete_samples(session, now() + timedelta(days=1), 2) for _ in range(4)] == [2, 2, 1, 0]


def test_rows_of_unreferenced_completed_checkpoints_are_deleted_a_year_after_their_files(
    database: Database, settings: Settings
) -> None:
    run = new_run(database)
    events = [one for number in range(1, 10) for one in (triggered(number), completed(number))]
    with database.session() as session:
        store(session, RecordedTasks(), KnownRun(run.id, run.job_id, False, 0, None), numbered(events), oldest=1)
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
    for cleanup in service.CLEANUPS:
        with database.session() as session:
            cleanup.run(session, settings)
    with database.session() as session:
        remaining = sorted(session.scalars(select(Checkpoint.number)))
    assert remaining == [2, 3, 4, 5, 6, 7, 9], (
        "remaining: referenced checkpoints, checkpoints whose files exist or were deleted recently, and the newest checkpoint"
    )


LONG_AGO, RECENTLY = now() - timedelta(days=91), now() - timedelta(days=89)


def run_cleanups(database: Database, settings: Settings) -> None:
    for cleanup in service.CLEANUPS:
        with database.session() as session:
            cleanup.run(session, settings)


def test_old_ended_operations_are_deleted_unless_a_plan_refers_to_them(database: Database, settings: Settings) -> None:
    job_id, run = new_job(database), new_run(database)
    common = {"job_id": job_id, "kind": OperationKind.SAVEPOINT, "deadline_at": LONG_AGO, "request": {}}
    plan = {"job_id": job_id, "kind": PlanKind.ROLLBACK, "job_version": 1, "request": {}, "preview": {}, "signature": b""}
    with database.session() as session:
        ended = {"state": OperationState.SUCCEEDED, "ended_at": LONG_AGO}
        operations = {
            "ended": Operation(**common, **ended, created_at=LONG_AGO),
            "running": Operation(**common, state=OperationState.RUNNING, created_at=LONG_AGO),
            "recent": Operation(**common, **ended, created_at=RECENTLY),
            "of a plan": Operation(**common, **ended, created_at=LONG_AGO),
        }
        session.add_all(operations.values())
        session.flush()
        of_plan = operations["of a plan"].id
        session.add_all(
            [
                RecoveryPlan(**plan, state=PlanState.APPLIED, operation_id=of_plan, created_at=LONG_AGO),
                RecoveryPlan(**plan, state=PlanState.APPROVED, created_at=LONG_AGO),
                RecoveryPlan(**plan, state=PlanState.PROPOSED, created_at=RECENTLY),
                RecoveryPlan(**plan, state=PlanState.PROPOSED, created_at=LONG_AGO),
                RecoveryPlan(**plan, state=PlanState.DISCARDED, created_at=LONG_AGO),
                Command(
                    run_id=run.id, number=1, kind="a", outcome="DONE", created_at=LONG_AGO, operation_id=operations["ended"].id
                ),
                Command(run_id=run.id, number=2, kind="b", created_at=LONG_AGO),
                Command(run_id=run.id, number=3, kind="c", outcome="DONE", created_at=RECENTLY),
                AuditEntry(user_name="weir", action="a", resource="job", at=now() - timedelta(days=1_096)),
                AuditEntry(user_name="weir", action="b", resource="job", at=now() - timedelta(days=1_094)),
            ]
        )
        kept = {one.id for name, one in operations.items() if name != "ended"}

    def remaining() -> tuple[object, ...]:
        with database.session() as session:
            return (
                set(session.scalars(select(Operation.id))),
                sorted(one.value for one in session.scalars(select(RecoveryPlan.state))),
                sorted(session.scalars(select(Command.number))),
                sorted(session.scalars(select(AuditEntry.action))),
            )

    run_cleanups(database, settings)
    assert remaining() == (kept, ["APPLIED", "APPROVED", "PROPOSED"], [2, 3], ["b"])
    end_run(database, run)
    run_cleanups(database, settings)
    assert remaining()[2] == [3], "command 2 is deleted, because its run has ended"


def test_the_counters_still_include_failures_that_were_deleted(database: Database, settings: Settings) -> None:
    run, other = new_run(database), new_run(database)
    of_run = {"job_id": run.job_id, "run_id": run.id, "reason": "r", "at": LONG_AGO}
    with database.session() as session:
        for recovery, downtime_ms, received_at in (
            ("full", 100, LONG_AGO), ("restart", 20, LONG_AGO), ("none", 3, LONG_AGO), (None, None, LONG_AGO), ("full", 4_000, RECENTLY),
            ("restart", None, LONG_AGO), ("regional", 5, RECENTLY),
        ):  # fmt: skip
            session.add(Failure(**of_run, generation=1, recovery=recovery, downtime_ms=downtime_ms, received_at=received_at))

    def counted() -> dict[int, tuple[int, int]]:
        with database.session() as session:
            return {row.job_id: (row.count, row.downtime_ms) for row in metrics.recoveries(session)}

    assert counted() == {run.job_id: (5, 4_125), other.job_id: (0, 0)}
    with database.session() as session:
        assert repository.delete_failures(session, now() - timedelta(days=90), 2) == 2, (
            "a statement deletes a limited number of rows"
        )
        assert repository.delete_failures(session, now() - timedelta(days=90), 100) == 2
        assert repository.delete_failures(session, now() - timedelta(days=90), 100) == 0
        remaining = session.execute(select(Failure.recovery, Failure.downtime_ms).order_by(Failure.id)).all()
    assert [tuple(one) for one in remaining] == [(None, None), ("full", 4_000), ("regional", 5)]
    assert counted() == {run.job_id: (5, 4_125), other.job_id: (0, 0)}, "deleting failures does not lower the counters"


def test_only_the_informative_runs_of_a_repeatedly_failing_job_are_kept(database: Database, settings: Settings) -> None:
    job_id = new_job(database)
    runs: list[int] = []

    def ended_run(mode: str = "resume", *, generation: int = 0, ran: bool = False, ended: datetime = LONG_AGO) -> int:
        run = new_run(database, job_id, start={"mode": mode} if mode == "resume" else {"mode": mode, "checkpoint": 1})
        end_run(database, run)
        with database.session() as session:
            stored = session.get_one(Run, run.id)
            stored.generation, stored.ended_at, stored.running_at = generation, ended, ended if ran else None
        runs.append(run.id)
        return run.id

    first = ended_run(generation=1, ran=True)
    with database.session() as session:
        checkpoint = {"number": 1, "generation": 1, "trigger": "periodic", "is_savepoint": False, "subtasks": 1}
        session.add(Checkpoint(job_id=job_id, run_id=first, state=CheckpointState.COMPLETED, triggered_at=LONG_AGO, **checkpoint))
    uninformative = [ended_run(), ended_run(generation=2, ran=True), ended_run("from"), ended_run()]
    newest_that_ran = ended_run(generation=3, ran=True)
    newest_rollback = ended_run("from")
    uninformative.append(ended_run())  # this run continued from the restored checkpoint, but completed no checkpoint
    newest_in_log = ended_run(generation=4)
    recent = ended_run(ended=RECENTLY)
    uninformative.append(ended_run())
    newest = ended_run()
    # The run that restored the first checkpoint is an ancestor of a later run that is kept.
    kept_rollback = uninformative[2]

    def remaining() -> list[int]:
        with database.session() as session:
            return list(session.scalars(select(Run.id).order_by(Run.id)))

    run_cleanups(database, settings)
    kept = [first, kept_rollback, newest_that_ran, newest_rollback, newest_in_log, recent, newest]
    assert remaining() == kept
    run_cleanups(database, settings)
    assert remaining() == kept


def test_rows_of_a_deleted_job_are_deleted_after_a_year_and_other_jobs_are_kept(database: Database, settings: Settings) -> None:
    runs = [new_run(database) for _ in range(3)]
    for run in runs:
        events = [triggered(1), completed(1)]
        with database.session() as session:
            store(session, RecordedTasks(), KnownRun(run.id, run.job_id, False, 0, None), numbered(events), oldest=1)
        end_run(database, run)
    long_ago, recent, kept = runs
    with database.session() as session:
        session.get_one(Job, long_ago.job_id).deleted_at = now() - timedelta(days=366)
        session.get_one(Job, recent.job_id).deleted_at = now() - timedelta(days=364)

    def remaining_jobs() -> list[int]:
        for cleanup in service.CLEANUPS:
            with database.session() as session:
                cleanup.run(session, settings)
        with database.session() as session:
            return sorted(session.scalars(select(Job.id)))

    assert remaining_jobs() == [long_ago.job_id, recent.job_id, kept.job_id], "a deleted job is kept as long as it has events"
    with database.session() as session:
        assert sorted(session.scalars(select(Checkpoint.job_id))) == [recent.job_id, kept.job_id]
        session.execute(update(Event).values(received_at=now() - timedelta(days=1_000)))
    assert remaining_jobs() == [recent.job_id, kept.job_id]
    with database.session() as session:
        assert sorted(session.scalars(select(Run.job_id))) == [recent.job_id, kept.job_id]
