"""Prepare the start of a platform: choose ports, create secrets and server data, build the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from weir.errors import ConfigError
from weir_workers.embedded.constants import ADMIN_PASSWORD, DATABASE_URL, POSTGRES, REDIS_URL, VALKEY
from weir_workers.embedded.data_dir import credentials
from weir_workers.embedded.data_dir.layout import DataDir
from weir_workers.embedded.data_dir.platform_state import PlatformState, Ports
from weir_workers.embedded.ports import free_port
from weir_workers.embedded.processes import server_user
from weir_workers.embedded.servers.postgres import Postgres, find_binaries
from weir_workers.embedded.servers.valkey import Valkey, find_binary
from weir_workers.embedded.supervisor.services import Service, services

API_PORT = 8700
RUNS_AS_ROOT = (
    "the platform and the code of deployed jobs run as root: run weir up as an ordinary user, or give the permission to "
    "deploy only to users who may have root access to this host"
)
API_PORT_VARIABLE = "WEIR_API_PORT"


@dataclass(frozen=True, slots=True)
class Prepared:
    services: list[Service]
    ports: Ports
    url: str
    external: Mapping[str, str]
    notes: list[str]


def prepare(directory: DataDir, environment: Mapping[str, str], before: PlatformState | None) -> Prepared:
    """Prepare the start. The caller holds the lock, and has ended the processes of an earlier supervisor. Raises ConfigError."""
    external = {
        name: _named(variable, environment[variable], schemes)
        for name, variable, schemes in (
            (POSTGRES, DATABASE_URL, ("postgresql", "postgres")),
            (VALKEY, REDIS_URL, ("redis", "rediss")),
        )
        if environment.get(variable)
    }
    if before is not None and POSTGRES in before.external and POSTGRES not in external and not directory.postgres.exists():
        raise ConfigError(
            f"this platform has used the external database at {before.external[POSTGRES]}, which contains its jobs: set {DATABASE_URL} "
            "again, or choose a new directory with --data-dir to start another platform"
        )
    notes: list[str] = []
    if before is not None and POSTGRES in before.external and POSTGRES not in external:
        notes.append(
            f"the platform no longer uses the external database at {before.external[POSTGRES]}: the jobs in that database are not visible, "
            f"and no worker watches their drivers. To use that database again, set {DATABASE_URL}"
        )
    if os.geteuid() == 0:
        notes.append(RUNS_AS_ROOT)
    ports = _ports(before.ports if before else Ports(), external, notes, preferred=_preferred(environment))
    assert ports.api is not None
    secrets = credentials.load_or_create(directory.secrets)
    user = server_user()

    postgres = valkey = None
    if POSTGRES not in external:
        assert ports.postgres is not None
        binaries = find_binaries(copy_to=directory.root, user=user)
        server = Postgres(directory.postgres, directory.log_of(POSTGRES), ports.postgres, secrets.database_password, user)
        _check_version(server.data, binaries)
        server.prepare(binaries)
        postgres = (server, binaries)
    elif directory.postgres.exists():
        notes.append(f"the platform's own Postgres is not used, because {DATABASE_URL} names another server")
    if VALKEY not in external:
        assert ports.valkey is not None
        valkey = (Valkey(directory.valkey, directory.log_of(VALKEY), ports.valkey, secrets.redis_password), find_binary())

    url = f"http://127.0.0.1:{ports.api}"
    ours = {
        **environment,
        DATABASE_URL: environment[DATABASE_URL] if postgres is None else postgres[0].url,
        REDIS_URL: environment[REDIS_URL] if valkey is None else valkey[0].url,
        "WEIR_SECRET_KEY": environment.get("WEIR_SECRET_KEY") or secrets.secret_key,
        "WEIR_DATA_DIR": str(directory.root),
        "WEIR_PUBLIC_URL": environment.get("WEIR_PUBLIC_URL") or url,
        # By default, allow webhooks to receivers on this host. Users of an embedded platform often run receivers on the same host. Every
        # user of the host can send requests to such local receivers, even without Weir.
        "WEIR_WEBHOOK_REACH": environment.get("WEIR_WEBHOOK_REACH") or "loopback",
    }
    found = services(
        directory, ours, {ADMIN_PASSWORD: secrets.admin_password}, api_port=ports.api, postgres=postgres, valkey=valkey
    )
    return Prepared(found, ports, url, external, notes)


def _named(variable: str, url: str, schemes: tuple[str, ...]) -> str:
    """Return the host and the port of the URL, which contain no secrets. Raises ConfigError."""
    try:
        parts = urlsplit(url)
        if parts.scheme.split("+")[0] not in schemes or not parts.netloc:
            raise ValueError
        return f"{parts.hostname or 'localhost'}:{parts.port}" if parts.port else (parts.hostname or "localhost")
    except ValueError:
        # Do not repeat the value, because it contains a password.
        raise ConfigError(f"{variable} is not a server URL: write {schemes[0]}://user:password@host:port/name") from None


def _preferred(environment: Mapping[str, str]) -> int:
    """Return the preferred port of the API. Raises ConfigError."""
    setting = environment.get(API_PORT_VARIABLE, "")
    if not setting:
        return API_PORT
    if not setting.isdecimal() or int(setting) > 65_535:
        raise ConfigError(f"{API_PORT_VARIABLE} is '{setting}': write a port number, or 0 for any free port")
    return int(setting)


def _ports(kept: Ports, external: Mapping[str, str], notes: list[str], *, preferred: int) -> Ports:
    api = free_port(kept.api or preferred or None)
    if kept.api is not None and api != kept.api:
        notes.append(
            f"another program uses port {kept.api}: the API now uses port {api}, but running jobs still send their events to port "
            f"{kept.api}"
        )
    elif preferred and api != (kept.api or preferred):
        notes.append(f"another program uses port {preferred}: the API uses port {api}")
    # Without ``excluded``, two servers could get the same port, because a port is free until its server starts.
    postgres = kept.postgres if POSTGRES in external else free_port(kept.postgres, excluded=(api,))
    valkey = kept.valkey if VALKEY in external else free_port(kept.valkey, excluded=(api, postgres))
    return Ports(postgres=postgres, valkey=valkey, api=api)


def _check_version(data: Path, binaries: Path) -> None:
    """Check that the data was created by the installed major version of Postgres. Raises ConfigError."""
    try:
        made_by = (data / "PG_VERSION").read_text().strip()
    except FileNotFoundError:
        return
    folder = binaries.parent.name
    installed = "".join(letter for letter in folder if letter.isdigit())
    if installed and installed != made_by:
        raise ConfigError(
            f"Postgres {made_by} created the data in {data}, but Postgres {installed} is installed. Install the previous version of "
            "Weir and dump the database with pg_dump. Then install this version again, and load the dump into a new data directory."
        )
