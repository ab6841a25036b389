"""Failure detection and restarts: heartbeats, the restart strategy, and backoff between attempts."""

from __future__ import annotations

from collections.abc import Iterable

from weir.kernel.config import RestartConfig
from weir.kernel.slots import Slot, Stall


class HeartbeatMonitor:
    """Finds slots that have sent no message for ``timeout_ms``, and slots that send heartbeats but make no progress.

    One step of a slot's loop may take ``stuck_timeout_ms``, and one blocking call may take ``call_timeout_ms``. None means no
    limit. Call ``silent`` and then ``stalled`` several times per timeout, after all received messages have updated the slots.
    """

    def __init__(self, timeout_ms: int, *, stuck_timeout_ms: int | None = None, call_timeout_ms: int | None = None) -> None:
        self._timeout_ms = timeout_ms
        self._stall_timeouts_ms = {False: stuck_timeout_ms, True: call_timeout_ms}
        self._pause_ms = min(one for one in (timeout_ms, stuck_timeout_ms, call_timeout_ms) if one is not None) // 2
        self._last_check_ms: int | None = None

    def silent(self, slots: Iterable[Slot], now_ms: int) -> list[tuple[Slot, int]]:
        """Return each slot that has sent no message for ``timeout_ms``, with the time since its last message in ms."""
        last_ms, self._last_check_ms = self._last_check_ms, now_ms
        if last_ms is not None and now_ms - last_ms > self._pause_ms:
            # This process was paused. Messages that arrived during the pause are possibly unread, so every slot
            # gets the full timeout again.
            for slot in slots:
                slot.last_heard_ms = slot.turned_ms = slot.called_ms = now_ms
            return []
        silence = [(slot, now_ms - slot.last_heard_ms) for slot in slots]
        return [(slot, silent_ms) for slot, silent_ms in silence if silent_ms >= self._timeout_ms]

    def stalled(self, slots: Iterable[Slot], now_ms: int) -> list[tuple[Slot, Stall, int]]:
        """Return each step and each blocking call that exceeds its timeout, with its slot and the timeout in ms."""
        return self._stalls(slots, now_ms, 1.0)

    def slow(self, slots: Iterable[Slot], now_ms: int) -> list[tuple[Slot, Stall, int]]:
        """Return each step and each blocking call that exceeds half its timeout, with its slot and the full timeout in ms. Omit
        steps and calls that this method has already returned (``Slot.warned``)."""
        found = [one for one in self._stalls(slots, now_ms, 0.5) if one[1].identity not in one[0].warned]
        for slot, stall, _ in found:
            slot.warned.add(stall.identity)
        return found

    def _stalls(self, slots: Iterable[Slot], now_ms: int, part: float) -> list[tuple[Slot, Stall, int]]:
        found = []
        for slot in slots:
            for stall in slot.stalls():
                timeout_ms = self._stall_timeouts_ms[stall.in_call]
                if timeout_ms is not None and now_ms - stall.since_ms >= part * timeout_ms:
                    found.append((slot, stall, timeout_ms))
        return found


class RestartPolicy:
    """Decides whether and when a failed job restarts. Measures the downtime.

    Call ``on_failure`` for each failure, ``on_running`` when the job runs, and ``on_checkpoint_completed`` for each completed
    checkpoint.
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
