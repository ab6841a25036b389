"""How a task is declared: by name, with a time limit, and such that it may run twice."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import structlog
from celery import current_task, shared_task

log = structlog.get_logger(__name__)

TIME_LIMIT_S = 60
"""After this a task's process is killed; ten seconds earlier SoftTimeLimitExceeded is raised in it."""
TIME_LIMIT_S_MAX = 120
"""What takes longer has to be cut into parts: see VISIBILITY_S."""
VISIBILITY_S = 150
"""A task that nobody has acknowledged for so long is handed out again: its worker is taken for dead. So no task may take as long."""
TRIES_MAX = 3
"""How often a task is begun again whose process has died under it, killed for its memory say."""

assert TIME_LIMIT_S <= TIME_LIMIT_S_MAX < VISIBILITY_S

Function = TypeVar("Function", bound=Callable[..., None])


def task(name: str, *, time_limit_s: int = TIME_LIMIT_S) -> Callable[[Function], Function]:
    """Declare a function of a module in ``weir_workers.tasks`` as the task ``name`` (``weir.reconcile``).

    Arguments are numbers and texts: what is to be known about them is read from the database when the task runs. It is acknowledged
    when it has ended, so it must be safe to run twice, and after having been cut off anywhere. What it raises is logged, and the task
    is not tried again by the queue: who finds that the work is still to be done asks for it again.
    """
    assert name.startswith("weir."), name
    assert 10 < time_limit_s <= TIME_LIMIT_S_MAX, f"{name}: cut it into parts that take less than {TIME_LIMIT_S_MAX} s"

    def declare(function: Function) -> Function:
        def run(*arguments: int | str) -> None:
            with structlog.contextvars.bound_contextvars(task=name, task_id=current_task.request.id):
                began_s = time.monotonic()
                function(*arguments)
                log.debug("task done", arguments=arguments, took_ms=round((time.monotonic() - began_s) * 1000))

        run.__name__, run.__doc__, run.__module__ = function.__name__, function.__doc__, function.__module__
        options: dict[str, Any] = {
            "time_limit": time_limit_s,
            "soft_time_limit": time_limit_s - 10,
            "max_retries": TRIES_MAX,
            "default_retry_delay": 2,
        }
        shared_task(name=name, **options)(run)
        # Tests and other tasks call the function; the queue knows it by name.
        return function

    return declare
