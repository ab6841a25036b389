"""Files of runs that are over: what goes when, and that dying between a file and its row does no harm."""

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
    few = settings.model_copy(update={"run_files_kept_days": 10.0, "run_files_kept_last": 1, "run_files_kept_max": 4})
    return Context(few, database, tasks, HOST, os.getpid())


def over(context: Context, job_id: int, *, days: float, host: str = HOST) -> Run:
    """A run that ended so long ago, with a log and some code on the disk."""
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


def there(context: Context, *runs: Run) -> list[bool]:
    """Which of them have files, where the rows say the same."""
    found = []
    with context.database.session() as session:
        for run in runs:
            is_there = RunDirectory.of(context.settings.data_dir, run.directory).path.exists()
            assert is_there == (session.get_one(Run, run.id).files_cleared_at is None), run.number
            found.append(is_there)
    return found


def go(context: Context) -> None:
    delete_old_files(context, lambda: 0.0)


@contextmanager
def held(path: Path) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    yield
    os.close(descriptor)


def test_old_ones_go_but_for_the_newest_of_each_job(context: Context) -> None:
    one, other = new_job(context.database), new_job(context.database)
    runs = [over(context, one, days=days) for days in (30, 20, 9, 1)]
    alone = over(context, other, days=1_000)
    go(context)
    assert there(context, *runs, alone) == [False, False, True, True, True]
    go(context)
    assert there(context, *runs, alone) == [False, False, True, True, True]


def test_of_a_job_that_fails_again_and_again_only_so_many_stay_however_young(context: Context) -> None:
    job = new_job(context.database)
    runs = [over(context, job, days=0) for _ in range(7)]
    go(context)
    assert there(context, *runs) == [False] * 3 + [True] * 4


def test_of_a_job_that_was_deleted_nothing_stays(context: Context) -> None:
    job = new_job(context.database)
    run = over(context, job, days=0)
    with context.database.session() as session:
        session.get_one(Job, job).deleted_at = now()
    go(context)
    assert there(context, run) == [False]


@pytest.mark.parametrize("what", ["lock", "starting"])
def test_a_driver_that_lives_keeps_its_files_whatever_is_known_of_it(context: Context, what: str) -> None:
    job = new_job(context.database)
    run = over(context, job, days=100)
    over(context, job, days=0)
    with held(RunDirectory.of(context.settings.data_dir, run.directory).path / what):
        go(context)
        assert there(context, run) == [True]
    go(context)
    assert there(context, run) == [False]


def test_a_run_that_is_not_over_is_left_alone(context: Context) -> None:
    job = new_job(context.database)
    live = new_run(context.database, job)
    with context.database.session() as session:
        run = session.get_one(Run, live.id)
        run.host = HOST
        session.get_one(Job, job).deleted_at = now()
    directory = RunDirectory.of(context.settings.data_dir, run.directory)
    directory.make()
    go(context)
    assert there(context, run) == [True]


def test_another_machine_clears_away_its_own(context: Context, tasks: RecordedTasks) -> None:
    job = new_job(context.database)
    elsewhere, here = over(context, job, days=100, host="elsewhere"), over(context, job, days=100)
    newest = over(context, job, days=100)
    with context.database.session() as session:
        assert sorted(cleanup.enqueue_due(session, context.settings, tasks)) == ["elsewhere", HOST]
    assert tasks.enqueued == [(DELETE_RUN_FILES, ()), (DELETE_RUN_FILES, ())]
    go(context)
    assert there(context, elsewhere, here, newest) == [True, False, True]
    with context.database.session() as session:
        assert cleanup.enqueue_due(session, context.settings, tasks) == ["elsewhere"], "who has nothing to do is not asked"


class SimulatedCrash(BaseException):
    """The process is gone."""


@pytest.mark.parametrize("cut", ["renamed", "half removed", "removed"])
def test_who_dies_between_a_file_and_its_row_is_followed_by_another(
    context: Context, monkeypatch: pytest.MonkeyPatch, cut: str
) -> None:
    job = new_job(context.database)
    run = over(context, job, days=100)
    newest = over(context, job, days=0)

    def crash(path: Path) -> None:
        if cut == "half removed":
            (path / "driver.log").unlink()
        raise SimulatedCrash

    def crash_late(*_: Any) -> None:
        raise SimulatedCrash

    with monkeypatch.context() as patched:
        if cut == "removed":
            patched.setattr(cleanup, "mark_cleaned_up", crash_late)
        else:
            patched.setattr(shutil, "rmtree", crash)
        with pytest.raises(SimulatedCrash):
            go(context)
    with context.database.session() as session:
        assert session.get_one(Run, run.id).files_cleared_at is None
    go(context)
    assert there(context, run, newest) == [False, True]
    assert [one.name for one in (context.settings.data_dir / "runs").iterdir()] == [newest.directory], "and nothing is left"


def test_one_that_cannot_be_removed_holds_up_no_other(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    job = new_job(context.database)
    runs = [over(context, job, days=100) for _ in range(3)]
    real = run_cleanup.remove

    def fails(directory: RunDirectory) -> bool:
        if directory.path.name == runs[0].directory:
            raise PermissionError(13, "Permission denied")
        return real(directory)

    monkeypatch.setattr(run_cleanup, "remove", fails)
    go(context)
    assert there(context, *runs) == [True, False, True]


def test_a_round_ends_when_its_time_is_over(context: Context) -> None:
    job = new_job(context.database)
    runs = [over(context, job, days=100) for _ in range(4)]
    times = iter([0.0, 0.0, 0.0, 11.0, 11.0])
    delete_old_files(context, lambda: next(times))
    assert there(context, *runs) == [False, True, True, True]


def test_a_log_that_was_removed_is_said_to_be(client: TestClient, context: Context, login: Login) -> None:
    job = new_job(context.database)
    run = over(context, job, days=100)
    over(context, job, days=0)
    headers = login(Role.VIEWER)
    url = f"/api/v1/runs/{run.id}/log"
    assert client.get(url, headers=headers).text == "it failed\n"
    go(context)
    answer = client.get(url, headers=headers)
    assert answer.status_code == 410 and answer.json()["code"] == "log-removed" and "was deleted on" in answer.json()["detail"]
    shown = client.get(f"/api/v1/runs/{run.id}", headers=headers).json()
    assert shown["directory"] == run.directory and shown["files_cleared_at"] is not None


def test_removing_is_done_once_and_again_does_no_harm(tmp_path: Path) -> None:
    directory = RunDirectory.of(tmp_path, "one")
    directory.make()
    assert remove(directory) and remove(directory) and finish_interrupted(tmp_path) == 0
    assert list((tmp_path / "runs").iterdir()) == []
