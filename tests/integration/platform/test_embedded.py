"""A whole platform, as ``weir up`` brings it up: what is killed comes back, nothing is lost, nothing is left, nothing is told.

The tests of one platform follow each other, as bringing one up takes seconds: each leaves it running.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
import redis
from tests.integration.cli.weir_command import Said
from tests.integration.platform.api import Api
from tests.integration.platform.embedded_rig import Platform, argument_lists, living, open_to_others, until

from weir_backend import migrate
from weir_backend.kit.broker import CeleryTasks
from weir_backend.kit.tasks import host_queue
from weir_workers.embedded.children import free_port
from weir_workers.embedded.ports import listens
from weir_workers.embedded.state import Phase
from weir_workers.embedded.supervision import State
from weir_workers.embedded.throwaway import throwaway_postgres
from weir_workers.host import host_id

pytestmark = pytest.mark.slow
CHILDREN = {"postgres", "valkey", "api", "worker", "compiler", "chores", "beat"}


@contextmanager
def somewhere() -> Iterator[Platform]:
    """Stopped and removed at the end."""
    # Not in pytest's directory: the user that Postgres runs as has to get through.
    with tempfile.TemporaryDirectory(prefix="weir-platform-") as made:
        Path(made).chmod(0o755)
        platform = Platform(Path(made) / "data")
        try:
            yield platform
        finally:
            platform.weir("down")


@pytest.fixture(scope="module")
def started() -> Iterator[tuple[Platform, Said]]:
    with somewhere() as platform:
        yield platform, platform.weir("up")


@pytest.fixture
def platform(started: tuple[Platform, Said]) -> Platform:
    assert started[0].runs
    return started[0]


def test_up_says_how_far_it_is_where_it_is_and_who_can_log_in(started: tuple[Platform, Said]) -> None:
    platform, said = started
    assert said.code == 0, said.err
    for title in ("Postgres", "Valkey", "schema", "API", "worker", "compiler", "chores", "beat"):
        assert re.search(rf"^  {title} +ready +\d+\.\d s$", said.out, re.MULTILINE), said.out
    (url,) = re.findall(r"^Weir is up: (\S+)$", said.out, re.MULTILINE)
    with urllib.request.urlopen(f"{url}/readyz", timeout=10) as answer:
        assert json.load(answer)["status"] == "ready"
    assert re.search(rf"password +{platform.secrets.admin_password} ", said.out)
    assert f"weir down --data-dir {platform.root}" in said.out


def test_a_second_up_says_that_it_runs_and_does_not_tell_the_password_again(platform: Platform) -> None:
    before = platform.state
    said = platform.weir("up")
    assert said.code == 0
    assert f"Weir runs already: {before.url}" in said.out
    assert platform.secrets.admin_password not in said.out
    assert platform.state == before


def test_programs_are_told_what_runs_where_and_no_secret_that_was_told_before(platform: Platform) -> None:
    said = platform.weir("up", "--output", "json")
    assert said.code == 0, said.err
    found, before = json.loads(said.out), platform.state
    assert (found["url"], found["ran_already"], found["phase"]) == (before.url, True, "up")
    assert (found["user"], found["password"]) == ("admin", None)
    assert found["secrets_file"] == str(platform.directory.secrets)
    assert {one["name"]: one["pid"] for one in found["processes"] if one["pid"]} == platform.pids
    ports = {one["name"]: one["port"] for one in found["processes"] if one["port"]}
    assert ports == {"postgres": before.ports.postgres, "valkey": before.ports.valkey, "api": before.ports.api}


def test_a_task_gets_to_a_worker_by_both_of_its_queues(platform: Platform) -> None:
    tasks = CeleryTasks(f"redis://:{platform.secrets.redis_password}@127.0.0.1:{platform.state.ports.valkey}/0")
    host = host_id(platform.root)
    tasks.enqueue("weir.ping", "hello")
    tasks.enqueue("weir.ping", "hello, host", queue=host_queue(host))

    def heard() -> set[str]:
        return {line["word"] for line in platform.logged("worker") if line["event"] == "ping" and line["host"] == host}

    until(lambda: heard() == {"hello", "hello, host"}, "a worker has had both tasks")


def test_the_doctor_finds_nothing_wrong(platform: Platform) -> None:
    said = platform.weir("doctor", "--output", "json")
    found = json.loads(said.out)
    warned = ["user"] if os.geteuid() == 0 else []
    assert [one["check"] for one in found["findings"] if one["verdict"] != "ok"] == warned, found
    assert said.code == 0 and found["ok"]
    assert platform.weir("migrate").out == f"the schema is at {migrate.head()}: nothing to do\n"
    head = migrate.head()
    assert json.loads(platform.weir("migrate", "-o", "json").out) == {"before": head, "after": head, "changed": False}


def test_secrets_are_nowhere_but_in_their_file(platform: Platform) -> None:
    secrets = platform.secrets
    values = [secrets.database_password, secrets.redis_password, secrets.secret_key, secrets.admin_password]
    shown = argument_lists(platform.family()) + platform.directory.state.read_text()
    shown += "".join(path.read_text() for path in platform.directory.logs.iterdir())
    assert [value for value in values if value in shown] == []
    assert len(platform.family()) > len(CHILDREN) and "uvicorn" in shown, "there was something to look at"


def test_others_on_this_machine_are_kept_out(platform: Platform) -> None:
    assert open_to_others(platform.root) == []
    ports = platform.state.ports
    for wrong in ("", "weir", "wrong"):
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(f"postgresql://weir:{wrong}@127.0.0.1:{ports.postgres}/weir", connect_timeout=5)
        with pytest.raises(redis.RedisError, match=r"(?i)authenticat|invalid username-password"):
            redis.Redis(port=ports.valkey or 0, password=wrong or None).ping()
    listening = {
        (one.laddr.ip, one.laddr.port)
        for process in platform.family()
        for one in process.net_connections("tcp")
        if one.status == "LISTEN"
    }
    assert listening == {("127.0.0.1", ports.postgres), ("127.0.0.1", ports.valkey), ("127.0.0.1", ports.api)}


def test_each_that_is_killed_comes_back_by_itself_with_all_that_was_committed(platform: Platform) -> None:
    with platform.connect() as connection:
        connection.execute("CREATE TABLE kept (number int)")
        connection.execute("INSERT INTO kept VALUES (1)")
    before, below = platform.pids, platform.family()[1:]
    assert before.keys() == CHILDREN
    for number in before.values():
        os.kill(number, signal.SIGKILL)
    until(lambda: not living(below), "what was below those that were killed has ended, too")

    def back() -> bool:
        now = platform.state
        ready = all(child.state in (State.READY, State.DONE) for child in now.children.values())
        return ready and not set(platform.pids.values()) & set(before.values())

    until(back, "all are ready again")
    assert {name: child.restarts for name, child in platform.state.children.items()} == {
        **dict.fromkeys(CHILDREN, 1),
        "schema": 0,
    }
    assert platform.state.ports.postgres and platform.state.phase is Phase.UP
    with platform.connect() as connection:
        assert connection.execute("SELECT number FROM kept").fetchall() == [(1,)]
    died = [line for line in platform.logged("supervisor") if line["event"].startswith("process died")]
    assert {line["process"] for line in died} == CHILDREN


def test_after_the_supervisor_is_killed_nothing_is_left_and_two_ups_at_once_go_on(platform: Platform) -> None:
    before, all_of_it = platform.state, platform.family()
    os.kill(before.supervisor.number, signal.SIGKILL)
    until(lambda: not living(all_of_it), "all end with the supervisor")
    sick = platform.weir("doctor")
    assert sick.code == 1 and "the last supervisor was killed" in sick.out

    with platform.begin("up") as one, platform.begin("up") as other:
        said = [one.communicate(timeout=120)[0], other.communicate(timeout=120)[0]]
    assert (one.returncode, other.returncode) == (0, 0), said
    assert all(before.url in text for text in said)
    after = platform.state
    assert after.phase is Phase.UP and after.ports == before.ports
    assert after.supervisor != before.supervisor
    with platform.connect() as connection:
        assert connection.execute("SELECT number FROM kept").fetchall() == [(1,)]


def test_down_stops_all_and_leaves_the_drivers_of_jobs(platform: Platform) -> None:
    run = platform.root / "runs" / "7"
    run.mkdir()
    all_of_it = platform.family()
    with subprocess.Popen(["sleep", "600"], env={**os.environ, "WEIR_RUN_SPOOL": str(run / "spool")}) as driver:
        said = platform.weir("down")
        assert said.code == 0, said.err
        assert driver.poll() is None
        assert f"runs/7, process {driver.pid}: sleep 600" in said.out and "the next `weir up" in said.out
        driver.kill()
    assert living(all_of_it) == [] and not platform.runs
    for title in ("Postgres", "Valkey", "API", "worker", "compiler", "chores", "beat"):
        assert re.search(rf"^  {title} +stopped$", said.out, re.MULTILINE), said.out
    again = platform.weir("down")
    assert (again.code, again.out) == (0, f"Weir is not running in {platform.root}.\n")
    again = platform.weir("down", "--output", "json")
    assert (again.code, again.err) == (0, f"Weir is not running in {platform.root}.\n")
    assert json.loads(again.out) == {"data_dir": str(platform.root), "was_running": False, "drivers": []}


def test_in_the_foreground_it_goes_on_where_it_was_and_stays_until_it_is_told_to_end(started: tuple[Platform, Said]) -> None:
    platform, _ = started
    with platform.begin("up", "--foreground") as up:
        assert up.stdout is not None
        said: list[str] = []
        while not (line := up.stdout.readline()).startswith("  stop it"):
            assert line, said
            said.append(line)
        assert platform.state.supervisor.number == up.pid
        assert platform.secrets.admin_password not in "".join(said), "it was printed once: what is printed here is kept as a log"
        with platform.connect() as connection:
            assert connection.execute("SELECT number FROM kept").fetchall() == [(1,)]
        all_of_it = platform.family()
        up.send_signal(signal.SIGINT)
        rest = up.communicate(timeout=60)[0]
    assert up.returncode == 0 and rest.endswith("Weir is down.\n")
    assert living(all_of_it) == []


def test_two_platforms_that_want_the_same_port_at_the_same_time_both_come_up_each_at_its_own() -> None:
    with somewhere() as one, somewhere() as other:
        wanted = {"WEIR_API_PORT": str(free_port())}
        with one.begin("up", env=wanted) as first, other.begin("up", "--output", "json", env=wanted) as second:
            said = [command.communicate(timeout=120)[0] for command in (first, second)]
        assert (first.returncode, second.returncode) == (0, 0), said
        told = json.loads(said[1])
        assert (told["ran_already"], told["password"]) == (False, other.secrets.admin_password)
        urls = [*re.findall(r"^Weir is up: (\S+)$", said[0], re.MULTILINE), told["url"]]
        assert urls == [one.state.url, other.state.url] and urls[0] != urls[1]
        for platform in (one, other):
            assert platform.state.ports.api is not None
            assert listens(platform.pids["api"], platform.state.ports.api)
            Api(platform.state.url, "admin", platform.secrets.admin_password)


def test_a_postgres_of_ones_own_is_used_and_said() -> None:
    with throwaway_postgres() as server, somewhere() as platform:
        said = platform.weir("up", env={"WEIR_DATABASE_URL": server.url})
        assert said.code == 0, said.err
        assert f"Postgres  yours, at 127.0.0.1:{server.port} (WEIR_DATABASE_URL)" in said.out
        assert server.password not in said.out + platform.directory.state.read_text()
        assert not platform.directory.postgres.exists() and "postgres" not in platform.pids
        with psycopg.connect(server.url) as connection:
            assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [(migrate.head(),)]
        unknowing = platform.weir("doctor")
        assert "skipped  postgres" in unknowing.out and "set WEIR_DATABASE_URL" in unknowing.out


def test_what_does_not_start_is_named_with_the_end_of_its_log_and_nothing_is_left() -> None:
    with somewhere() as platform:
        said = platform.weir("up", env={"WEIR_DATABASE_URL": "postgresql://weir:hidden@127.0.0.1:1/weir"})
        assert said.code == 2
        assert said.message.startswith("weir: schema does not start: it ended with exit code 1")
        assert str(platform.directory.log_of("schema")) in said.err and "the database does not answer" in said.err
        assert "hidden" not in said.err + said.out
        assert not platform.runs and platform.state.phase is Phase.DOWN and platform.pids == {}
