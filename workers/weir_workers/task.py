"""Declaration of tasks: a name, a time limit, and the rule that a task may run twice."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import structlog
from celery import current_task, shared_task

log = structlog.get_logger(__name__)

TIME_LIMIT_S = 60
"""Celery kills the process of a task that has run for this many seconds.

Ten seconds earlier, Celery raises SoftTimeLimitExceeded in the task.
"""
TIME_LIMIT_S_MAX = 120
"""Work that takes longer than this time limit must be split into parts (see VISIBILITY_S)."""
VISIBILITY_S = 150
"""If a task is not acknowledged within this time, its worker is presumed dead and the task is delivered again.

No task may take as long as the visibility timeout.
"""
TRIES_MAX = 3
"""Maximum number of retries of a task whose process died, for example because it was killed for using too much memory."""

assert TIME_LIMIT_S <= TIME_LIMIT_S_MAX < VISIBILITY_S

Function = TypeVar("Function", bound=Callable[..., None])


def task(name: str, *, time_limit_s: int = TIME_LIMIT_S) -> Callable[[Function], Function]:
    """Declare a function of a module in ``weir_workers.tasks`` as the task ``name``, for example ``weir.reconcile``.

    Arguments are numbers and strings; the task reads everything else from the database when it runs. A task is acknowledged when
    it ends. The function must therefore tolerate running twice, and running again after an interruption at any point. An exception is
    logged, and the queue does not retry the task, because a periodic task enqueues pending work again.
    """
    assert name.startswith("weir."), name
    assert 10 < time_limit_s <= TIME_LIMIT_S_MAX, f"{name}: split it into parts that take less than {TIME_LIMIT_S_MAX} s"

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
        # Tests and other tasks call the function directly; the queue uses the name of the task.
        return function

    return declare
