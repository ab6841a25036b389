from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import redis

from weir_backend.errors import TooMany
from weir_backend.kit.rate_limits import RETRY_S, RateLimit, RateLimiter, origin
from weir_workers.embedded.ports import free_port
from weir_workers.embedded.servers.temporary import temporary_valkey

TWO = RateLimit("test", 2, 60, "tries")


def refused(rates: RateLimiter, who: str = "somebody") -> bool:
    try:
        rates.hit(TWO, who)
    except TooMany as problem:
        return 0 < int(problem.headers["Retry-After"]) <= TWO.seconds
    return False


def test_processes_share_counters_through_redis(tmp_path: Path) -> None:
    with temporary_valkey(tmp_path, free_port(), "secret") as server:
        one, other = RateLimiter(server.url), RateLimiter(server.url)
        assert [refused(one), refused(other), refused(one), refused(other)] == [False, False, True, True]
        assert not refused(one, "somebody else")
        other.reset(TWO, "somebody")
        assert not refused(one)


def test_a_process_counts_locally_while_redis_is_unreachable_and_then_returns_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    with temporary_valkey(tmp_path, port, "secret") as server:
        rates = RateLimiter(server.url)
        assert not refused(rates)
    assert [refused(rates) for _ in range(3)] == [False, False, True]
    monkeypatch.setattr(rates, "_shared_from_s", 0.0)
    with temporary_valkey(tmp_path, port, "secret"):
        assert [refused(rates, "another") for _ in range(3)] == [False, False, True]
        assert rates._shared_from_s == 0.0, "by Redis"


def test_an_unresponsive_redis_is_not_tried_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = RateLimiter("redis://:nobody@127.0.0.1:1/0")
    asked: list[float] = []
    moment_s = 1000.0

    def away(*_: Any, **__: Any) -> None:
        asked.append(moment_s)
        raise redis.ConnectionError("away")

    monkeypatch.setattr(time, "monotonic", lambda: moment_s)
    monkeypatch.setattr(rates._pool, "get_connection", away)
    for passed_s in (0.0, 1.0, RETRY_S - 1.5, 1.0):
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
def test_addresses_of_one_host_share_a_counter(address: str | None, counted: str) -> None:
    assert origin(address) == counted
