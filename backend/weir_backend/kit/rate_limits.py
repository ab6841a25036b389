"""Rate limits. Attempts are counted in Redis for all processes, and per process while Redis is unreachable."""

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
from limits.strategies import FixedWindowRateLimiter, MovingWindowRateLimiter
from limits.strategies import RateLimiter as Strategy
from redis.backoff import NoBackoff
from redis.retry import Retry

from weir_backend.errors import TooMany

log = structlog.get_logger(__name__)
T = TypeVar("T")
TIMEOUT_S = 0.25
"""The timeout is short, because every login counts its attempt in Redis, and an unreachable Redis must not delay logins."""
RETRY_S = 5.0
"""How long this process stops using Redis after a failure of Redis."""


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
    """Counts attempts in Redis for all processes, or in this process while Redis is unreachable. Thread-safe."""

    def __init__(self, url: str) -> None:
        """``url`` is the URL of Redis, which can be unreachable."""
        # Retry once, because the server of a pooled connection can have restarted.
        self._pool = redis.ConnectionPool.from_url(
            url, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S, retry=Retry(NoBackoff(), 1)
        )
        self._shared = MovingWindowRateLimiter(RedisStorage("redis://", connection_pool=self._pool))
        # In memory, a moving window would keep its keys forever. A fixed window removes expired keys.
        self._own = FixedWindowRateLimiter(MemoryStorage())
        self._shared_from_s = 0.0

    def hit(self, rate: RateLimit, caller: str) -> None:
        """Count one attempt under the key ``caller``, such as an address or a user name. Raises TooMany."""
        key = _key(caller)
        if not self._ask(lambda limiter: limiter.hit(rate.item, key)):
            raise self._too_many(rate, key)

    def check(self, rate: RateLimit, caller: str) -> None:
        """Raises TooMany if ``hit`` would raise it. Counts no attempt."""
        key = _key(caller)
        if not self._ask(lambda limiter: limiter.test(rate.item, key)):
            raise self._too_many(rate, key)

    def _too_many(self, rate: RateLimit, key: str) -> TooMany:
        again_at_s = self._ask(lambda limiter: limiter.get_window_stats(rate.item, key)).reset_time
        return TooMany("too-many", f"Too many {rate.what}.", retry_after_s=max(1, math.ceil(again_at_s - time.time())))

    def reset(self, rate: RateLimit, caller: str) -> None:
        """Reset the count of attempts under the key ``caller`` after a successful attempt."""
        key = _key(caller)
        self._own.clear(rate.item, key)
        self._ask(lambda limiter: limiter.clear(rate.item, key))

    def close(self) -> None:
        self._pool.disconnect()

    def _ask(self, call: Callable[[Strategy], T]) -> T:
        if time.monotonic() >= self._shared_from_s:
            try:
                return call(self._shared)
            except redis.RedisError as error:
                self._shared_from_s = time.monotonic() + RETRY_S
                log.warning("Redis does not answer; this process counts attempts on its own", problem=type(error).__name__)
        return call(self._own)


def origin(address: str | None) -> str:
    """Return the key under which attempts from ``address`` are counted. For IPv6 the key is the /64 network, because a /64 network usually
    belongs to one host."""
    try:
        found = ipaddress.ip_address(address or "")
    except ValueError:
        return address or "unknown"
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((int(found), 64), strict=False))
    return str(found)


def _key(caller: str) -> str:
    # Hash the key, because users sometimes type their password into the field for the user name.
    return hashlib.sha256(caller.encode()).hexdigest()[:32]
