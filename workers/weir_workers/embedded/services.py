"""The processes of a platform: how each is started, asked to end, and asked whether it serves."""

from __future__ import annotations

import http.client
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import psycopg
import redis

from weir.errors import ConfigError
from weir_backend.kit import tasks
from weir_workers import ready
from weir_workers.embedded.children import spawn
from weir_workers.embedded.layout import DataDir
from weir_workers.embedded.names import API, BEAT, CHORES, COMPILER, POSTGRES, SCHEMA, VALKEY, WORKER, WORKERS
from weir_workers.embedded.ports import listens
from weir_workers.embedded.postgres import Postgres
from weir_workers.embedded.supervision import Child
from weir_workers.embedded.valkey import Valkey
from weir_workers.host import host_id

START_S_MAX = 120.0
"""Of our own programs, also on a machine that is very busy, if nobody says otherwise."""
START_VARIABLE = "WEIR_START_S_MAX"
"""Seconds, for all of our own programs or, as ``api=300,worker=200``, for some of them."""
PROCESSES = {WORKER: 2, COMPILER: 1, CHORES: 2}
"""Of each worker, beside the one that hands them their tasks."""
TRUSTED_PROXIES = "WEIR_TRUSTED_PROXIES"
"""Addresses or networks, with commas between them."""
_PROBE_S = 2.0


@dataclass(frozen=True, slots=True)
class Service:
    """``ready``: whether the process that ``start`` has made serves; called often, returns soon. Only asked of a process that lives.
    ``port``: where it listens, if anywhere."""

    child: Child
    start: Callable[[], subprocess.Popen[bytes]]
    ready: Callable[[subprocess.Popen[bytes]], bool]
    stop_signal: signal.Signals = signal.SIGTERM
    port: int | None = None


def services(
    directory: DataDir, environment: Mapping[str, str], secrets_of_schema: Mapping[str, str], *, api_port: int,
    postgres: tuple[Postgres, Path] | None, valkey: tuple[Valkey, Path] | None,
) -> list[Service]:  # fmt: skip
    """In the order in which they are started. ``environment``: of our own programs, with all settings. ``postgres`` and ``valkey``: with
    their binaries; None: the server is not ours."""
    start_s_max = start_limits(environment)
    found: list[Service] = []
    if postgres is not None:
        found.append(_postgres(*postgres))
    if valkey is not None:
        found.append(_valkey(*valkey))
    # Of those that are ours; of the others it is the schema that finds out whether they answer.
    data = tuple(service.child.name for service in found if service.child.name == POSTGRES)
    queue = tuple(service.child.name for service in found if service.child.name == VALKEY)

    def python(name: str, *arguments: str, extra: Mapping[str, str] | None = None) -> Callable[[], subprocess.Popen[bytes]]:
        def start() -> subprocess.Popen[bytes]:
            _ready_file(directory, name).unlink(missing_ok=True)
            return spawn(
                # -P: nothing in the current directory passes for a module.
                [sys.executable, "-P", "-m", *arguments],
                log=directory.log_of(name),
                environment={**environment, ready.FILE: str(_ready_file(directory, name)), **(extra or {})},
                directory=directory.root,
                # A worker that is asked to end while its parent is gone may hang; a task that is cut off is handed out again.
                signal_if_we_die=signal.SIGKILL if name in WORKERS else signal.SIGTERM,
            )

        return start

    def has_told(name: str) -> Callable[[subprocess.Popen[bytes]], bool]:
        return lambda process: ready.has_told(_ready_file(directory, name), process.pid)

    found.append(
        Service(
            Child(SCHEMA, data, once=True, stop_s_max=30.0),
            python(SCHEMA, "weir_workers.embedded.schema", extra=secrets_of_schema),
            lambda _: False,
        )
    )
    uvicorn = ("uvicorn", "--factory", "weir_backend.serve:app", "--host", "127.0.0.1", "--port", str(api_port))
    found.append(
        Service(
            Child(API, (SCHEMA, *data, *queue), start_s_max=start_s_max[API]),
            # Open event streams would hold it up for ever; their readers go on where they were.
            python(API, *uvicorn, *_proxies(environment), "--no-access-log", "--timeout-graceful-shutdown", "3"),
            lambda process: api_is_ready(process.pid, api_port),
            port=api_port,
        )
    )
    celery = ("celery", "--quiet", "-A", "weir_workers.app")
    quiet = ("--without-gossip", "--without-mingle", "--without-heartbeat")
    queues = {
        WORKER: (tasks.DECISIONS, tasks.host_queue(host_id(directory.root))),
        COMPILER: (tasks.CODE,),
        CHORES: (tasks.CHORES,),
    }
    for name in WORKERS:
        own = ("--hostname", f"{name}@%h", "--queues", ",".join(queues[name]))
        pool = ("--pool", "prefork", "--concurrency", str(PROCESSES[name]))
        found.append(
            Service(
                Child(name, (SCHEMA, *data, *queue), start_s_max=start_s_max[name], stop_s_max=15.0),
                python(name, *celery, "worker", *own, *pool, *quiet, "--loglevel", "INFO"),
                has_told(name),
            )
        )
    found.append(
        Service(
            # What it asks for before a worker is there does not wait for long: see schedule.py.
            Child(BEAT, (SCHEMA, *queue), start_s_max=start_s_max[BEAT], stop_s_max=5.0),
            python(
                BEAT, *celery, "beat", "--schedule", str(directory.beat / "schedule"), "--pidfile", "", "--loglevel", "WARNING"
            ),
            has_told(BEAT),
        )
    )
    return found


def start_limits(environment: Mapping[str, str]) -> dict[str, float]:
    """Of each of our own programs. Raises ConfigError."""
    found = dict.fromkeys((API, *WORKERS, BEAT), START_S_MAX)
    said = environment.get(START_VARIABLE, "")
    for part in filter(None, (one.strip() for one in said.split(","))):
        name, _, seconds = part.rpartition("=")
        if not seconds.isdecimal() or not 1 <= int(seconds) <= 86_400 or (name and name not in found):
            raise ConfigError(
                f"{START_VARIABLE} is '{said}': write how many seconds they may take to come up, as 300 for all of them, or as "
                f"api=300,worker=200; there are {', '.join(found)}"
            )
        found |= dict.fromkeys([name] if name else found, float(seconds))
    return found


def _proxies(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Where a request comes from is what its connection says, not what whoever sends it says: unless a proxy of ours does."""
    trusted = environment.get(TRUSTED_PROXIES, "")
    return ("--proxy-headers", "--forwarded-allow-ips", trusted) if trusted else ("--no-proxy-headers",)


def _postgres(server: Postgres, binaries: Path) -> Service:
    def answers(_: subprocess.Popen[bytes]) -> bool:
        try:
            server.make_database()
        except psycopg.OperationalError:
            return False
        return True

    # Neither has a limit for its start: both may have a long log to read again. SIGINT is Postgres' fast shutdown.
    return Service(Child(POSTGRES, stop_s_max=60.0), lambda: server.start(binaries), answers, signal.SIGINT, server.port)


def _valkey(server: Valkey, binary: Path) -> Service:
    def answers(_: subprocess.Popen[bytes]) -> bool:
        try:
            server.ping()
        except redis.RedisError:
            return False
        return True

    return Service(Child(VALKEY, stop_s_max=30.0), lambda: server.start(binary), answers, port=server.port)


def api_is_ready(process: int, port: int) -> bool:
    """This process, and nobody else who has the port. Whoever has it is asked first: that is cheaper where nobody has."""
    return _says_that_it_is_ready(port) and listens(process, port)


def _says_that_it_is_ready(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PROBE_S)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _ready_file(directory: DataDir, name: str) -> Path:
    return directory.ready / name
