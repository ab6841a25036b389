from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import redis

from weir_backend.errors import TooMany
from weir_backend.kit.rate_limits import RETRY_S, RateLimit, RateLimiter, origin
from weir_workers.embedded.ports import free_port
from weir_workers.embedded.servers.temporary import running_valkey
from weir_workers.embedded.servers.valkey import Valkey

TWO_PER_MINUTE = RateLimit("test", 2, 60, "tries")


def valkey(directory: Path, port: int) -> Valkey:
    return Valkey(directory / "data", directory / "log", port, "secret")


def is_limited(limiter: RateLimiter, caller: str = "a caller") -> bool:
    try:
        limiter.hit(TWO_PER_MINUTE, caller)
    except TooMany as problem:
        return 0 < int(problem.headers["Retry-After"]) <= TWO_PER_MINUTE.seconds
    return False


def test_processes_share_counters_through_redis(tmp_path: Path) -> None:
    with running_valkey(valkey(tmp_path, free_port())) as server:
        first, second = RateLimiter(server.url), RateLimiter(server.url)
        assert [is_limited(first), is_limited(second), is_limited(first), is_limited(second)] == [False, False, True, True]
        assert not is_limited(first, "another caller")
        second.reset(TWO_PER_MINUTE, "a caller")
        assert not is_limited(first)


def test_a_check_does_not_count_as_an_attempt(tmp_path: Path) -> None:
    with running_valkey(valkey(tmp_path, free_port())) as server:
        for limiter in (RateLimiter(server.url), RateLimiter("redis://:nobody@127.0.0.1:1/0")):
            for _ in range(3):
                limiter.check(TWO_PER_MINUTE, "a caller")
            assert [is_limited(limiter) for _ in range(2)] == [False, False]
            with pytest.raises(TooMany):
                limiter.check(TWO_PER_MINUTE, "a caller")


def test_a_process_removes_its_own_counts_when_they_expire(monkeypatch: pytest.MonkeyPatch) -> None:
    limiter = RateLimiter("redis://:nobody@127.0.0.1:1/0")
    for number in range(100):
        limiter.hit(TWO_PER_MINUTE, f"caller {number}")
    later_s = time.time() + TWO_PER_MINUTE.seconds + 1
    monkeypatch.setattr(time, "time", lambda: later_s)
    storage = limiter._own.storage
    limiter.hit(TWO_PER_MINUTE, "another caller")
    storage.timer.join()  # type: ignore[attr-defined]  # the thread that removes expired counts
    assert not any(len(value) > 1 for value in vars(storage).values() if isinstance(value, dict))


def test_a_process_keeps_its_own_counts_only_while_redis_is_unreachable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    with running_valkey(valkey(tmp_path, port)) as server:
        limiter = RateLimiter(server.url)
        assert not is_limited(limiter)
    assert [is_limited(limiter) for _ in range(3)] == [False, False, True]
    monkeypatch.setattr(limiter, "_shared_from_s", 0.0)
    with running_valkey(valkey(tmp_path, port)):
        assert [is_limited(limiter, "another caller") for _ in range(3)] == [False, False, True]
        assert limiter._shared_from_s == 0.0, "the counts are in Redis again"


def test_an_unreachable_redis_is_retried_only_after_an_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    limiter = RateLimiter("redis://:nobody@127.0.0.1:1/0")
    attempts_s: list[float] = []
    now_s = 1000.0

    def fail(*_: Any, **__: Any) -> None:
        attempts_s.append(now_s)
        raise redis.ConnectionError("unreachable")

    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    monkeypatch.setattr(limiter._pool, "get_connection", fail)
    for passed_s in (0.0, 1.0, RETRY_S - 1.5, 1.0):
        now_s += passed_s
        is_limited(limiter)
    assert attempts_s == [1000.0, now_s]


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
def test_all_addresses_of_one_host_share_a_counter(address: str | None, counted: str) -> None:
    assert origin(address) == counted
