"""How often something that storage refused is asked for again, and how long to wait before."""

from __future__ import annotations


class Retries:
    """Of one request. The second attempt waits ``first_delay_ms``, each later one twice as long as the one before."""

    def __init__(self, *, attempts_max: int, first_delay_ms: int) -> None:
        self._attempts_max = attempts_max
        self._first_delay_ms = first_delay_ms
        self._attempts = 1

    def next_delay_ms(self) -> int | None:
        """Call after an attempt has failed. The wait before the next one; None: give up."""
        if self._attempts >= self._attempts_max:
            return None
        self._attempts += 1
        return int(self._first_delay_ms * 2 ** (self._attempts - 2))
