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
from weir_backend.kit.tasks import DEFAULT_QUEUE, QUEUES, host_queue
from weir_backend.settings import Settings, settings
from weir_workers import context, readiness, tasks
from weir_workers.host import host_id
from weir_workers.schedule import beat_schedule
from weir_workers.task import TIME_LIMIT_S, VISIBILITY_S


def make_app(settings: Settings) -> Celery:
    """Create the application, and the file with the id of this host if the file does not exist. Raises OSError."""
    app = Celery("weir", broker=settings.redis_url.get_secret_value(), set_as_current=False)
    app.conf.update(
        task_default_queue=DEFAULT_QUEUE,
        # A worker uses these queues if it is started without -Q and -X.
        task_queues=[
            Queue(name)  # type: ignore[no-untyped-call]  # kombu has no annotations
            for name in (*QUEUES, host_queue(host_id(settings.data_dir)))
        ],
        # A task is acknowledged when it ends. With prefetch 1, a worker that runs a task does not reserve another task.
        task_acks_late=True,
        worker_prefetch_multiplier=1,
        # When the process of a task dies, Celery sends the task again, a few times at most (see task.py). If Celery cannot send the
        # task, for example because Redis is unreachable, the original message returns to the queue.
        task_retry_on_worker_lost=True,
        task_reject_on_worker_lost=True,
        task_time_limit=TIME_LIMIT_S,
        task_soft_time_limit=TIME_LIMIT_S - 10,
        # A task keeps running if its worker loses the connection to the broker. After a lost connection, the broker can deliver the task
        # again. A second run of a task is harmless.
        worker_cancel_long_running_tasks_on_connection_loss=False,
        worker_max_tasks_per_child=2_000,
        task_ignore_result=True,
        task_serializer="json",
        accept_content=["json"],
        result_accept_content=["json"],
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options={
            # The task of a killed worker returns to the queue after this time. Look for the tasks of killed workers every 5 s (the default
            # is 100 s).
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
def _app_from_environment() -> Celery:
    found = settings()
    app = make_app(found)
    _connect_signals(found)
    return app


def _connect_signals(found: Settings) -> None:
    """Connect the signal handlers of a worker's processes. Tests do not call this function, because Celery's signals are global."""

    # Celery warns about workers that run as root because they may unpickle messages. Workers of Weir accept JSON only.
    warnings.filterwarnings("ignore", category=SecurityWarning)

    def configure_logs(loglevel: int | None = None, **_: Any) -> None:
        logs.configure(loglevel or logging.INFO)

    def open_context(**_: Any) -> None:
        context.open_context(found)

    def close_context(**_: Any) -> None:
        context.close()

    def report_ready(**_: Any) -> None:
        readiness.report()

    signals.setup_logging.connect(configure_logs, weak=False)
    signals.worker_process_init.connect(open_context, weak=False)
    signals.worker_process_shutdown.connect(close_context, weak=False)
    signals.worker_ready.connect(report_ready, weak=False)
    signals.beat_init.connect(report_ready, weak=False)


def __getattr__(name: str) -> Celery:
    # ``celery -A weir_workers.app`` reads ``app``. Importing any other name from this module needs no settings.
    if name == "app":
        return _app_from_environment()
    raise AttributeError(name)
