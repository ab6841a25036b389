"""Rate limits, counted in Redis for all processes, and per process while Redis is unreachable."""

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
TIMEOUT_S = 0.25
"""Every login needs Redis, so a Redis that does not answer must not delay it."""
RETRY_S = 5.0
"""The pause before trying Redis again after a failure."""


@dataclass(frozen=True, slots=True)
class RateLimit:
    """``what`` completes the sentence "Too many ..."."""

    name: str
    count: int
    seconds: int
    what: str

    @property
    def item(self) -> RateLimitItem:
        return RateLimitItemPerSecond(self.count, self.seconds, namespace=f"weir/{self.name}")


class RateLimiter:
    """The rate limits of one process. Thread-safe."""

    def __init__(self, url: str) -> None:
        """``url``: of a Redis, which may be unreachable."""
        # Retry once, because a pooled connection may belong to a server that has restarted.
        self._pool = redis.ConnectionPool.from_url(
            url, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S, retry=Retry(NoBackoff(), 1)
        )
        self._shared = MovingWindowRateLimiter(RedisStorage("redis://", connection_pool=self._pool))
        self._own = MovingWindowRateLimiter(MemoryStorage())
        self._shared_from_s = 0.0

    def hit(self, rate: RateLimit, who: str) -> None:
        """Count one attempt of ``who``. Raises TooMany."""
        key = _key(who)
        if self._ask(lambda limiter: limiter.hit(rate.item, key)):
            return
        again_at_s = self._ask(lambda limiter: limiter.get_window_stats(rate.item, key)).reset_time
        raise TooMany("too-many", f"Too many {rate.what}.", retry_after_s=max(1, math.ceil(again_at_s - time.time())))

    def reset(self, rate: RateLimit, who: str) -> None:
        """Reset the count of ``who`` after a success."""
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
                self._shared_from_s = time.monotonic() + RETRY_S
                log.warning("Redis does not answer; this process counts attempts on its own", problem=type(error).__name__)
        return call(self._own)


def origin(address: str | None) -> str:
    """Return the key under which attempts from ``address`` are counted. For IPv6 it is the /64 network, which one host usually owns."""
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
    # Users sometimes type a password as their name, so the key is hashed.
    return hashlib.sha256(who.encode()).hexdigest()[:32]
