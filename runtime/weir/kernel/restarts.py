"""The restart strategy: how long to wait before the next attempt, and when to give up."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RestartConfig:
    """The first restart is immediate, the following wait ``initial_delay_ms`` doubling up to ``delay_max_ms``.

    Attempts are counted since the last completed checkpoint; after ``attempts_max`` the job fails.
    """

    attempts_max: int = 10
    initial_delay_ms: int = 100
    delay_max_ms: int = 10_000


class RestartStrategy:
    def __init__(self, config: RestartConfig) -> None:
        self._config = config
        self._attempts = 0

    @property
    def attempts(self) -> int:
        return self._attempts

    def on_progress(self) -> None:
        self._attempts = 0

    def next_delay_ms(self) -> int | None:
        """None: give up."""
        self._attempts += 1
        if self._attempts > self._config.attempts_max:
            return None
        if self._attempts == 1:
            return 0
        return min(int(self._config.initial_delay_ms * 2 ** (self._attempts - 2)), self._config.delay_max_ms)
