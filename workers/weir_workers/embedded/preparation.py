"""What is there before any process of a platform is started: ports, secrets, servers that have their data, the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from weir.errors import ConfigError
from weir_workers.embedded import credentials
from weir_workers.embedded.children import free_port, server_user
from weir_workers.embedded.layout import DataDir
from weir_workers.embedded.names import ADMIN_PASSWORD, DATABASE_URL, POSTGRES, REDIS_URL, VALKEY
from weir_workers.embedded.postgres import Postgres, find_binaries
from weir_workers.embedded.services import Service, services
from weir_workers.embedded.state import PlatformState, Ports
from weir_workers.embedded.valkey import Valkey, find_binary

API_PORT = 8700
RUNS_AS_ROOT = (
    "it runs as root, and so does the code that is deployed to it: where not everybody who may deploy is to be root, let an ordinary user "
    "run weir up"
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
    """Under the lock, once what an earlier supervisor has left is gone. Raises ConfigError."""
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
            f"the last time this platform used the database at {before.external[POSTGRES]}, and all its jobs are there: set {DATABASE_URL} "
            "again, or choose a new directory with --data-dir for a platform of its own"
        )
    notes: list[str] = []
    if before is not None and POSTGRES in before.external and POSTGRES not in external:
        notes.append(
            f"the last time this platform used the database at {before.external[POSTGRES]}; what is there is not seen now, and drivers that "
            f"belong to it are not looked after: set {DATABASE_URL} to use it again"
        )
    if os.geteuid() == 0:
        notes.append(RUNS_AS_ROOT)
    ports = _ports(before.ports if before else Ports(), external, notes, preferred=_preferred(environment))
    assert ports.api is not None
    secrets = credentials.load_or_make(directory.secrets)
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
        notes.append(f"what is in the platform's own Postgres is not used: {DATABASE_URL} names another server")
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
        # Whoever runs all of it on one machine has his receivers there, too; whoever else is on it could reach them anyway.
        "WEIR_WEBHOOK_REACH": environment.get("WEIR_WEBHOOK_REACH") or "loopback",
    }
    found = services(
        directory, ours, {ADMIN_PASSWORD: secrets.admin_password}, api_port=ports.api, postgres=postgres, valkey=valkey
    )
    return Prepared(found, ports, url, external, notes)


def _named(variable: str, url: str, schemes: tuple[str, ...]) -> str:
    """Host and port of it, for people. The rest of it is nobody's business."""
    try:
        parts = urlsplit(url)
        if parts.scheme.split("+")[0] not in schemes or not parts.netloc:
            raise ValueError
        return f"{parts.hostname or 'localhost'}:{parts.port}" if parts.port else (parts.hostname or "localhost")
    except ValueError:
        # Its own words are not repeated: there is a password in it.
        raise ConfigError(f"{variable} is no address of a server: write {schemes[0]}://user:password@host:port/name") from None


def _preferred(environment: Mapping[str, str]) -> int:
    """Raises ConfigError."""
    said = environment.get(API_PORT_VARIABLE, "")
    if not said:
        return API_PORT
    if not said.isdecimal() or int(said) > 65_535:
        raise ConfigError(f"{API_PORT_VARIABLE} is '{said}': write the number of a port, or 0 for any that is free")
    return int(said)


def _ports(kept: Ports, external: Mapping[str, str], notes: list[str], *, preferred: int) -> Ports:
    api = free_port(kept.api or preferred or None)
    if kept.api is not None and api != kept.api:
        notes.append(
            f"port {kept.api} is taken by another program: the API is at port {api} now; jobs that were started before look for it "
            f"at {kept.api}"
        )
    elif preferred and api != (kept.api or preferred):
        notes.append(f"port {preferred} is taken by another program: the API is at port {api}")
    # One port for two of ours would be kept for good: it is free whenever none of them runs.
    postgres = kept.postgres if POSTGRES in external else free_port(kept.postgres, but=(api,))
    valkey = kept.valkey if VALKEY in external else free_port(kept.valkey, but=(api, postgres))
    return Ports(postgres=postgres, valkey=valkey, api=api)


def _check_version(data: Path, binaries: Path) -> None:
    """Raises ConfigError if the data was made by another major version."""
    try:
        made_by = (data / "PG_VERSION").read_text().strip()
    except FileNotFoundError:
        return
    folder = binaries.parent.name
    installed = "".join(letter for letter in folder if letter.isdigit())
    if installed and installed != made_by:
        raise ConfigError(
            f"the data in {data} is Postgres {made_by}'s, and Postgres {installed} is installed: install the version of Weir that made it, "
            "dump the database with pg_dump, and load it into a new data directory"
        )
