"""The context that a worker process gives to its tasks: settings, database sessions, and a way to enqueue other tasks."""

from __future__ import annotations

import os
from dataclasses import dataclass

from weir_backend.kit.broker import CeleryTasks
from weir_backend.kit.database import Database
from weir_backend.kit.tasks import Tasks
from weir_backend.settings import Settings
from weir_workers.host import host_id

POOL_SIZE_MAX = 2
"""A worker process runs one task at a time. A task can use a second connection, for example for a lock."""


@dataclass(frozen=True, slots=True)
class Context:
    """The context of one worker process. ``host``: see ``weir_workers.host``."""

    settings: Settings
    database: Database
    tasks: Tasks
    host: str
    pid: int


_current: Context | None = None


def open_context(settings: Settings) -> Context:
    """Open the context of this process.

    Call this function after the fork, because connections must not be shared across a fork.
    """
    global _current
    close()
    database = Database(settings.sqlalchemy_url, pool_size=min(POOL_SIZE_MAX, settings.pool_size), name="weir worker")
    tasks = CeleryTasks(settings.redis_url.get_secret_value())
    _current = Context(settings, database, tasks, host_id(settings.data_dir), os.getpid())
    return _current


def current() -> Context:
    """Return the context of this process. Call this function only within a task."""
    assert _current is not None and _current.pid == os.getpid(), "not called in a worker's pool process"
    return _current


def close() -> None:
    global _current
    if _current is not None and _current.pid == os.getpid():
        _current.database.close()
    _current = None
