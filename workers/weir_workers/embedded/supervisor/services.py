"""The processes of a platform: how to start, stop and probe each."""

from __future__ import annotations

import http.client
import ipaddress
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
from weir_workers import readiness
from weir_workers.embedded.constants import API, BEAT, CHORES, COMPILER, POSTGRES, SCHEMA, TITLES, VALKEY, WORKER, WORKERS
from weir_workers.embedded.data_dir.layout import DataDir
from weir_workers.embedded.data_dir.platform_state import PlatformState
from weir_workers.embedded.ports import listens
from weir_workers.embedded.processes import end_all, spawn
from weir_workers.embedded.servers.postgres import Postgres
from weir_workers.embedded.servers.valkey import Valkey
from weir_workers.embedded.supervisor.state_machine import Child
from weir_workers.host import host_id

START_S_MAX = 120.0
"""Default time limit for the start of the API, the workers and beat. This limit is sufficient on a busy host."""
START_VARIABLE = "WEIR_START_S_MAX"
"""The environment variable with the time limit for starts, in seconds. ``300`` sets the limit of the API, the workers and beat;
``api=300,worker=200`` sets the limits of the named processes only."""
PROCESSES = {WORKER: 2, COMPILER: 1, CHORES: 2}
"""The number of pool processes of each worker."""
TRUSTED_PROXIES = "WEIR_TRUSTED_PROXIES"
"""Comma-separated addresses or networks."""
_PROBE_S = 2.0
GRACE_S = 30.0
# SIGINT is Postgres' fast shutdown. Workers get SIGKILL, because a worker whose parent has ended can hang on other signals. The pool
# processes end with their worker.
_SIGNALS = {POSTGRES: signal.SIGINT, **dict.fromkeys(WORKERS, signal.SIGKILL)}


@dataclass(frozen=True, slots=True)
class Service:
    """How to run one process.

    ``start`` starts the process. ``ready`` returns whether the started process is ready. ``ready`` is called often, and only while the
    process is alive. ``port`` is the port at which the process listens, if any.
    """

    child: Child
    start: Callable[[], subprocess.Popen[bytes]]
    ready: Callable[[subprocess.Popen[bytes]], bool]
    stop_signal: signal.Signals = signal.SIGTERM
    port: int | None = None


def services(
    directory: DataDir, environment: Mapping[str, str], secrets_of_schema: Mapping[str, str], *, api_port: int,
    postgres: tuple[Postgres, Path] | None, valkey: tuple[Valkey, Path] | None,
) -> list[Service]:  # fmt: skip
    """Return the services in start order. ``environment`` is the environment of the API, the workers and beat, with all settings.
    ``postgres`` and ``valkey`` are the servers and their binaries, or None if the server is external."""
    start_s_max, proxies = start_limits(environment), proxy_options(environment)
    found: list[Service] = []
    if postgres is not None:
        found.append(_postgres(*postgres))
    if valkey is not None:
        found.append(_valkey(*valkey))
    # No process waits for external servers. If an external server does not answer, the schema process fails and reports the problem.
    data = tuple(service.child.name for service in found if service.child.name == POSTGRES)
    queue = tuple(service.child.name for service in found if service.child.name == VALKEY)

    def python(name: str, *arguments: str, extra: Mapping[str, str] | None = None) -> Callable[[], subprocess.Popen[bytes]]:
        def start() -> subprocess.Popen[bytes]:
            _ready_file(directory, name).unlink(missing_ok=True)
            return spawn(
                # -P: files in the current directory cannot shadow modules.
                [sys.executable, "-P", "-m", *arguments],
                log=directory.log_of(name),
                environment={**environment, readiness.FILE: str(_ready_file(directory, name)), **(extra or {})},
                directory=directory.root,
                # A worker whose parent has ended can hang on SIGTERM. SIGKILL does no harm, because interrupted tasks are delivered again.
                signal_if_parent_dies=signal.SIGKILL if name in WORKERS else signal.SIGTERM,
            )

        return start

    def reports_ready(name: str) -> Callable[[subprocess.Popen[bytes]], bool]:
        return lambda process: readiness.is_reported(_ready_file(directory, name), process.pid)

    found.append(
        Service(
            Child(SCHEMA, data, once=True, stop_s_max=30.0),
            python(SCHEMA, "weir_workers.embedded.servers.schema", extra=secrets_of_schema),
            lambda _: False,
        )
    )
    uvicorn = ("uvicorn", "--factory", "weir_backend.serve:app", "--host", "127.0.0.1", "--port", str(api_port))
    found.append(
        Service(
            Child(API, (SCHEMA, *data, *queue), start_s_max=start_s_max[API]),
            # Without this limit, open event streams would delay the shutdown. The clients of these streams reconnect and
            # resume.
            python(API, *uvicorn, *proxies, "--no-access-log", "--timeout-graceful-shutdown", "3"),
            lambda process: api_is_ready(process.pid, api_port),
            port=api_port,
        )
    )
    celery = ("celery", "--quiet", "-A", "weir_workers.app")
    quiet = ("--without-gossip", "--without-mingle", "--without-heartbeat")
    queues = {
        WORKER: (tasks.DEFAULT_QUEUE, tasks.host_queue(host_id(directory.root))),
        COMPILER: (tasks.CODE_QUEUE,),
        CHORES: (tasks.BACKGROUND_QUEUE,),
    }
    for name in WORKERS:
        own = ("--hostname", f"{name}@%h", "--queues", ",".join(queues[name]))
        pool = ("--pool", "prefork", "--concurrency", str(PROCESSES[name]))
        found.append(
            Service(
                Child(name, (SCHEMA, *data, *queue), start_s_max=start_s_max[name], stop_s_max=15.0),
                python(name, *celery, "worker", *own, *pool, *quiet, "--loglevel", "INFO"),
                reports_ready(name),
            )
        )
    found.append(
        Service(
            # Beat can start before the workers. The tasks of beat do not accumulate, because they expire (see schedule.py).
            Child(BEAT, (SCHEMA, *queue), start_s_max=start_s_max[BEAT], stop_s_max=5.0),
            python(
                BEAT, *celery, "beat", "--schedule", str(directory.beat / "schedule"), "--pidfile", "", "--loglevel", "WARNING"
            ),
            reports_ready(BEAT),
        )
    )
    return found


def start_limits(environment: Mapping[str, str]) -> dict[str, float]:
    """Return the time limit for the start of the API, of each worker and of beat, in seconds. Raises ConfigError."""
    found = dict.fromkeys((API, *WORKERS, BEAT), START_S_MAX)
    setting = environment.get(START_VARIABLE, "")
    for part in filter(None, (part.strip() for part in setting.split(","))):
        name, _, seconds = part.rpartition("=")
        if not seconds.isdecimal() or not 1 <= int(seconds) <= 86_400 or (name and name not in found):
            raise ConfigError(
                f"{START_VARIABLE} is '{setting}': write a number of seconds, such as 300, or a number for each process, such as "
                f"api=300,worker=200; the processes are {', '.join(found)}"
            )
        found |= dict.fromkeys([name] if name else found, float(seconds))
    return found


def proxy_options(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the options with which uvicorn accepts the address of the client from trusted proxies only. Raises ConfigError if the setting is
    invalid, or would let every client choose its own address."""
    setting = environment.get(TRUSTED_PROXIES, "")
    trusted = [part.strip() for part in setting.split(",") if part.strip()]
    if not trusted:
        return ("--no-proxy-headers",)
    try:
        usable = all(ipaddress.ip_network(one).prefixlen > 0 for one in trusted)
    except ValueError:
        usable = False
    if not usable:
        raise ConfigError(
            f"{TRUSTED_PROXIES} is '{setting}': write the addresses or networks of your reverse proxies, such as 10.0.0.5,10.1.0.0/16"
        )
    return ("--proxy-headers", "--forwarded-allow-ips", ",".join(trusted))


def _postgres(server: Postgres, binaries: Path) -> Service:
    def answers(_: subprocess.Popen[bytes]) -> bool:
        try:
            server.make_database()
        except psycopg.OperationalError:
            return False
        return True

    # Postgres and Valkey have no time limit for their start, because they may have to replay a long log. SIGINT is Postgres' fast shutdown.
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
    """Return whether the API is ready and ``process``, or one of its descendants, listens at ``port``. The function first sends a request
    to the API and then checks the process, because the request is cheaper."""
    return _answers_ready(port) and listens(process, port)


def _answers_ready(port: int) -> bool:
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


def end_leftovers(before: PlatformState, say: Callable[[str], None]) -> None:
    """End the processes that a killed supervisor left behind, and wait until they have ended. Two servers on the same data would destroy
    the data. The caller holds the lock of the data directory. On Linux, these processes end by themselves soon after their supervisor."""
    living = {name: child.process for name, child in before.children.items() if child.process is not None and child.process.lives}
    if living:
        say(f"ending processes of an earlier supervisor: {', '.join(TITLES.get(name, name) for name in living)}")
        end_all([(process, _SIGNALS.get(name, signal.SIGTERM)) for name, process in living.items()], grace_s=GRACE_S)
