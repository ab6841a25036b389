"""What a task needs of the process that it runs in: settings, sessions, the way to ask for more work."""

from __future__ import annotations

import os
from dataclasses import dataclass

from weir_backend.kit.broker import CeleryTasks
from weir_backend.kit.database import Database
from weir_backend.kit.tasks import Tasks
from weir_backend.settings import Settings
from weir_workers.host import host_id

POOL_SIZE_MAX = 2
"""A worker process does one task at a time; a task may hold a second connection, for a lock say."""


@dataclass(frozen=True, slots=True)
class Context:
    """Of one worker process. ``host``: see ``weir_workers.host``."""

    settings: Settings
    database: Database
    tasks: Tasks
    host: str
    pid: int


_current: Context | None = None


def opened(settings: Settings) -> Context:
    """For this process. Called after the fork: connections must not be carried over one."""
    global _current
    close()
    database = Database(settings.sqlalchemy_url, pool_size=min(POOL_SIZE_MAX, settings.pool_size), name="weir worker")
    tasks = CeleryTasks(settings.redis_url.get_secret_value())
    _current = Context(settings, database, tasks, host_id(settings.data_dir), os.getpid())
    return _current


def current() -> Context:
    """In a task."""
    assert _current is not None and _current.pid == os.getpid(), "this process is none of a worker's pool"
    return _current


def close() -> None:
    global _current
    if _current is not None and _current.pid == os.getpid():
        _current.database.close()
    _current = None
