"""The task queue, implemented with Celery. No other module of the backend uses Celery. The backend refers to tasks by name and never
imports them."""

from __future__ import annotations

from celery import Celery
from kombu.exceptions import ChannelError, OperationalError

from weir_backend.kit.tasks import DEFAULT_QUEUE, queue_of

PUBLISH_S = 2.0
QUEUED_MAX = 20
"""If a queue contains ``QUEUED_MAX`` tasks or more, a task with an expiry is not enqueued. Without this limit, a queue could grow without
bound, because Redis keeps expired tasks until a worker fetches them."""


class CeleryTasks:
    """Enqueues tasks in the Redis instance at ``url``. The connection to Redis is opened when the first task is enqueued."""

    def __init__(self, url: str) -> None:
        self._celery = Celery("weir", broker=url, set_as_current=False)
        self._celery.conf.update(
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
            task_default_queue=DEFAULT_QUEUE,
        )

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
