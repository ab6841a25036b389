"""What workers are asked for goes through a real Redis."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from kombu.exceptions import OperationalError

from weir_backend.kit.broker import WAITING_MAX, CeleryTasks
from weir_backend.kit.tasks import SUBMIT, WATCH, host_queue
from weir_workers.embedded.children import free_port
from weir_workers.embedded.throwaway import throwaway_valkey
from weir_workers.embedded.valkey import Valkey

AWAY = host_queue("away")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Valkey]:
    with throwaway_valkey(tmp_path, free_port(), "secret") as server:
        yield server


def test_for_a_machine_that_is_away_nothing_piles_up_and_nothing_is_left_out_that_has_to_be_done(server: Valkey) -> None:
    tasks, waiting = CeleryTasks(server.url), redis.Redis.from_url(server.url)
    for _ in range(3 * WAITING_MAX):
        tasks.enqueue(WATCH, queue=AWAY, expires_s=10)
    assert waiting.llen(AWAY) == WAITING_MAX
    tasks.enqueue(SUBMIT, 7, queue=AWAY)
    assert waiting.llen(AWAY) == WAITING_MAX + 1, "this one does not expire"
    tasks.enqueue(WATCH, queue=host_queue("another"), expires_s=10)
    assert waiting.llen(host_queue("another")) == 1
    waiting.delete(AWAY)
    tasks.enqueue(WATCH, queue=AWAY, expires_s=10)
    assert waiting.llen(AWAY) == 1, "it is back"


def test_a_redis_that_is_not_there_is_said_to_be_away() -> None:
    tasks = CeleryTasks(f"redis://:nobody@127.0.0.1:{free_port()}/0")
    for expires_s in (None, 10):
        with pytest.raises(OperationalError):
            tasks.enqueue(WATCH, queue=AWAY, expires_s=expires_s)
