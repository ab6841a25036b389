"""The port to the workers over Celery. The only module of the backend that knows it: work is named, never imported."""

from __future__ import annotations

from celery import Celery
from kombu.exceptions import ChannelError, OperationalError

from weir_backend.kit.tasks import DECISIONS, queue_of

PUBLISH_S = 2.0
WAITING_MAX = 20
"""In a queue, until nothing more is put there that expires: Redis keeps what has expired until somebody comes to take it."""


class CeleryTasks:
    """``url`` of a Redis. Connections are made when they are needed."""

    def __init__(self, url: str) -> None:
        self._celery = Celery("weir", broker=url, set_as_current=False)
        self._celery.conf.update(
            broker_connection_retry_on_startup=False,
            # Who cannot reach the broker must not hold up a request: workers look for themselves, too.
            broker_transport_options={
                "socket_timeout": PUBLISH_S,
                "socket_connect_timeout": PUBLISH_S,
                "retry_on_timeout": False,
            },
            task_ignore_result=True,
            task_serializer="json",
            task_default_queue=DECISIONS,
        )

    def enqueue(self, name: str, *arguments: int | str, queue: str | None = None, expires_s: int | None = None) -> None:
        """Raises kombu's OperationalError if the broker is not there."""
        to = queue or queue_of(name)
        if expires_s is None or self._waiting(to) < WAITING_MAX:
            self._celery.send_task(name, arguments, queue=to, expires=expires_s, retry=False)

    def _waiting(self, queue: str) -> int:
        with self._celery.producer_pool.acquire(block=True) as producer:
            try:
                return int(producer.channel.queue_declare(queue=queue, passive=True).message_count)
            except ChannelError:
                return 0  # a queue in which nothing waits is not there
            except producer.connection.recoverable_connection_errors as error:
                raise OperationalError(str(error)) from error
