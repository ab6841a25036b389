from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis

from weir_backend.errors import TooMany
from weir_backend.kit.rates import AGAIN_S, Rate, Rates, origin
from weir_workers.embedded.children import free_port
from weir_workers.embedded.valkey import Valkey, find_binary

TWO = Rate("test", 2, 60, "tries")


@contextmanager
def valkey(directory: Path, port: int) -> Iterator[Valkey]:
    server = Valkey(directory / "data", directory / "log", port, "secret")
    process = server.start(find_binary())
    try:
        server.wait_until_ready(process)
        yield server
    finally:
        process.kill()
        process.wait()


def refused(rates: Rates, who: str = "somebody") -> bool:
    try:
        rates.hit(TWO, who)
    except TooMany as problem:
        return 0 < int(problem.headers["Retry-After"]) <= TWO.seconds
    return False


def test_processes_count_together_through_redis(tmp_path: Path) -> None:
    with valkey(tmp_path, free_port()) as server:
        one, other = Rates(server.url), Rates(server.url)
        assert [refused(one), refused(other), refused(one), refused(other)] == [False, False, True, True]
        assert not refused(one, "somebody else")
        other.forget(TWO, "somebody")
        assert not refused(one)


def test_each_counts_for_itself_while_redis_is_away_and_comes_back_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    with valkey(tmp_path, port) as server:
        rates = Rates(server.url)
        assert not refused(rates)
    assert [refused(rates) for _ in range(3)] == [False, False, True]
    monkeypatch.setattr(rates, "_shared_from_s", 0.0)
    with valkey(tmp_path, port):
        assert [refused(rates, "another") for _ in range(3)] == [False, False, True]
        assert rates._shared_from_s == 0.0, "by Redis"


def test_a_redis_that_does_not_answer_is_left_alone_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = Rates("redis://:nobody@127.0.0.1:1/0")
    asked: list[float] = []
    moment_s = 1000.0

    def away(*_: Any, **__: Any) -> None:
        asked.append(moment_s)
        raise redis.ConnectionError("away")

    monkeypatch.setattr(time, "monotonic", lambda: moment_s)
    monkeypatch.setattr(rates._pool, "get_connection", away)
    for passed_s in (0.0, 1.0, AGAIN_S - 1.5, 1.0):
        moment_s += passed_s
        refused(rates)
    assert asked == [1000.0, moment_s]


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("testclient", "testclient"),
        (None, "unknown"),
    ],
)
def test_one_machine_is_counted_as_one(address: str | None, counted: str) -> None:
    assert origin(address) == counted
