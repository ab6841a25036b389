"""The task queue, implemented with Celery. No other module of the backend uses Celery. The backend refers to tasks by name and never
imports them."""

from __future__ import annotations

from collections.abc import Mapping

import redis
from celery import Celery
from kombu.exceptions import ChannelError, OperationalError

from weir_backend.kit.tasks import DEFAULT_QUEUE, queue_of

PUBLISH_S = 2.0
QUEUED_MAX = 20
"""If a queue contains ``QUEUED_MAX`` tasks or more, a task with an expiry is not enqueued. Without this limit, a queue could grow without
bound, because Redis keeps expired tasks until a worker fetches them."""


def _celery(url: str) -> Celery:
    celery = Celery("weir", broker=url, set_as_current=False)
    celery.conf.update(
        broker_connection_retry_on_startup=False,
        # An unreachable broker must not delay requests. Workers find their work even without the broker, because they also poll the
        # database.
        broker_transport_options={
            "socket_timeout": PUBLISH_S,
            "socket_connect_timeout": PUBLISH_S,
            "retry_on_timeout": False,
        },
        task_ignore_result=True,
        task_serializer="json",
        accept_content=["json"],
        task_default_queue=DEFAULT_QUEUE,
    )
    return celery


class WorkerDirectory:
    """Asks the workers which queues they serve. ``url`` is the URL of Redis."""

    def __init__(self, url: str) -> None:
        self._celery = _celery(url)

    def queues_of_workers(self, *, timeout_s: float, expected: int = 0) -> Mapping[str, frozenset[str]]:
        """Return the queues of each worker that answers within ``timeout_s``, by the name of the worker. Return as soon as ``expected``
        workers have answered; 0 waits until the timeout. Raises kombu's OperationalError if Redis is unreachable."""
        inspect = self._celery.control.inspect(timeout=timeout_s, limit=expected or None)
        try:
            answers = inspect.active_queues() or {}
        except redis.RedisError as error:
            raise OperationalError(str(error)) from error
        return {worker: frozenset(str(queue["name"]) for queue in queues) for worker, queues in answers.items()}


class CeleryTasks:
    """Enqueues tasks in the Redis instance at ``url``. The connection to Redis is opened when the first task is enqueued."""

    def __init__(self, url: str) -> None:
        self._celery = _celery(url)

    def enqueue(self, name: str, *arguments: int | str, queue: str | None = None, expires_s: int | None = None) -> None:
        """Enqueue a task. Raises kombu's OperationalError if the broker is unreachable."""
        target = queue or queue_of(name)
        if expires_s is None or self._length(target) < QUEUED_MAX:
            self._celery.send_task(name, arguments, queue=target, expires=expires_s, retry=False)

    def _length(self, queue: str) -> int:
        with self._celery.producer_pool.acquire(block=True) as producer:
            try:
                return int(producer.channel.queue_declare(queue=queue, passive=True).message_count)
            except ChannelError:
                return 0  # kombu reports an empty queue as missing
            except producer.connection.recoverable_connection_errors as error:
                raise OperationalError(str(error)) from error
