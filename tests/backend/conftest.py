"""Fixtures: a real Postgres for all tests of a process, a separate database for each test, and the API."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from pydantic import SecretStr

from weir_backend import migrate
from weir_backend.app import configure, create_app
from weir_backend.kit.access import digest, new_secret
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.kit.tasks import Tasks
from weir_backend.models import Role, Token, TokenKind, User
from weir_backend.settings import Settings
from weir_workers.embedded.servers.postgres import Postgres
from weir_workers.embedded.servers.temporary import temporary_postgres

_names = (f"test_{number}" for number in itertools.count())
TEMPLATE = "template_of_tests"


MEMORY = Path("/dev/shm")
FREE_BYTES_MIN = 2 << 30


def in_memory() -> Path | None:
    """Return a directory in memory, which is faster than disk, or None if memory is short. Each test creates hundreds of files."""
    return MEMORY if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= FREE_BYTES_MIN else None


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with temporary_postgres(in_memory()) as server:
        with psycopg.connect(server.url, autocommit=True) as connection:
            # These databases exist only for seconds and need no durability.
            connection.execute("ALTER SYSTEM SET fsync = off")
            connection.execute("ALTER SYSTEM SET synchronous_commit = off")
            connection.execute("SELECT pg_reload_conf()")
            connection.execute(f"CREATE DATABASE {TEMPLATE}")
        database = Database(sqlalchemy_url(server, TEMPLATE), pool_size=1, name="weir tests")
        migrate.upgrade(database.engine)
        database.close()
        yield server


def sqlalchemy_url(server: Postgres, name: str) -> str:
    return server.url.rsplit("/", 1)[0].replace("postgresql://", "postgresql+psycopg://") + f"/{name}"


@contextmanager
def new_database(server: Postgres, template: str | None) -> Iterator[str]:
    """Create a database, yield its name, and delete the database at the end."""
    name = f"{next(_names)}_{os.getpid()}"
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}" + (f" TEMPLATE {template}" if template else ""))
        yield name
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def settings(postgres: Postgres, tmp_path: Path) -> Iterator[Settings]:
    with new_database(postgres, TEMPLATE) as name:
        yield Settings(
            database_url=SecretStr(postgres.url.rsplit("/", 1)[0] + f"/{name}"),
            redis_url=SecretStr("redis://:nobody@127.0.0.1:1/0"),
            secret_key=SecretStr("a key of sufficient length for tests"),
            data_dir=tmp_path / "data",
        )


@pytest.fixture
def database(settings: Settings) -> Iterator[Database]:
    opened = Database(settings.sqlalchemy_url, pool_size=5, name="weir tests")
    yield opened
    opened.close()


@dataclass
class RecordedTasks:
    """Records Celery tasks instead of sending them to workers."""

    enqueued: list[tuple[str, tuple[int | str, ...]]] = field(default_factory=list)

    def enqueue(self, name: str, *arguments: int | str, queue: str | None = None, expires_s: int | None = None) -> None:
        self.enqueued.append((name, arguments))


@pytest.fixture
def tasks() -> RecordedTasks:
    return RecordedTasks()


_idle_apps: list[FastAPI] = []


@contextmanager
def shared_app(settings: Settings, tasks: Tasks) -> Iterator[FastAPI]:
    """Yield an application that tests share, because the first request of a new application takes longer than most tests."""
    if _idle_apps:
        app = _idle_apps.pop()
        configure(app, settings, tasks)
    else:
        app = create_app(settings, tasks)
    yield app
    _idle_apps.append(app)


@pytest.fixture
def client(settings: Settings, tasks: RecordedTasks) -> Iterator[TestClient]:
    """An HTTP client that sends no token."""
    with shared_app(settings, tasks) as app, TestClient(app, raise_server_exceptions=False) as opened:
        yield opened


def change_settings(app: object, **values: Any) -> None:
    """Change settings of a running API. Its endpoints read the settings from ``state.services``."""
    state = cast(FastAPI, app).state
    state.services = replace(state.services, settings=state.services.settings.model_copy(update=values))


Login = Callable[..., dict[str, str]]


@pytest.fixture
def login(database: Database) -> Login:
    """Return a function that creates a user and returns headers with its token, as in ``login(Role.OPERATOR, rollback=True)``."""

    def make(role: Role = Role.ADMIN, *, rollback: bool = False, name: str | None = None) -> dict[str, str]:
        secret = new_secret()
        with database.session() as session:
            user = User(name=name or next(_users), role=role, rollback=rollback)
            session.add(user)
            session.flush()
            session.add(
                Token(
                    user_id=user.id, name="tests", kind=TokenKind.API, role=role, rollback=rollback, digest=digest(secret),
                    expires_at=now() + timedelta(days=400),
                )
            )  # fmt: skip
        return {"Authorization": f"Bearer {secret}"}

    return make


_users = (f"user{number}" for number in itertools.count())
