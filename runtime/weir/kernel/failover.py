"""Failure detection and restarts: heartbeats, the restart strategy, and backoff between attempts."""

from __future__ import annotations

from collections.abc import Iterable

from weir.kernel.config import RestartConfig
from weir.kernel.slots import Slot


class HeartbeatMonitor:
    """Finds slots that have been silent for ``timeout_ms``.

    Call ``silent`` several times per ``timeout_ms``, after all received messages have updated ``Slot.last_heard_ms``.
    """

    def __init__(self, timeout_ms: int) -> None:
        self._timeout_ms = timeout_ms
        self._last_check_ms: int | None = None

    def silent(self, slots: Iterable[Slot], now_ms: int) -> list[tuple[Slot, int]]:
        """Return each silent slot with the length of its silence in ms."""
        last_ms, self._last_check_ms = self._last_check_ms, now_ms
        if last_ms is not None and now_ms - last_ms > self._timeout_ms // 2:
            # This process was paused. Messages that arrived during the pause are possibly unread, so every slot
            # gets the full timeout again.
            for slot in slots:
                slot.last_heard_ms = now_ms
            return []
        silence = [(slot, now_ms - slot.last_heard_ms) for slot in slots]
        return [(slot, silent_ms) for slot, silent_ms in silence if silent_ms >= self._timeout_ms]


class RestartPolicy:
    """Decides whether and when a failed job restarts. Measures the downtime.

    Call ``on_failure`` for each failure, ``on_running`` when the job runs, and ``on_checkpoint_completed``.
    """

    def __init__(self, config: RestartConfig) -> None:
        self._config = config
        self._restarts = 0
        self._first_failure_ms: int | None = None
        self._deploy_at_ms = 0

    @property
    def restarts(self) -> int:
        """Restarts since the last completed checkpoint."""
        return self._restarts

    def on_failure(self, now_ms: int) -> bool:
        """Return False if the job must fail.

        If the job can restart, the next generation can be deployed as soon as ``may_deploy`` returns True.
        """
        if self._restarts >= self._config.attempts_max:
            return False
        self._restarts += 1
        self._deploy_at_ms = now_ms + self._delay_ms()
        if self._first_failure_ms is None:
            self._first_failure_ms = now_ms
        return True

    def may_deploy(self, now_ms: int) -> bool:
        return now_ms >= self._deploy_at_ms

    def on_running(self, now_ms: int) -> int | None:
        """Return the downtime in ms since the first failure, or None if no failure has occurred."""
        first_failure_ms, self._first_failure_ms = self._first_failure_ms, None
        return None if first_failure_ms is None else now_ms - first_failure_ms

    def on_checkpoint_completed(self) -> None:
        self._restarts = 0

    def _delay_ms(self) -> int:
        """The first restart is immediate."""
        if self._restarts == 1:
            return 0
        return min(int(self._config.initial_delay_ms * 2 ** (self._restarts - 2)), self._config.delay_max_ms)


class Backoff:
    """The delays between the attempts of one request.

    The second attempt starts after ``first_delay_ms``, and then the delay doubles.
    """

    def __init__(self, *, attempts_max: int, first_delay_ms: int) -> None:
        self._attempts_max = attempts_max
        self._first_delay_ms = first_delay_ms
        self._attempts = 1

    def next_delay_ms(self) -> int | None:
        """Call after a failed attempt. Return the delay before the next attempt, or None after ``attempts_max`` attempts."""
        if self._attempts >= self._attempts_max:
            return None
        self._attempts += 1
        return int(self._first_delay_ms * 2 ** (self._attempts - 2))
