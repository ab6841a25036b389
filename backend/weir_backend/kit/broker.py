"""The port to the workers over Celery. The only module of the backend that knows it: work is named, never imported."""

from __future__ import annotations

from celery import Celery

from weir_backend.kit.tasks import DECISIONS, queue_of

PUBLISH_S = 2.0


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
        self._celery.send_task(name, arguments, queue=queue or queue_of(name), expires=expires_s, retry=False)
