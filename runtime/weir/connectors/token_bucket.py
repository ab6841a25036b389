"""A token bucket for rate limits. The caller passes the time."""

from __future__ import annotations


class TokenBucket:
    """Fills with ``rate`` tokens per second, starting empty. Holds the tokens of ``burst_s`` seconds, at least one."""

    def __init__(self, *, rate: float, burst_s: float, now_ns: int) -> None:
        assert rate > 0 and burst_s > 0
        self._rate = rate
        self._capacity = max(1.0, rate * burst_s)
        self._tokens = 0.0
        self._filled_ns = now_ns

    def available(self, now_ns: int) -> int:
        """Return the number of whole tokens."""
        elapsed_ns = max(0, now_ns - self._filled_ns)
        self._tokens = min(self._capacity, self._tokens + elapsed_ns * self._rate / 1e9)
        self._filled_ns = max(now_ns, self._filled_ns)
        return int(self._tokens)

    def take(self, tokens: int) -> None:
        assert tokens <= self._tokens
        self._tokens -= tokens

    def wait_ns(self, tokens: int) -> int:
        """Return the time from the last ``available`` until the bucket holds ``tokens``, or is full."""
        missing = min(float(tokens), self._capacity) - self._tokens
        return max(0, int(missing * 1e9 / self._rate) + 1)
