"""Enqueues Celery tasks in a real Valkey."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from kombu.exceptions import OperationalError

from weir_backend.kit.broker import QUEUED_MAX, CeleryTasks
from weir_backend.kit.tasks import SUBMIT, WATCH_DRIVERS, host_queue
from weir_workers.embedded.ports import free_port
from weir_workers.embedded.servers.temporary import running_valkey
from weir_workers.embedded.servers.valkey import Valkey

UNREACHABLE = host_queue("unreachable")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Valkey]:
    with running_valkey(Valkey(tmp_path / "data", tmp_path / "log", free_port(), "secret")) as server:
        yield server


def test_the_queue_of_a_host_is_limited_only_for_tasks_that_expire(server: Valkey) -> None:
    tasks, client = CeleryTasks(server.url), redis.Redis.from_url(server.url)
    for _ in range(3 * QUEUED_MAX):
        tasks.enqueue(WATCH_DRIVERS, queue=UNREACHABLE, expires_s=10)
    assert client.llen(UNREACHABLE) == QUEUED_MAX
    tasks.enqueue(SUBMIT, 7, queue=UNREACHABLE)
    assert client.llen(UNREACHABLE) == QUEUED_MAX + 1, "a task that does not expire is always enqueued"
    tasks.enqueue(WATCH_DRIVERS, queue=host_queue("another"), expires_s=10)
    assert client.llen(host_queue("another")) == 1
    client.delete(UNREACHABLE)
    tasks.enqueue(WATCH_DRIVERS, queue=UNREACHABLE, expires_s=10)
    assert client.llen(UNREACHABLE) == 1, "an empty queue accepts tasks again"


def test_an_unreachable_redis_is_reported() -> None:
    tasks = CeleryTasks(f"redis://:nobody@127.0.0.1:{free_port()}/0")
    for expires_s in (None, 10):
        with pytest.raises(OperationalError):
            tasks.enqueue(WATCH_DRIVERS, queue=UNREACHABLE, expires_s=expires_s)
