"""The Celery application: all tasks are registered, no task is lost, and no task accumulates."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pydantic import SecretStr

from weir_backend.kit.tasks import CODE_QUEUE, DEFAULT_QUEUE, host_queue, queue_of
from weir_backend.settings import Settings
from weir_workers import host
from weir_workers.app import make_app
from weir_workers.host import host_id
from weir_workers.schedule import PERIODIC_TASKS
from weir_workers.task import TIME_LIMIT_S_MAX, VISIBILITY_S, task


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        database_url=SecretStr("postgresql://nobody@127.0.0.1:1/nothing"),
        redis_url=SecretStr("redis://:nobody@127.0.0.1:1/0"),
        secret_key=SecretStr("a key of sufficient length for tests"),
        data_dir=tmp_path,
    )


def test_the_time_limit_of_each_celery_task_is_shorter_than_the_visibility_timeout(settings: Settings) -> None:
    app = make_app(settings)
    app.loader.import_default_modules()
    app.finalize()
    weir_tasks = {name: found for name, found in app.tasks.items() if name.startswith("weir.")}
    assert "weir.ping" in weir_tasks
    for name, found in weir_tasks.items():
        assert found.acks_late and found.reject_on_worker_lost and found.ignore_result, name
        assert 0 < found.soft_time_limit < found.time_limit <= TIME_LIMIT_S_MAX < VISIBILITY_S, name
    assert app.conf.broker_transport_options["visibility_timeout"] == VISIBILITY_S


def test_a_task_cannot_be_declared_with_a_time_limit_above_the_maximum() -> None:
    with pytest.raises(AssertionError, match="split it into parts"):
        task("weir.slow", time_limit_s=VISIBILITY_S)


def test_workers_accept_only_json_messages(settings: Settings) -> None:
    assert make_app(settings).conf.accept_content == ["json"]


def test_a_worker_serves_the_common_queues_and_the_queue_of_its_host(settings: Settings) -> None:
    queues = [queue.name for queue in make_app(settings).conf.task_queues]
    assert queues == ["weir", "weir.code", "weir.chores", host_queue(host_id(settings.data_dir))]


def test_user_code_and_slow_storage_do_not_delay_tasks_that_make_decisions(settings: Settings) -> None:
    app = make_app(settings)
    app.loader.import_default_modules()
    app.finalize()
    found = {name: queue_of(name) for name in app.tasks if name.startswith("weir.")}
    assert {name for name, queue in found.items() if queue == DEFAULT_QUEUE} == {
        "weir.ping", "weir.reconcile", "weir.reconcile_all", "weir.submit", "weir.watch", "weir.evaluate_alerts", "weir.maintain_checkpoints",
        "weir.clean_up_runs", "weir.delete_run_files",
    }  # fmt: skip
    assert {name for name, queue in found.items() if queue == CODE_QUEUE} == {"weir.compile", "weir.check_spec"}
    assert {entry["task"]: entry["options"]["queue"] for entry in app.conf.beat_schedule.values()} == {
        one.task: queue_of(one.task) for one in PERIODIC_TASKS
    }


def test_periodic_tasks_expire_and_do_not_accumulate(settings: Settings) -> None:
    schedule = make_app(settings).conf.beat_schedule
    assert (
        {one.task for one in PERIODIC_TASKS}
        == {
            "weir.reconcile_all",
            "weir.evaluate_alerts",
            "weir.deliver",
            "weir.housekeeping",
            "weir.maintain_checkpoints",
            "weir.reassign_jobs",
            "weir.clean_up_runs",
        }
        == schedule.keys()
    )
    for one in schedule.values():
        assert one["options"]["expires"] <= 5 * one["schedule"]


def test_a_host_id_is_stable_and_differs_from_the_id_of_any_other_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = host_id(tmp_path / "data")
    assert len(original) == 16 and original == host_id(tmp_path / "data")
    assert original != host_id(tmp_path / "other data")
    shutil.copytree(tmp_path / "data", tmp_path / "copy")
    monkeypatch.setattr(host, "_machine", lambda: "another machine")
    assert host_id(tmp_path / "copy") != original
    assert (tmp_path / "data" / host.FILE).stat().st_mode & 0o777 == 0o600
