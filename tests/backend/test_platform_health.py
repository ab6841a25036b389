"""The health of the platform: the monitor, the checks and the endpoint."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from fastapi.testclient import TestClient
from kombu.exceptions import OperationalError
from sqlalchemy import update
from tests.backend.conftest import Login
from tests.backend.jobs import end_run, new_job, new_run

from weir_backend.kit import heartbeats
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.kit.tasks import BACKGROUND_QUEUE, CODE_QUEUE, DEFAULT_QUEUE
from weir_backend.models import Role, Run
from weir_backend.platform_health import checks, endpoints, monitor
from weir_backend.platform_health.checks import FORGET_WORKER_S, RedisCheck, WorkersCheck, check_beat, check_drivers
from weir_backend.platform_health.monitor import (
    CheckFailed,
    Component,
    ComponentCheck,
    ComponentHealth,
    ComponentStatus,
    PlatformMonitor,
)
from weir_workers.embedded.ports import free_port
from weir_workers.embedded.servers.postgres import Postgres

UP, DOWN, UNKNOWN = ComponentStatus.UP, ComponentStatus.DOWN, ComponentStatus.UNKNOWN


@pytest.fixture(autouse=True)
def short_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitor, "ANSWER_S_MAX", 0.2)
    monkeypatch.setattr(monitor, "WAIT_S", 0.3)


@pytest.fixture
def frozen() -> Iterator[threading.Event]:
    """A frozen component answers when the event is set."""
    event = threading.Event()
    yield event
    event.set()


# ---- the monitor -------------------------------------------------------------------------------


def read(checks: Mapping[Component, Callable[[], str]], *, times: int = 1) -> dict[Component, ComponentHealth]:
    """Read the monitor ``times`` times, and return the last result."""
    made = PlatformMonitor([ComponentCheck(one, str(one), run, every_s=0.0) for one, run in checks.items()])

    async def all_reads() -> list[ComponentHealth]:
        for _ in range(times - 1):
            await made.read()
        return await made.read()

    return {one.component: one for one in asyncio.run(all_reads())}


def test_a_component_is_up_if_its_check_returns_and_down_if_its_check_fails() -> None:
    def fail() -> str:
        raise CheckFailed("Redis does not answer.", "Start Redis.")

    def crash() -> str:
        raise KeyError("a bug")

    found = read({Component.POSTGRES: lambda: "Postgres answers.", Component.REDIS: fail, Component.STORAGE: crash})
    postgres, redis, storage = found.values()
    assert (postgres.status, postgres.detail, postgres.next_step) == (UP, "Postgres answers.", "")
    assert postgres.up_s is not None
    assert (redis.status, redis.detail, redis.next_step, redis.up_s) == (DOWN, "Redis does not answer.", "Start Redis.", None)
    assert (storage.status, storage.detail) == (DOWN, "The check of storage failed: KeyError.")


def test_a_component_whose_check_hangs_is_down_and_up_again_when_the_check_returns(frozen: threading.Event) -> None:
    def hang() -> str:
        frozen.wait()
        return "Postgres answers."

    made = PlatformMonitor([ComponentCheck(Component.POSTGRES, "Postgres", hang)])

    async def freeze_and_continue() -> tuple[ComponentHealth, ComponentHealth, int]:
        (down,) = await made.read()
        await made.read()
        threads = sum(thread.name == "weir-check-postgres" for thread in threading.enumerate())
        frozen.set()
        (up,) = await made.read()
        return down, up, threads

    down, up, threads = asyncio.run(freeze_and_continue())
    assert (down.status, down.detail) == (DOWN, "Postgres has not answered for 0 s.") and down.next_step
    assert (up.status, up.detail) == (UP, "Postgres answers.")
    assert threads == 1, "a check that hangs is not started again"


def test_a_component_that_needs_a_component_that_is_down_is_unknown() -> None:
    def fail() -> str:
        raise CheckFailed("does not answer")

    found = read({Component.POSTGRES: fail, Component.REDIS: lambda: "ok", Component.WORKERS: lambda: "ok", Component.BEAT: fail})
    assert [one.status for one in found.values()] == [DOWN, UP, UP, UNKNOWN]
    assert found[Component.BEAT].detail == "Unknown, because postgres does not answer."


def test_a_check_does_not_begin_again_before_its_interval_has_passed() -> None:
    calls: list[int] = []

    def count() -> str:
        calls.append(1)
        return "ok"

    now_s = [100.0]
    made = PlatformMonitor([ComponentCheck(Component.STORAGE, "storage", count, every_s=20.0)], lambda: now_s[0])

    async def reads() -> ComponentHealth:
        await made.read()
        now_s[0] += 19.0
        (found,) = await made.read()
        return found

    assert asyncio.run(reads()).up_s == 19.0 and len(calls) == 1
    now_s[0] += 1.0
    asyncio.run(made.read())
    assert len(calls) == 2


# ---- the checks --------------------------------------------------------------------------------

ALL = frozenset((DEFAULT_QUEUE, CODE_QUEUE, BACKGROUND_QUEUE))


class Workers:
    def __init__(self) -> None:
        self.answers: dict[str, frozenset[str]] | Exception = {}
        self.now_s = 0.0
        self.check = WorkersCheck(self, lambda: self.now_s)  # type: ignore[arg-type]  # answers like a WorkerDirectory

    def queues_of_workers(self, *, timeout_s: float, expected: int) -> Mapping[str, frozenset[str]]:
        if isinstance(self.answers, Exception):
            raise self.answers
        return self.answers

    def run(self, answers: dict[str, frozenset[str]] | Exception) -> str:
        self.answers = answers
        try:
            return self.check.run()
        except CheckFailed as error:
            return f"down: {error}"


def test_each_queue_needs_a_worker_that_answers() -> None:
    workers = Workers()
    assert workers.run({}) == "down: No worker answers. Weir does not start, stop or recover jobs until a worker answers."
    assert workers.run({"worker@a": ALL}) == "1 worker answers."
    assert Workers().run({"worker@a": frozenset((DEFAULT_QUEUE,))}) == (
        "down: No worker takes tasks from the queues weir.code and weir.chores."
    )
    assert Workers().run({"worker@a": ALL - {CODE_QUEUE}, "worker@b": frozenset()}) == (
        "down: No worker takes tasks from the queue weir.code."
    )
    assert "because Redis does not answer: refused" in workers.run(OperationalError("refused"))


def test_a_worker_that_no_longer_answers_is_a_problem_if_no_other_worker_serves_its_queues() -> None:
    workers = Workers()
    first, second = {"worker@a": frozenset((DEFAULT_QUEUE, CODE_QUEUE))}, {"chores@a": frozenset((BACKGROUND_QUEUE,))}
    assert workers.run(first | second) == "2 workers answer."
    workers.now_s = 4.0
    down = "down: The worker chores@a has not answered for 4 s, and no other worker takes tasks from the queue weir.chores."
    assert workers.run(first) == down
    assert workers.run(first | {"worker@b": ALL}) == (
        "2 workers answer. The worker chores@a has not answered for 4 s; other workers take its tasks."
    )
    workers.now_s = FORGET_WORKER_S + 5.0
    assert workers.run(first | {"worker@b": ALL}) == "2 workers answer.", "the worker was removed"


def test_the_worker_of_a_queue_without_workers_is_named_before_other_workers() -> None:
    workers = Workers()
    first, second = {"spare@a": frozenset((DEFAULT_QUEUE,))}, {"chores@a": frozenset((BACKGROUND_QUEUE,))}
    assert workers.run({"worker@a": ALL - {BACKGROUND_QUEUE}} | first | second) == "3 workers answer."
    assert workers.run({"worker@a": ALL - {BACKGROUND_QUEUE}}).startswith(
        "down: The worker chores@a has not answered for 0 s, and"
    )


def test_an_unreachable_redis_is_down() -> None:
    with pytest.raises(CheckFailed, match=r"^Redis does not answer: .*refused"):
        RedisCheck(f"redis://:nobody@127.0.0.1:{free_port()}/0")()


def test_beat_is_down_if_periodic_tasks_have_not_run_for_40_s(database: Database) -> None:
    moment = now()

    def check() -> str:
        with database.session() as session:
            try:
                return check_beat(session, moment)
            except CheckFailed as error:
                return f"down: {error}"

    assert check() == "No periodic task has run yet."
    with database.session() as session:
        for ago_s in (70, 45, 20, 0):
            heartbeats.record_heartbeat(session, heartbeats.Component.API, moment - timedelta(seconds=ago_s))
    assert check() == "down: No periodic task has ever run, so Weir does not recover jobs or evaluate alert rules."
    with database.session() as session:
        heartbeats.record_heartbeat(session, heartbeats.Component.ALERTS, moment - timedelta(seconds=41))
    assert check() == "down: Periodic tasks have not run for 41 s, so Weir does not recover jobs or evaluate alert rules."
    with database.session() as session:
        heartbeats.record_heartbeat(session, heartbeats.Component.ALERTS, moment - timedelta(seconds=39))
    assert check() == "Periodic tasks run."


def test_drivers_without_contact_are_named_and_are_a_problem_of_the_platform_if_no_driver_has_contact(database: Database) -> None:
    moment = now()

    def check() -> str:
        with database.session() as session:
            try:
                return check_drivers(session, moment)
            except CheckFailed as error:
                return f"down: {error}"

    assert check() == "No driver runs."
    runs = {name: new_run(database, new_job(database, name)) for name in ("a", "b", "c", "d", "ended")}
    end_run(database, runs["ended"])
    with database.session() as session:
        for ago_s in (100, 75, 50, 25, 0):
            heartbeats.record_heartbeat(session, heartbeats.Component.API, moment - timedelta(seconds=ago_s))
        session.execute(update(Run).values(last_contact_at=moment))
    assert check() == "4 drivers are in contact."
    for name, sentence in (
        ("b", "3 of 4 drivers are in contact; without contact: job b."),
        ("a", "2 of 4 drivers are in contact; without contact: jobs a and b."),
        ("c", "1 of 4 drivers are in contact; without contact: jobs a, b and c."),
        ("d", "down: No driver has contacted the control plane for 45 s (jobs a, b, c and 1 more)."),
    ):
        with database.session() as session:
            silent = update(Run).where(Run.id == runs[name].id)
            session.execute(silent.values(last_contact_at=moment - timedelta(seconds=46)))
        assert check() == sentence


def test_a_data_directory_without_space_or_that_does_not_exist_is_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "of free space." in checks.check_storage(tmp_path)
    with pytest.raises(CheckFailed, match="cannot write to .*missing: No such file or directory"):
        checks.check_storage(tmp_path / "missing")
    monkeypatch.setattr(checks.shutil, "disk_usage", lambda path: SimpleNamespace(free=300 << 20))
    with pytest.raises(CheckFailed, match="has 300 MB of free space") as raised:
        checks.check_storage(tmp_path)
    assert raised.value.next_step == "Free at least 1 GB."


# ---- the endpoint ------------------------------------------------------------------------------


def test_a_viewer_sees_all_components(client: TestClient, login: Login, settings: Any) -> None:
    settings.data_dir.mkdir()
    viewer = login(Role.VIEWER)
    assert client.get("/api/v1/platform").status_code == 401
    found = client.get("/api/v1/platform", headers=viewer).json()["components"]
    assert [(one["component"], one["status"]) for one in found] == [
        ("postgres", "up"), ("redis", "down"), ("workers", "unknown"), ("beat", "up"), ("storage", "up"), ("drivers", "up"),
    ]  # fmt: skip
    assert found[0]["up_at"] is not None and found[1]["up_at"] is None
    assert found[1]["next_step"] == "Check the server of Redis."


@pytest.mark.parametrize("checks_begin", ["again", "not yet"])
def test_a_frozen_postgres_is_reported_without_authentication(
    client: TestClient, login: Login, postgres: Postgres, monkeypatch: pytest.MonkeyPatch, checks_begin: str
) -> None:
    monkeypatch.setattr(endpoints, "ANSWER_S_MAX", 0.2)
    viewer = login(Role.VIEWER)
    assert client.get("/api/v1/platform", headers=viewer).status_code == 200
    processes = with_children(postgres)
    for process in processes:
        os.kill(process.pid, signal.SIGSTOP)
    try:
        if checks_begin == "again":
            client.portal.call(asyncio.sleep, 1.6)  # type: ignore[union-attr]  # the interval of the check
        answer = client.get("/api/v1/platform", headers=viewer)
        assert (answer.status_code, answer.json()["code"]) == (503, "database")
        assert answer.json()["detail"].startswith("Postgres has not answered for ")
    finally:
        for process in processes:
            os.kill(process.pid, signal.SIGCONT)
    assert client.get("/api/v1/platform", headers=viewer).status_code == 200


def with_children(postgres: Postgres) -> list[psutil.Process]:
    server = psutil.Process(int((postgres.data / "postmaster.pid").read_text().split("\n", 1)[0]))
    return [server, *server.children(recursive=True)]
