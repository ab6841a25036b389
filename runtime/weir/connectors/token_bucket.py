"""A token bucket for rate limits. The caller passes the current time as ``now_ns``."""

from __future__ import annotations


class TokenBucket:
    """An initially empty bucket, which gets ``rate`` tokens per second. The capacity of the bucket is ``rate * burst_s``
    tokens, but at least one token."""

    def __init__(self, *, rate: float, burst_s: float, now_ns: int) -> None:
        assert rate > 0 and burst_s > 0
        self._rate = rate
        self._capacity = max(1.0, rate * burst_s)
        self._tokens = 0.0
        self._filled_ns = now_ns

    def available(self, now_ns: int) -> int:
        """Return the number of whole tokens in the bucket at ``now_ns``."""
        elapsed_ns = max(0, now_ns - self._filled_ns)
        self._tokens = min(self._capacity, self._tokens + elapsed_ns * self._rate / 1e9)
        self._filled_ns = max(now_ns, self._filled_ns)
        return int(self._tokens)

    def take(self, tokens: int) -> None:
        assert tokens <= self._tokens
        self._tokens -= tokens

    def wait_ns(self, tokens: int) -> int:
        """Return the time in nanoseconds from the last call of ``available`` until the bucket contains ``tokens`` tokens. If
        ``tokens`` exceeds the capacity, return the time until the bucket is full."""
        missing = min(float(tokens), self._capacity) - self._tokens
        return max(0, int(missing * 1e9 / self._rate) + 1)
