from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import redis

from weir_backend.errors import TooMany
from weir_backend.kit.rates import AGAIN_S, Rate, Rates, origin
from weir_workers.embedded.children import free_port
from weir_workers.embedded.throwaway import throwaway_valkey

TWO = Rate("test", 2, 60, "tries")


def refused(rates: Rates, who: str = "somebody") -> bool:
    try:
        rates.hit(TWO, who)
    except TooMany as problem:
        return 0 < int(problem.headers["Retry-After"]) <= TWO.seconds
    return False


def test_processes_count_together_through_redis(tmp_path: Path) -> None:
    with throwaway_valkey(tmp_path, free_port(), "secret") as server:
        one, other = Rates(server.url), Rates(server.url)
        assert [refused(one), refused(other), refused(one), refused(other)] == [False, False, True, True]
        assert not refused(one, "somebody else")
        other.forget(TWO, "somebody")
        assert not refused(one)


def test_each_counts_for_itself_while_redis_is_away_and_comes_back_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    with throwaway_valkey(tmp_path, port, "secret") as server:
        rates = Rates(server.url)
        assert not refused(rates)
    assert [refused(rates) for _ in range(3)] == [False, False, True]
    monkeypatch.setattr(rates, "_shared_from_s", 0.0)
    with throwaway_valkey(tmp_path, port, "secret"):
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
