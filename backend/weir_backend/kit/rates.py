"""How often something may be tried: counted in Redis for all processes together, and by each for itself while that is out of reach."""

from __future__ import annotations

import hashlib
import ipaddress
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import redis
import structlog
from limits import RateLimitItem, RateLimitItemPerSecond
from limits.storage import MemoryStorage, RedisStorage
from limits.strategies import MovingWindowRateLimiter
from redis.backoff import NoBackoff
from redis.retry import Retry

from weir_backend.errors import TooMany

log = structlog.get_logger(__name__)
T = TypeVar("T")
ANSWER_S = 0.25
"""Redis is on the way of every login: one that does not answer must not hold it up."""
AGAIN_S = 5.0
"""How long Redis is left alone after it has not answered."""


@dataclass(frozen=True, slots=True)
class Rate:
    """``what``: a sentence's beginning, "too many ..."."""

    name: str
    count: int
    seconds: int
    what: str

    @property
    def item(self) -> RateLimitItem:
        return RateLimitItemPerSecond(self.count, self.seconds, namespace=f"weir/{self.name}")


class Rates:
    """Of one process. Callers may be threads."""

    def __init__(self, url: str) -> None:
        """``url`` of a Redis, which need not be there."""
        # One retry: a connection of the pool may be one to a server that was restarted since.
        self._pool = redis.ConnectionPool.from_url(
            url, socket_timeout=ANSWER_S, socket_connect_timeout=ANSWER_S, retry=Retry(NoBackoff(), 1)
        )
        self._shared = MovingWindowRateLimiter(RedisStorage("redis://", connection_pool=self._pool))
        self._own = MovingWindowRateLimiter(MemoryStorage())
        self._shared_from_s = 0.0

    def hit(self, rate: Rate, who: str) -> None:
        """Counts one try of ``who``. Raises TooMany."""
        key = _key(who)
        if self._ask(lambda limiter: limiter.hit(rate.item, key)):
            return
        again_at_s = self._ask(lambda limiter: limiter.get_window_stats(rate.item, key)).reset_time
        raise TooMany("too-many", f"too many {rate.what}", retry_after_s=max(1, math.ceil(again_at_s - time.time())))

    def forget(self, rate: Rate, who: str) -> None:
        """Whoever it was has shown that he may."""
        key = _key(who)
        self._own.clear(rate.item, key)
        self._ask(lambda limiter: limiter.clear(rate.item, key))

    def close(self) -> None:
        self._pool.disconnect()

    def _ask(self, call: Callable[[MovingWindowRateLimiter], T]) -> T:
        if time.monotonic() >= self._shared_from_s:
            try:
                return call(self._shared)
            except redis.RedisError as error:
                self._shared_from_s = time.monotonic() + AGAIN_S
                log.warning("Redis does not answer: tries are counted by this process alone", problem=type(error).__name__)
        return call(self._own)


def origin(address: str | None) -> str:
    """Whom tries from ``address`` are counted for: with IPv6 the network, of which one machine has all addresses."""
    try:
        found = ipaddress.ip_address(address or "")
    except ValueError:
        return address or "unknown"
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((int(found), 64), strict=False))
    return str(found)


def _key(who: str) -> str:
    # Names come as somebody has typed them, now and then a password among them: none is kept as it is.
    return hashlib.sha256(who.encode()).hexdigest()[:32]
