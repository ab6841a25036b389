"""Deletion of the files of ended runs, including crashes between the deletion of files and the update of a row."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.backend.conftest import Login, RecordedTasks
from tests.backend.jobs import new_job, new_run

from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.kit.tasks import DELETE_RUN_FILES
from weir_backend.models import Job, Role, Run, RunState
from weir_backend.runs import cleanup
from weir_backend.settings import Settings
from weir_workers.context import Context
from weir_workers.drivers.cleanup import finish_interrupted, remove
from weir_workers.drivers.run_directory import RunDirectory
from weir_workers.tasks import run_cleanup
from weir_workers.tasks.run_cleanup import delete_old_files

HOST = "here"


@pytest.fixture
def context(settings: Settings, database: Database, tasks: RecordedTasks) -> Context:
    limited_settings = settings.model_copy(
        update={"run_files_kept_days": 10.0, "run_files_kept_last": 1, "run_files_kept_max": 4}
    )
    return Context(limited_settings, database, tasks, HOST, os.getpid())


def ended_run(context: Context, job_id: int, *, days: float, host: str = HOST) -> Run:
    """Create a run that ended ``days`` ago, with a log and code on disk."""
    made = new_run(context.database, job_id)
    with context.database.session() as session:
        run = session.get_one(Run, made.id)
        run.state, run.host, run.submitted_at = RunState.FAILED, host, now()
        run.ended_at = now() - timedelta(days=days)
    directory = RunDirectory.of(context.settings.data_dir, run.directory)
    directory.make()
    directory.log.write_text("it failed\n")
    directory.code.mkdir()
    (directory.code / "job.py").write_text("pass\n")
    return run


def have_files(context: Context, *runs: Run) -> list[bool]:
    """Return for each run whether it has files. Fails if ``files_cleared_at`` in the database
    contradicts the result."""
    found = []
    with context.database.session() as session:
        for run in runs:
            exists = RunDirectory.of(context.settings.data_dir, run.directory).path.exists()
            assert exists == (session.get_one(Run, run.id).files_cleared_at is None), run.number
            found.append(exists)
    return found


def clean_up(context: Context) -> None:
    delete_old_files(context, lambda: 0.0)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    yield
    os.close(descriptor)


def test_files_of_old_runs_are_deleted_except_those_of_the_newest_run_of_each_job(context: Context) -> None:
    one, other = new_job(context.database), new_job(context.database)
    runs = [ended_run(context, one, days=days) for days in (30, 20, 9, 1)]
    only_run = ended_run(context, other, days=1_000)
    clean_up(context)
    assert have_files(context, *runs, only_run) == [False, False, True, True, True]
    clean_up(context)
    assert have_files(context, *runs, only_run) == [False, False, True, True, True]


def test_only_the_newest_of_many_recent_runs_keep_their_files(context: Context) -> None:
    job = new_job(context.database)
    runs = [ended_run(context, job, days=0) for _ in range(7)]
    clean_up(context)
    assert have_files(context, *runs) == [False] * 3 + [True] * 4


def test_all_run_directories_of_a_deleted_job_are_deleted(context: Context) -> None:
    job = new_job(context.database)
    run = ended_run(context, job, days=0)
    with context.database.session() as session:
        session.get_one(Job, job).deleted_at = now()
    clean_up(context)
    assert have_files(context, run) == [False]


@pytest.mark.parametrize("what", ["lock", "starting"])
def test_files_of_a_live_driver_are_kept_even_if_its_run_counts_as_ended(context: Context, what: str) -> None:
    job = new_job(context.database)
    run = ended_run(context, job, days=100)
    ended_run(context, job, days=0)
    with locked(RunDirectory.of(context.settings.data_dir, run.directory).path / what):
        clean_up(context)
        assert have_files(context, run) == [True]
    clean_up(context)
    assert have_files(context, run) == [False]


def test_files_of_a_live_run_are_kept(context: Context) -> None:
    job = new_job(context.database)
    live = new_run(context.database, job)
    with context.database.session() as session:
        run = session.get_one(Run, live.id)
        run.host = HOST
        session.get_one(Job, job).deleted_at = now()
    directory = RunDirectory.of(context.settings.data_dir, run.directory)
    directory.make()
    clean_up(context)
    assert have_files(context, run) == [True]


def test_each_host_deletes_only_files_of_its_own_runs(context: Context, tasks: RecordedTasks) -> None:
    job = new_job(context.database)
    elsewhere, here = ended_run(context, job, days=100, host="elsewhere"), ended_run(context, job, days=100)
    newest = ended_run(context, job, days=100)
    with context.database.session() as session:
        assert sorted(cleanup.enqueue_due(session, context.settings, tasks)) == ["elsewhere", HOST]
    assert tasks.enqueued == [(DELETE_RUN_FILES, ()), (DELETE_RUN_FILES, ())]
    clean_up(context)
    assert have_files(context, elsewhere, here, newest) == [True, False, True]
    with context.database.session() as session:
        assert cleanup.enqueue_due(session, context.settings, tasks) == ["elsewhere"], "hosts without old files get no task"


class SimulatedCrash(BaseException):
    """Simulates the crash of a worker."""


@pytest.mark.parametrize("crash_point", ["renamed", "half removed", "removed"])
def test_the_next_worker_finishes_a_deletion_after_a_crash(
    context: Context, monkeypatch: pytest.MonkeyPatch, crash_point: str
) -> None:
    job = new_job(context.database)
    run = ended_run(context, job, days=100)
    newest = ended_run(context, job, days=0)

    def crash(path: Path) -> None:
        if crash_point == "half removed":
            (path / "driver.log").unlink()
        raise SimulatedCrash

    def crash_late(*_: Any) -> None:
        raise SimulatedCrash

    with monkeypatch.context() as patched:
        if crash_point == "removed":
            patched.setattr(cleanup, "mark_cleaned_up", crash_late)
        else:
            patched.setattr(shutil, "rmtree", crash)
        with pytest.raises(SimulatedCrash):
            clean_up(context)
    with context.database.session() as session:
        assert session.get_one(Run, run.id).files_cleared_at is None
    clean_up(context)
    assert have_files(context, run, newest) == [False, True]
    assert [one.name for one in (context.settings.data_dir / "runs").iterdir()] == [newest.directory], (
        "no partly deleted directory remains"
    )


def test_a_directory_that_cannot_be_deleted_does_not_delay_the_deletion_of_other_directories(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = new_job(context.database)
    runs = [ended_run(context, job, days=100) for _ in range(3)]
    real = run_cleanup.remove

    def remove_or_fail(directory: RunDirectory) -> bool:
        if directory.path.name == runs[0].directory:
            raise PermissionError(13, "Permission denied")
        return real(directory)

    monkeypatch.setattr(run_cleanup, "remove", remove_or_fail)
    clean_up(context)
    assert have_files(context, *runs) == [True, False, True]


def test_a_round_ends_at_its_time_limit(context: Context) -> None:
    job = new_job(context.database)
    runs = [ended_run(context, job, days=100) for _ in range(4)]
    times = iter([0.0, 0.0, 0.0, 11.0, 11.0])
    delete_old_files(context, lambda: next(times))
    assert have_files(context, *runs) == [False, True, True, True]


def test_the_api_reports_that_the_log_of_a_run_was_deleted(client: TestClient, context: Context, login: Login) -> None:
    job = new_job(context.database)
    run = ended_run(context, job, days=100)
    ended_run(context, job, days=0)
    headers = login(Role.VIEWER)
    url = f"/api/v1/runs/{run.id}/log"
    assert client.get(url, headers=headers).text == "it failed\n"
    clean_up(context)
    answer = client.get(url, headers=headers)
    assert answer.status_code == 410 and answer.json()["code"] == "log-removed" and "was deleted on" in answer.json()["detail"]
    shown = client.get(f"/api/v1/runs/{run.id}", headers=headers).json()
    assert shown["directory"] == run.directory and shown["files_cleared_at"] is not None


def test_removing_a_directory_twice_has_no_further_effect(tmp_path: Path) -> None:
    directory = RunDirectory.of(tmp_path, "one")
    directory.make()
    assert remove(directory) and remove(directory) and finish_interrupted(tmp_path) == 0
    assert list((tmp_path / "runs").iterdir()) == []


def test_cleanup_finishes_a_deletion_that_an_older_version_of_weir_started(tmp_path: Path) -> None:
    (tmp_path / "runs" / ".going-one" / "code").mkdir(parents=True)
    assert finish_interrupted(tmp_path) == 1
    assert list((tmp_path / "runs").iterdir()) == []
