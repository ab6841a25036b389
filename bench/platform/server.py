"""A temporary control plane, as a context manager. The control plane has its own Postgres and Valkey, and starts the API as
``weir up`` does.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from bench.platform.client import Client
from weir_backend.kit.database import Database
from weir_backend.settings import Settings
from weir_workers.embedded.constants import ADMIN_PASSWORD, API, DATABASE_URL, REDIS_URL, SCHEMA
from weir_workers.embedded.data_dir.credentials import ADMINISTRATOR
from weir_workers.embedded.data_dir.layout import DataDir
from weir_workers.embedded.data_dir.logs import tail
from weir_workers.embedded.ports import free_port
from weir_workers.embedded.servers.postgres import Postgres, new_password
from weir_workers.embedded.servers.temporary import running_valkey, temporary_postgres
from weir_workers.embedded.servers.valkey import Valkey
from weir_workers.embedded.supervisor.services import START_S_MAX, Service, services

STOP_S = 20.0
CONNECTIONS = 4
"""Number of database connections of the benchmark process. The measurements do not use these connections: the
benchmark process only fills tables and counts rows."""


@dataclass(frozen=True, slots=True)
class TemporaryControlPlane:
    """``token``, ``password``: credentials of the administrator. The token has all permissions. ``api``,
    ``postgres``: process ids."""

    url: str
    token: str
    password: str
    settings: Settings
    database: Database
    api: int
    postgres: int

    def client(self) -> Client:
        return Client(self.url, self.token)


@contextmanager
def platform() -> Iterator[TemporaryControlPlane]:
    """Start an empty control plane, with the schema and an administrator."""
    root = Path(tempfile.mkdtemp(prefix="weir-bench-"))
    try:
        directory = DataDir(root)
        directory.make()
        valkey = Valkey(directory.valkey, directory.log_of("valkey"), free_port(), new_password())
        with temporary_postgres() as server, running_valkey(valkey) as queue:
            yield from _serve(directory, server, queue)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _serve(directory: DataDir, server: Postgres, queue: Valkey) -> Iterator[TemporaryControlPlane]:
    port, password, key = free_port(), new_password(), new_password()
    url = f"http://127.0.0.1:{port}"
    environment = {
        **os.environ,
        DATABASE_URL: server.url,
        REDIS_URL: queue.url,
        "WEIR_SECRET_KEY": key,
        "WEIR_DATA_DIR": str(directory.root),
        "WEIR_PUBLIC_URL": url,
    }
    settings = Settings(
        database_url=SecretStr(server.url), redis_url=SecretStr(queue.url), secret_key=SecretStr(key), data_dir=directory.root
    )
    found = services(directory, environment, {ADMIN_PASSWORD: password}, api_port=port, postgres=None, valkey=None)
    by_name = {service.child.name: service for service in found}
    schema = by_name[SCHEMA].start()
    if schema.wait(START_S_MAX) != 0:
        raise SystemExit(f"Cannot create the schema: {tail(directory.log_of(SCHEMA))}")
    api = _started(by_name[API], directory)
    database = Database(settings.sqlalchemy_url, pool_size=CONNECTIONS, name="weir bench")
    try:
        with Client(url) as client:
            token = str(client.post("/api/v1/session", {"name": ADMINISTRATOR, "password": password}).json()["token"])
        yield TemporaryControlPlane(url, token, password, settings, database, api.pid, _pid_of(server))
    finally:
        database.close()
        _end(api)


def _started(service: Service, directory: DataDir) -> subprocess.Popen[bytes]:
    process = service.start()
    deadline = time.monotonic() + START_S_MAX
    while not service.ready(process):
        if process.poll() is not None or time.monotonic() > deadline:
            _end(process)
            raise SystemExit(f"The API did not start: {tail(directory.log_of(API))}")
        time.sleep(0.05)
    return process


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _pid_of(server: Postgres) -> int:
    return int((server.data / "postmaster.pid").read_text().split(maxsplit=1)[0])
