"""An embedded platform: commands, restarts of killed processes, secrets and permissions.

Starting a platform takes seconds, so most tests share a platform and run in order. Each of these tests leaves the shared platform
running.
"""

from __future__ import annotations

import contextlib
import hashlib
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
from typing import Any

import httpx2
import psutil
import psycopg
import pyarrow.parquet as pq
import pytest
import redis
from tests.integration.cli.small_job import numbers
from tests.integration.cli.weir_command import ROOT, CommandResult
from tests.integration.platform.api import Api
from tests.integration.platform.embedded_rig import Platform, alive, argument_lists, readable_by_others, until
from tests.process_details import unless_ended

from weir_backend import migrate
from weir_backend.kit.broker import CeleryTasks
from weir_backend.kit.tasks import host_queue
from weir_workers.embedded.data_dir.platform_state import Phase
from weir_workers.embedded.ports import free_port, listens
from weir_workers.embedded.servers.temporary import temporary_postgres
from weir_workers.embedded.supervisor.state_machine import State
from weir_workers.host import host_id

pytestmark = pytest.mark.slow
SECRETS_JOB = ROOT / "tests" / "integration" / "platform" / "secrets_job.py"
PLANTED = {"FROM_ENV": "planted-env-5d1c7a", "FROM_FILE": "planted-file-82b0e4", "FROM_PLATFORM": "planted-platform-c39f16"}
CHILDREN = {"postgres", "valkey", "api", "worker", "compiler", "chores", "beat"}


@contextmanager
def temporary_platform() -> Iterator[Platform]:
    """Yield a platform that is not started. At the end, stop and delete the platform."""
    # Do not use pytest's temporary directory, because the user that runs Postgres has no access to it.
    with tempfile.TemporaryDirectory(prefix="weir-platform-") as directory:
        Path(directory).chmod(0o755)
        platform = Platform(Path(directory) / "data")
        try:
            yield platform
        finally:
            platform.weir("down")


@pytest.fixture(scope="module")
def started() -> Iterator[tuple[Platform, CommandResult]]:
    with temporary_platform() as platform:
        yield platform, platform.weir("up", env={"ORDERS_PASSWORD": PLANTED["FROM_ENV"]})


@pytest.fixture
def platform(started: tuple[Platform, CommandResult]) -> Platform:
    assert started[0].is_running
    return started[0]


def test_weir_up_prints_its_progress_and_then_the_url_and_the_password(started: tuple[Platform, CommandResult]) -> None:
    platform, result = started
    assert result.code == 0, result.err
    for title in ("Postgres", "Valkey", "schema", "API", "worker", "compiler", "chores", "beat"):
        assert re.search(rf"^  {title} +ready +\d+\.\d s$", result.out, re.MULTILINE), result.out
    (url,) = re.findall(r"^Weir is up: (\S+)$", result.out, re.MULTILINE)
    with urllib.request.urlopen(f"{url}/readyz", timeout=10) as answer:
        assert json.load(answer)["status"] == "ready"
    assert re.search(rf"password +{platform.secrets.admin_password} ", result.out)
    assert f"weir down --data-dir {platform.root}" in result.out


def test_the_output_of_a_second_weir_up_names_the_running_platform_but_not_the_password(platform: Platform) -> None:
    before = platform.state
    result = platform.weir("up")
    assert result.code == 0
    assert f"Weir is already running: {before.url}" in result.out
    assert platform.secrets.admin_password not in result.out
    assert platform.state == before


def test_the_json_output_of_a_second_weir_up_lists_processes_but_not_the_password(platform: Platform) -> None:
    result = platform.weir("up", "--output", "json")
    assert result.code == 0, result.err
    found, before = json.loads(result.out), platform.state
    assert (found["url"], found["ran_already"], found["phase"]) == (before.url, True, "up")
    assert (found["user"], found["password"]) == ("admin", None)
    assert found["secrets_file"] == str(platform.directory.secrets)
    assert {one["name"]: one["pid"] for one in found["processes"] if one["pid"]} == platform.pids
    ports = {one["name"]: one["port"] for one in found["processes"] if one["port"]}
    assert ports == {"postgres": before.ports.postgres, "valkey": before.ports.valkey, "api": before.ports.api}


def test_a_worker_serves_both_of_its_queues(platform: Platform) -> None:
    tasks = CeleryTasks(f"redis://:{platform.secrets.redis_password}@127.0.0.1:{platform.state.ports.valkey}/0")
    host = host_id(platform.root)
    tasks.enqueue("weir.ping", "hello")
    tasks.enqueue("weir.ping", "hello, host", queue=host_queue(host))

    def received() -> set[str]:
        return {line["word"] for line in platform.json_log("worker") if line["event"] == "ping" and line["host"] == host}

    until(lambda: received() == {"hello", "hello, host"}, "a worker received both tasks")


def test_the_doctor_finds_no_problem(platform: Platform) -> None:
    result = platform.weir("doctor", "--output", "json")
    found = json.loads(result.out)
    warned = ["user"] if os.geteuid() == 0 else []
    assert [one["check"] for one in found["findings"] if one["verdict"] != "ok"] == warned, found
    assert result.code == 0 and found["ok"]
    assert platform.weir("migrate").out == f"the schema is up to date ({migrate.head()})\n"
    head = migrate.head()
    assert json.loads(platform.weir("migrate", "-o", "json").out) == {"before": head, "after": head, "changed": False}


def test_secrets_are_only_in_their_file(platform: Platform) -> None:
    secrets = platform.secrets
    values = [secrets.database_password, secrets.redis_password, secrets.secret_key, secrets.admin_password]
    shown = argument_lists(platform.processes()) + platform.directory.state.read_text()
    shown += "".join(path.read_text() for path in platform.directory.logs.iterdir())
    assert [value for value in values if value in shown] == []
    assert len(platform.processes()) > len(CHILDREN) and "uvicorn" in shown, "the search must cover the processes and their logs"


def secrets_spec(api: Api, root: Path, **parameters: object) -> dict[str, Any]:
    if not (root / "input").exists():
        numbers(root / "input")
    return {
        "artifact": api.upload(SECRETS_JOB.name, SECRETS_JOB.read_bytes()),
        "parameters": {
            "input": str(root / "input"),
            "output": str(root / "output"),
            "FROM_ENV": "env:ORDERS_PASSWORD",
            **parameters,
        },
        "checkpointing": {"interval": "500ms", "directory": str(root / "checkpoints")},
        "spark_conf": {"spark.local.dir": str(root / "local")},
    }


def files_with_secrets(*roots: Path) -> list[tuple[Path, str]]:
    found = []
    for path in (path for root in roots for path in root.rglob("*") if path.is_file()):
        with contextlib.suppress(FileNotFoundError):  # Postgres and Spark delete files meanwhile
            data = path.read_bytes()
            found += [(path, name) for name, value in PLANTED.items() if value.encode() in data]
    return found


def answers_of(api: Api, job: dict[str, Any]) -> str:
    """Return the answers to all requests that read the job, its run, the secrets and the audit log."""
    run = job["run"]["id"]
    paths = [
        "/jobs", f"/jobs/{job['id']}", *(f"/jobs/{job['id']}/{what}" for what in ("specs", "specs/1", "specs/1/graph", "failures", "metrics")),
        "/runs", f"/runs/{run}", f"/runs/{run}/graph", "/checkpoints", "/operations", "/events", "/artifacts", "/secrets", "/secrets/1", "/audit",
    ]  # fmt: skip
    return "\n".join(api.text(path) for path in (*paths, f"/runs/{run}/log", "/openapi.json"))


@pytest.mark.spark
@pytest.mark.timeout(600)
def test_a_job_uses_secrets_that_weir_stores_and_shows_nowhere(platform: Platform, tmp_path: Path) -> None:
    api = Api(platform.state.url, "admin", platform.secrets.admin_password)
    (tmp_path / "hidden").mkdir()
    file = tmp_path / "hidden" / "password"
    file.write_text(PLANTED["FROM_FILE"] + "\n")
    api.send("POST", "/secrets", json={"name": "orders", "value": PLANTED["FROM_PLATFORM"]})
    spec = secrets_spec(api, tmp_path, FROM_FILE=f"file:{file}", FROM_PLATFORM="secret:orders", rate=400)
    created = api.send("POST", "/jobs", json={"name": "secretive", "spec": spec})
    api.wait(created["id"], lambda job: job["last_checkpoint"] is not None)

    directory = platform.root / "runs" / api.send("GET", "/runs")[0]["directory"]
    driver = psutil.Process(json.loads((directory / "process").read_text())["pid"])
    processes = [driver, *driver.children(recursive=True)]
    assert len(processes) > 3, "the processes include Spark and the slots"
    details = argument_lists(processes) + str([unless_ended(one, psutil.Process.environ) for one in processes])
    assert PLANTED["FROM_ENV"] in details, "the searched text includes the environment"
    assert [name for name in ("FROM_FILE", "FROM_PLATFORM") if PLANTED[name] in details] == []
    assert [path for path in (tmp_path / "local").rglob("*") if path.is_file()], "Spark has written files"
    checkpoints = tmp_path / "checkpoints"
    assert files_with_secrets(tmp_path / "local", checkpoints, platform.root) == []

    finished = api.wait(created["id"], lambda job: job["state"] == "FINISHED")
    (row,) = {tuple(row.items()) for row in pq.read_table(tmp_path / "output", columns=list(PLANTED)).to_pylist()}
    assert dict(row) == {name: hashlib.sha256(value.encode()).hexdigest() for name, value in PLANTED.items()}

    answers = answers_of(api, finished) + httpx2.get(f"{platform.state.url}/metrics").text
    assert row[0][1] not in answers and "secret:orders" in answers and "env:ORDERS_PASSWORD" in answers
    assert [value for value in PLANTED.values() if value in answers] == []
    with platform.connect() as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        rows = "".join(str(connection.execute(f'SELECT * FROM "{table}"').fetchall()) for (table,) in tables)
    assert "secret:orders" in rows and [value for value in PLANTED.values() if value in rows] == []
    hashes = [path for path in checkpoints.rglob("*") if path.is_file() and row[0][1].encode() in path.read_bytes()]
    assert hashes, "state files contain the hashes, so a search would find a value"
    assert files_with_secrets(tmp_path / "output", checkpoints, platform.root) == []


@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("secret:nowhere", "Parameter 'FROM_PLATFORM' refers to secret:nowhere, but the platform has no secret 'nowhere'."),
        ("env:NOWHERE", "Cannot read secret 'FROM_PLATFORM' (env:NOWHERE) on host"),
    ],
)
def test_a_job_whose_secret_is_missing_fails_once_and_the_reason_names_the_secret(
    platform: Platform, tmp_path: Path, reference: str, reason: str
) -> None:
    api = Api(platform.state.url, "admin", platform.secrets.admin_password)
    spec = secrets_spec(api, tmp_path, FROM_FILE="env:ORDERS_PASSWORD", FROM_PLATFORM=reference)
    created = api.send("POST", "/jobs", json={"name": f"missing-{reference.partition(':')[0]}", "spec": spec})
    failed = api.wait(created["id"], lambda job: job["health"] == "needs_attention")
    assert failed["run"]["state"] == "FAILED" and failed["run"]["number"] == 1
    assert reason in failed["run"]["reason"] and PLANTED["FROM_ENV"] not in failed["run"]["reason"]


def test_other_users_of_this_host_have_no_access(platform: Platform) -> None:
    assert readable_by_others(platform.root) == []
    ports = platform.state.ports
    for wrong in ("", "weir", "wrong"):
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(f"postgresql://weir:{wrong}@127.0.0.1:{ports.postgres}/weir", connect_timeout=5)
        with pytest.raises(redis.RedisError, match=r"(?i)authenticat|invalid username-password"):
            redis.Redis(port=ports.valkey or 0, password=wrong or None).ping()
    listening = {
        (one.laddr.ip, one.laddr.port)
        for process in platform.processes()
        for one in unless_ended(process, lambda one: one.net_connections("tcp")) or ()
        if one.status == "LISTEN"
    }
    assert listening == {("127.0.0.1", ports.postgres), ("127.0.0.1", ports.valkey), ("127.0.0.1", ports.api)}


def test_every_killed_process_restarts_and_keeps_committed_data(platform: Platform) -> None:
    with platform.connect() as connection:
        connection.execute("CREATE TABLE kept (number int)")
        connection.execute("INSERT INTO kept VALUES (1)")
    before, descendants = platform.pids, platform.processes()[1:]
    assert before.keys() == CHILDREN
    for number in before.values():
        os.kill(number, signal.SIGKILL)
    until(lambda: not alive(descendants), "the children of the killed processes have ended")

    def all_restarted() -> bool:
        now = platform.state
        ready = all(child.state in (State.READY, State.DONE) for child in now.children.values())
        return ready and not set(platform.pids.values()) & set(before.values())

    until(all_restarted, "all processes are ready again")
    assert {name: child.restarts for name, child in platform.state.children.items()} == {
        **dict.fromkeys(CHILDREN, 1),
        "schema": 0,
    }
    assert platform.state.ports.postgres and platform.state.phase is Phase.UP
    with platform.connect() as connection:
        assert connection.execute("SELECT number FROM kept").fetchall() == [(1,)]
    deaths = [line for line in platform.json_log("supervisor") if line["event"].startswith("process died")]
    assert {line["process"] for line in deaths} == CHILDREN


def test_all_processes_end_with_the_supervisor_and_then_two_concurrent_weir_up_commands_start_one_platform(
    platform: Platform,
) -> None:
    before, processes = platform.state, platform.processes()
    os.kill(before.supervisor.number, signal.SIGKILL)
    until(lambda: not alive(processes), "all processes end with the supervisor")
    diagnosis = platform.weir("doctor")
    assert diagnosis.code == 1 and "the supervisor was killed" in diagnosis.out

    with platform.start_command("up") as one, platform.start_command("up") as other:
        outputs = [one.communicate(timeout=300)[0], other.communicate(timeout=300)[0]]
    assert (one.returncode, other.returncode) == (0, 0), outputs
    assert all(before.url in text for text in outputs)
    after = platform.state
    assert after.phase is Phase.UP and after.ports == before.ports
    assert after.supervisor != before.supervisor
    with platform.connect() as connection:
        assert connection.execute("SELECT number FROM kept").fetchall() == [(1,)]


def test_weir_down_stops_all_processes_except_drivers(platform: Platform) -> None:
    run = platform.root / "runs" / "7"
    run.mkdir()
    processes = platform.processes()
    with subprocess.Popen(["sleep", "600"], env={**os.environ, "WEIR_RUN_SPOOL": str(run / "spool")}) as driver:
        result = platform.weir("down")
        assert result.code == 0, result.err
        assert driver.poll() is None
        assert f"runs/7, process {driver.pid}: sleep 600" in result.out and "The next `weir up" in result.out
        driver.kill()
    assert alive(processes) == [] and not platform.is_running
    for title in ("Postgres", "Valkey", "API", "worker", "compiler", "chores", "beat"):
        assert re.search(rf"^  {title} +stopped$", result.out, re.MULTILINE), result.out
    again = platform.weir("down")
    assert (again.code, again.out) == (0, f"Weir is not running in {platform.root}.\n")
    again = platform.weir("down", "--output", "json")
    assert (again.code, again.err) == (0, f"Weir is not running in {platform.root}.\n")
    assert json.loads(again.out) == {"data_dir": str(platform.root), "was_running": False, "drivers": []}


def test_a_foreground_platform_keeps_its_data_and_runs_until_interrupted(started: tuple[Platform, CommandResult]) -> None:
    platform, _ = started
    with platform.start_command("up", "--foreground") as up:
        assert up.stdout is not None
        lines: list[str] = []
        while not (line := up.stdout.readline()).startswith("  stop "):
            assert line, lines
            lines.append(line)
        assert platform.state.supervisor.number == up.pid
        assert platform.secrets.admin_password not in "".join(lines), "the password is printed only by the first start"
        with platform.connect() as connection:
            assert connection.execute("SELECT number FROM kept").fetchall() == [(1,)]
        processes = platform.processes()
        up.send_signal(signal.SIGINT)
        rest = up.communicate(timeout=300)[0]
    assert up.returncode == 0 and rest.endswith("Weir is down.\n")
    assert alive(processes) == []


def test_two_platforms_can_start_with_the_same_configured_port() -> None:
    with temporary_platform() as first, temporary_platform() as second:
        port = {"WEIR_API_PORT": str(free_port())}
        with (
            first.start_command("up", env=port) as first_up,
            second.start_command("up", "--output", "json", env=port) as second_up,
        ):
            outputs = [command.communicate(timeout=300)[0] for command in (first_up, second_up)]
        assert (first_up.returncode, second_up.returncode) == (0, 0), outputs
        result = json.loads(outputs[1])
        assert (result["ran_already"], result["password"]) == (False, second.secrets.admin_password)
        urls = [*re.findall(r"^Weir is up: (\S+)$", outputs[0], re.MULTILINE), result["url"]]
        assert urls == [first.state.url, second.state.url] and urls[0] != urls[1]
        for platform in (first, second):
            assert platform.state.ports.api is not None
            assert listens(platform.pids["api"], platform.state.ports.api)
            Api(platform.state.url, "admin", platform.secrets.admin_password)


def test_an_external_postgres_is_used_and_reported() -> None:
    with temporary_postgres() as server, temporary_platform() as platform:
        result = platform.weir("up", env={"WEIR_DATABASE_URL": server.url})
        assert result.code == 0, result.err
        assert f"Postgres  external, at 127.0.0.1:{server.port} (WEIR_DATABASE_URL)" in result.out
        assert server.password not in result.out + platform.directory.state.read_text()
        assert not platform.directory.postgres.exists() and "postgres" not in platform.pids
        with psycopg.connect(server.url) as connection:
            assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [(migrate.head(),)]
        diagnosis = platform.weir("doctor")
        assert "skipped  postgres" in diagnosis.out and "set WEIR_DATABASE_URL" in diagnosis.out


def test_a_failed_start_names_the_process_and_its_log_and_stops_all_processes() -> None:
    with temporary_platform() as platform:
        result = platform.weir("up", env={"WEIR_DATABASE_URL": "postgresql://weir:hidden@127.0.0.1:1/weir"})
        assert result.code == 2
        assert result.message.startswith("weir: schema cannot start: ended with exit code 1")
        assert str(platform.directory.log_of("schema")) in result.err and "the database does not answer" in result.err
        assert "hidden" not in result.err + result.out
        assert not platform.is_running and platform.state.phase is Phase.DOWN and platform.pids == {}
