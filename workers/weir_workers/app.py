"""The Celery application: ``celery -A weir_workers.app worker``. Settings come from the environment."""

from __future__ import annotations

import logging
import pkgutil
import warnings
from functools import lru_cache
from typing import Any

from celery import Celery, signals
from celery.platforms import SecurityWarning
from kombu.entity import Queue

from weir_backend.kit import logs
from weir_backend.kit.tasks import DECISIONS, QUEUES, host_queue
from weir_backend.settings import Settings, settings
from weir_workers import context, ready, tasks
from weir_workers.host import host_id
from weir_workers.schedule import beat_schedule
from weir_workers.task import TIME_LIMIT_S, VISIBILITY_S


def make_app(settings: Settings) -> Celery:
    """Makes the file that holds the host's id. Raises OSError."""
    app = Celery("weir", broker=settings.redis_url.get_secret_value(), set_as_current=False)
    app.conf.update(
        task_default_queue=DECISIONS,
        # Of a worker that is not told by -Q or -X which of them are its own.
        task_queues=[Queue(name) for name in (*QUEUES, host_queue(host_id(settings.data_dir)))],  # type: ignore[no-untyped-call]
        # A task is done when it has ended, not when it was taken; with prefetch 1 a worker holds none that it does not work at.
        task_acks_late=True,
        worker_prefetch_multiplier=1,
        # The process of a task has died: the task is begun again, a few times (see task.py). If that cannot be asked for, it goes back.
        task_retry_on_worker_lost=True,
        task_reject_on_worker_lost=True,
        task_time_limit=TIME_LIMIT_S,
        task_soft_time_limit=TIME_LIMIT_S - 10,
        # A task that is cut off with its connection runs to its end: it is no worse to run again after that.
        worker_cancel_long_running_tasks_on_connection_loss=False,
        worker_max_tasks_per_child=2_000,
        task_ignore_result=True,
        task_serializer="json",
        accept_content=["json"],
        result_accept_content=["json"],
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options={
            # The task of a worker that was killed comes back after this. Looked for every few seconds: the defaults look every 100 s.
            "visibility_timeout": VISIBILITY_S,
            "unacked_restore_interval": 5,
            "unacked_restore_throttle": 1,
            "socket_timeout": 10,
            "socket_connect_timeout": 5,
            "socket_keepalive": True,
        },
        beat_schedule=beat_schedule(),
        beat_max_loop_interval=5,
        timezone="UTC",
        imports=[f"{tasks.__name__}.{one.name}" for one in pkgutil.iter_modules(tasks.__path__)],
    )
    return app


@lru_cache
def _of_the_environment() -> Celery:
    found = settings()
    app = make_app(found)
    _connect(found)
    return app


def _connect(found: Settings) -> None:
    """What happens in the processes of a worker. Not for tests: the signals are Celery's, one set for a process."""

    # It warns whoever runs a worker as root, since that unpickles what it is sent. This one does not.
    warnings.filterwarnings("ignore", category=SecurityWarning)

    def configure_logs(loglevel: int | None = None, **_: Any) -> None:
        logs.configure(loglevel or logging.INFO)

    def open_context(**_: Any) -> None:
        context.opened(found)

    def close_context(**_: Any) -> None:
        context.close()

    def tell_that_it_serves(**_: Any) -> None:
        ready.tell()

    signals.setup_logging.connect(configure_logs, weak=False)
    signals.worker_process_init.connect(open_context, weak=False)
    signals.worker_process_shutdown.connect(close_context, weak=False)
    signals.worker_ready.connect(tell_that_it_serves, weak=False)
    signals.beat_init.connect(tell_that_it_serves, weak=False)


def __getattr__(name: str) -> Celery:
    # ``celery -A weir_workers.app`` asks for ``app``. Others import this module without being told the settings.
    if name == "app":
        return _of_the_environment()
    raise AttributeError(name)
