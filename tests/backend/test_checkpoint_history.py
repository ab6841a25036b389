"""Old checkpoints are thinned in the database, and the API, the counters and the lineage remain correct."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import delete, event, func, select, text, update
from sqlalchemy.orm import Session
from tests.backend.conftest import Login
from tests.backend.jobs import RunHandle, completed, end_run, new_run, store_events, triggered

from weir.errors import ConfigError
from weir.protocol.events import CheckpointFailed, DriverState, RunStateChanged
from weir.protocol.ids import CheckpointId, Generation
from weir_backend.checkpoints import repository as checkpoints
from weir_backend.checkpoints.lineage import newest_completed
from weir_backend.housekeeping import history, repository, service
from weir_backend.housekeeping.batches import Batch
from weir_backend.kit.advisory_lock import LockKind, try_transaction_lock
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.link.fencing import fence
from weir_backend.metrics import repository as metrics
from weir_backend.models import (
    Checkpoint,
    CheckpointState,
    Job,
    Operation,
    OperationKind,
    OperationState,
    PlanKind,
    PlanState,
    RecoveryPlan,
    Role,
    Run,
    RunState,
)
from weir_backend.settings import Settings
from weir_backend.settings import settings as read_settings


@pytest.fixture(autouse=True)
def few_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Always keep only the newest two checkpoints of a job, instead of 500."""
    monkeypatch.setattr(repository, "NEWEST_KEPT", 2)


@pytest.fixture
def run(database: Database) -> RunHandle:
    return new_run(database)


def begin_of_hour(age: timedelta) -> datetime:
    return (now() - age).replace(minute=0, second=0, microsecond=0)


def add_checkpoints(
    database: Database, run: RunHandle, first: datetime, count: int, *, interval: timedelta = timedelta(seconds=10), **more: Any
) -> None:
    """Add periodic checkpoints whose files are deleted."""
    with database.session() as session:
        number = session.scalar(select(func.max(Checkpoint.number)).where(Checkpoint.job_id == run.job_id)) or 0
        for index in range(count):
            at = first + index * interval
            values = {
                "job_id": run.job_id, "run_id": run.id, "number": number + 1 + index, "generation": 1,
                "state": CheckpointState.COMPLETED, "trigger": "periodic", "is_savepoint": False, "subtasks": 1, "triggered_at": at,
                "completed_at": at, "end_to_end_ms": 5, "state_bytes": 9, "discarded_at": at,
            }  # fmt: skip
            session.add(Checkpoint(**(values | more)))


def thin(database: Database, settings: Settings) -> int:
    deleted, batch = 0, Batch(0, more=True)
    while batch.more:
        with database.session() as session:
            batch = history.thin_history(session, settings)
        deleted += batch.deleted
    return deleted


def numbers(database: Database, run: RunHandle) -> list[int]:
    with database.session() as session:
        return list(session.scalars(select(Checkpoint.number).where(Checkpoint.job_id == run.job_id).order_by(Checkpoint.number)))


def test_old_checkpoints_are_thinned_to_one_per_minute_and_later_to_one_per_hour(
    database: Database, settings: Settings, run: RunHandle
) -> None:
    add_checkpoints(database, run, begin_of_hour(timedelta(days=20)), 720)  # two hours
    add_checkpoints(database, run, begin_of_hour(timedelta(days=3)), 720)
    add_checkpoints(database, run, now() - timedelta(hours=3), 60)
    expected = [360, 720, *range(726, 1441, 6), *range(1441, 1501)]
    assert thin(database, settings) == 1_500 - len(expected)
    assert numbers(database, run) == expected
    assert thin(database, settings) == 0
    with database.session() as session:
        session.execute(update(Checkpoint).values(completed_at=Checkpoint.completed_at - timedelta(days=20)))
    thin(database, settings)
    assert numbers(database, run)[:4] == [360, 720, 1080, 1440], "a kept checkpoint is judged again when it is older"


def test_settings_define_how_long_checkpoints_are_kept(database: Database, settings: Settings, run: RunHandle) -> None:
    add_checkpoints(database, run, begin_of_hour(timedelta(days=3)), 720)
    keep_all = settings.model_copy(update={"checkpoints_full_days": 4.0})
    assert thin(database, keep_all) == 0
    per_hour = settings.model_copy(update={"checkpoints_per_minute_days": 0.0})
    thin(database, per_hour)
    assert numbers(database, run) == [360, 719, 720]


def test_batches_of_any_size_keep_the_same_rows(
    database: Database, settings: Settings, run: RunHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "HISTORY_ROWS", 7)
    other = new_run(database)
    for one in (run, other):
        add_checkpoints(database, one, begin_of_hour(timedelta(days=3)), 60)
        with database.session() as session:
            session.execute(update(Checkpoint).where(Checkpoint.number == 5).values(discarded_at=None))
    with database.session() as session:
        assert history.thin_history(session, settings).more
    thin(database, settings)
    assert numbers(database, run) == numbers(database, other) == [5, *range(6, 55, 6), 59, 60]
    with database.session() as session:
        session.execute(update(Checkpoint).where(Checkpoint.number == 5).values(discarded_at=now()))
    thin(database, settings)
    assert numbers(database, run)[:2] == [6, 12], "a checkpoint whose files are deleted later is judged later"


def test_rows_that_are_needed_are_kept(database: Database, settings: Settings, run: RunHandle) -> None:
    begin = begin_of_hour(timedelta(days=20))
    names = {"job_id": run.job_id, "deadline_at": now()}
    plan = {"job_id": run.job_id, "kind": PlanKind.ROLLBACK, "job_version": 1, "request": {}, "signature": b""}
    add_checkpoints(database, run, begin, 40)
    changes: dict[int, dict[str, Any]] = {
        1: {"discarded_at": None},
        2: {"is_savepoint": True, "trigger": "savepoint"},
        3: {"pinned": True},
        4: {"damage": "a file is missing"},
        5: {"state": CheckpointState.FAILED, "discarded_at": None},
        6: {"state": CheckpointState.IN_PROGRESS, "discarded_at": None},
    }
    with database.session() as session:
        for number, values in changes.items():
            session.execute(update(Checkpoint).where(Checkpoint.number == number).values(**values))
        session.execute(update(Checkpoint).where(Checkpoint.number > 13).values(generation=2))
        session.execute(update(Job).values(next_start={"checkpoint": 10, "after_run": 1}))
        session.get_one(Run, run.id).start = {"mode": "from", "checkpoint": 11}
        session.add(RecoveryPlan(**plan, state=PlanState.APPLIED, preview={"checkpoint": 7}, safety_checkpoint=8))
        session.add(
            Operation(**names, kind=OperationKind.VERIFY, state=OperationState.SUCCEEDED, request={"checkpoint": 9}, result=None)
        )
        session.add(
            Operation(
                **names, kind=OperationKind.SAVEPOINT, state=OperationState.SUCCEEDED, request={}, result={"checkpoint": 12}
            )
        )
    end_run(database, run)
    later = new_run(database, run.job_id)
    add_checkpoints(database, later, begin + timedelta(minutes=30), 20, generation=3)
    thin(database, settings)
    kept = numbers(database, run)
    assert kept[:13] == list(range(1, 14)), "checkpoint 13 is the last checkpoint of generation 1"
    assert kept[13:] == [40, 59, 60], "the last checkpoint of a run, and the newest checkpoints"
    with database.session() as session:
        assert newest_completed(session, run.job_id, run.id) == 40, "the next run resumed from this checkpoint"


def test_no_batch_runs_while_another_process_thins_the_history(database: Database, settings: Settings, run: RunHandle) -> None:
    add_checkpoints(database, run, begin_of_hour(timedelta(days=3)), 60)
    with database.session() as other, database.session() as session:
        assert try_transaction_lock(other, LockKind.THIN_HISTORY)
        assert history.thin_history(session, settings) == Batch(0, more=False)
    assert thin(database, settings) > 0


def test_a_round_thins_only_a_limited_number_of_batches(
    database: Database, settings: Settings, run: RunHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_checkpoints(database, run, begin_of_hour(timedelta(days=3)), 60)
    monkeypatch.setattr(history, "HISTORY_ROWS", 6)
    name = "old checkpoints of the same minute or hour"
    changed = [service.Cleanup(one.name, one.run, batches_max=2) if one.name == name else one for one in service.CLEANUPS]
    monkeypatch.setattr(service, "CLEANUPS", changed)
    assert service.run_round(database.session, settings, lambda: 0.0)[name] == 10
    assert service.run_round(database.session, settings, lambda: 0.0)[name] == 10


def plan_of(database: Database, read: Callable[[Session], object]) -> str:
    """Return the plan of the first statement of ``read``."""
    found: list[tuple[str, Any]] = []
    with database.session() as session:
        session.execute(text("ANALYZE"))
    event.listen(database.engine, "before_cursor_execute", lambda *given: found.append((given[2], given[3])))
    with database.session() as session:
        read(session)
        (statement, values), *_ = found
        return "\n".join(row[0] for row in session.connection().exec_driver_sql(f"EXPLAIN {statement}", values))


def test_a_batch_reads_its_rows_through_the_index_of_the_history(database: Database, run: RunHandle) -> None:
    add_checkpoints(database, run, begin_of_hour(timedelta(days=3)), 600)
    plan = plan_of(database, lambda session: repository.history_to_judge(session, 0, now(), 100))
    assert "ix_checkpoints_history" in plan and "Sort" not in plan, plan


def test_the_newest_failed_checkpoint_and_savepoint_are_found_without_reading_other_rows(
    database: Database, run: RunHandle
) -> None:
    add_checkpoints(database, run, begin_of_hour(timedelta(days=3)), 600)
    for state, *more in ((CheckpointState.FAILED,), (CheckpointState.COMPLETED, Checkpoint.is_savepoint)):

        def read(session: Session, state: CheckpointState = state, more: list[Any] = more) -> object:
            return checkpoints.latest(session, run.job_id, state, *more)

        assert "ix_checkpoints_notable" in plan_of(database, read)


def counters(database: Database, run: RunHandle) -> tuple[int, int, int]:
    with database.session() as session:
        job = session.get_one(Job, run.job_id)
        return job.completed_checkpoints, job.failed_checkpoints, job.completed_savepoints


def failed(checkpoint: int) -> CheckpointFailed:
    return CheckpointFailed(CheckpointId(checkpoint), "declined")


def test_counters_follow_the_state_of_checkpoints(database: Database, run: RunHandle) -> None:
    store_events(database, run, triggered(1), completed(1), triggered(2), triggered(3, trigger="savepoint"))
    assert counters(database, run) == (1, 0, 0), "checkpoints in progress do not count"
    store_events(database, run, completed(2), completed(3, trigger="savepoint"), triggered(4), failed(4), first=5)
    assert counters(database, run) == (3, 1, 1)
    store_events(database, run, completed(4), first=9)
    assert counters(database, run) == (4, 0, 1), "a checkpoint that was reported as failed has completed"
    store_events(database, run, triggered(5), RunStateChanged(DriverState.RUNNING, Generation(1), "", ""), first=10)
    with database.session() as session:
        fence(session, run.job_id, run.id, state=RunState.FAILED, reason="lost")
    assert counters(database, run) == (4, 1, 1), "the run ended before checkpoint 5 was completed"


def test_counters_of_several_jobs_follow_one_statement(database: Database, run: RunHandle) -> None:
    other = new_run(database)
    for one in (run, other):
        add_checkpoints(database, one, now(), 3)
    with database.session() as session:
        session.execute(update(Checkpoint).values(state=CheckpointState.FAILED))
        session.execute(delete(Checkpoint).where(Checkpoint.number > 1))
    assert counters(database, run) == counters(database, other) == (0, 3, 0), "deleting a row does not change the counters"


def samples(client: TestClient, headers: dict[str, str]) -> dict[str, float]:
    found = client.get("/metrics", headers=headers).text.splitlines()
    return {
        line.split("{")[0]: float(line.rsplit(" ", 1)[1])
        for line in found
        if line.startswith("weir_job_") and "state=" not in line
    }


def test_the_api_and_the_metrics_show_the_same_numbers_before_and_after_thinning(
    client: TestClient, database: Database, settings: Settings, login: Login, run: RunHandle
) -> None:
    headers = login(Role.VIEWER)
    add_checkpoints(database, run, begin_of_hour(timedelta(days=3)), 720)
    add_checkpoints(
        database, run, begin_of_hour(timedelta(days=3)), 1, state=CheckpointState.FAILED, discarded_at=None, completed_at=None
    )
    add_checkpoints(database, run, now(), 1, trigger="savepoint", is_savepoint=True, discarded_at=None)
    add_checkpoints(database, run, now(), 1, state=CheckpointState.IN_PROGRESS, discarded_at=None, completed_at=None)

    def shown() -> tuple[Any, ...]:
        summary = client.get(f"/api/v1/jobs/{run.job_id}/checkpoints/summary?last=2", headers=headers).json()
        series = client.get(f"/api/v1/jobs/{run.job_id}/checkpoints/series?last=2", headers=headers).json()
        metrics = samples(client, headers)
        metrics.pop("weir_job_last_completed_checkpoint_age_seconds")
        return summary, series, metrics

    before = shown()
    assert thin(database, settings) == 600
    assert shown() == before
    summary, series, metrics = before
    assert summary["counts"] == {"in_progress": 1, "completed": 721, "failed": 1, "savepoints": 1, "total": 723}
    assert [one["number"] for one in series["checkpoints"]] == [720, 722]
    assert metrics["weir_job_number_of_completed_checkpoints"] == 721
    assert metrics["weir_job_number_of_failed_checkpoints"] == 1
    assert metrics["weir_job_number_of_in_progress_checkpoints"] == 1
    assert metrics["weir_job_last_completed_checkpoint_id"] == 722
    filter_ = f'filter={{"job_id":{run.job_id}}}&range=[0,24]&sort=["number","ASC"]'
    listed = client.get(f"/api/v1/checkpoints?{filter_}", headers=headers)
    assert [one["number"] for one in listed.json()[:3]] == [6, 12, 18]
    assert listed.headers["Content-Range"] == "checkpoints 0-24/123"


def test_metrics_read_one_checkpoint_per_job(database: Database, run: RunHandle) -> None:
    add_checkpoints(database, run, now(), 50)
    other = new_run(database)
    add_checkpoints(database, other, now(), 3, state=CheckpointState.IN_PROGRESS, discarded_at=None, completed_at=None)
    with database.session() as session:
        assert metrics.checkpoints_in_progress(session) == {other.job_id: 3}
        assert [(one.job_id, one.number) for one in metrics.last_checkpoints(session)] == [(run.job_id, 50)]


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("WEIR_CHECKPOINTS_FULL_DAYS", "0", "Input should be greater than 0"),
        ("WEIR_CHECKPOINTS_FULL_DAYS", "inf", "Input should be a finite number"),
        ("WEIR_CHECKPOINTS_PER_MINUTE_DAYS", "-1", "Input should be greater than or equal to 0"),
        ("WEIR_CHECKPOINTS_PER_MINUTE_DAYS", "1e9", "Input should be less than or equal to 365000"),
        ("WEIR_CHECKPOINTS_KEPT_DAYS", "a year", "Input should be a valid number, unable to parse string as a number"),
    ],
)
def test_a_bad_retention_is_refused_with_one_message(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, name: str, value: str, problem: str
) -> None:
    monkeypatch.setenv("WEIR_DATABASE_URL", settings.database_url.get_secret_value())
    monkeypatch.setenv("WEIR_REDIS_URL", settings.redis_url.get_secret_value())
    monkeypatch.setenv("WEIR_SECRET_KEY", settings.secret_key.get_secret_value())
    monkeypatch.setenv("WEIR_DATA_DIR", str(settings.data_dir))
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError) as error:
        read_settings.__wrapped__()
    assert str(error.value) == f"invalid settings of the control plane: {name}: {problem}"
