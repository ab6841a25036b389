"""Celery tasks are enqueued through a real Redis."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from kombu.exceptions import OperationalError

from weir_backend.kit.broker import QUEUED_MAX, CeleryTasks
from weir_backend.kit.tasks import SUBMIT, WATCH_DRIVERS, host_queue
from weir_workers.embedded.ports import free_port
from weir_workers.embedded.servers.temporary import temporary_valkey
from weir_workers.embedded.servers.valkey import Valkey

AWAY = host_queue("away")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Valkey]:
    with temporary_valkey(tmp_path, free_port(), "secret") as server:
        yield server


def test_tasks_for_an_unreachable_host_do_not_pile_up_and_required_ones_are_kept(server: Valkey) -> None:
    tasks, waiting = CeleryTasks(server.url), redis.Redis.from_url(server.url)
    for _ in range(3 * QUEUED_MAX):
        tasks.enqueue(WATCH_DRIVERS, queue=AWAY, expires_s=10)
    assert waiting.llen(AWAY) == QUEUED_MAX
    tasks.enqueue(SUBMIT, 7, queue=AWAY)
    assert waiting.llen(AWAY) == QUEUED_MAX + 1, "this one does not expire"
    tasks.enqueue(WATCH_DRIVERS, queue=host_queue("another"), expires_s=10)
    assert waiting.llen(host_queue("another")) == 1
    waiting.delete(AWAY)
    tasks.enqueue(WATCH_DRIVERS, queue=AWAY, expires_s=10)
    assert waiting.llen(AWAY) == 1, "it is back"


def test_an_unreachable_redis_is_reported() -> None:
    tasks = CeleryTasks(f"redis://:nobody@127.0.0.1:{free_port()}/0")
    for expires_s in (None, 10):
        with pytest.raises(OperationalError):
            tasks.enqueue(WATCH_DRIVERS, queue=AWAY, expires_s=expires_s)
