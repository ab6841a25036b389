"""Where a subtask's time goes: busy, idle, back-pressured or queued. Measured at every turn, not sampled."""

from __future__ import annotations

from enum import StrEnum


class Condition(StrEnum):
    """What a subtask could do at a turn of the loop."""

    RUNNABLE = "runnable"
    """Counts as queued while another subtask has the loop."""
    IDLE = "idle"
    BACKPRESSURED = "backpressured"
    QUEUED = "queued"
    """It lacks credit only from subtasks of its own slot that could run: the loop is what it waits for."""


class TimeAccount:
    """Counts nanoseconds since ``start_ns``; the four sums always add up to the time since then."""

    def __init__(self, start_ns: int) -> None:
        self._settled_ns = start_ns
        self.busy_ns = 0
        self.idle_ns = 0
        self.backpressured_ns = 0
        self.queued_ns = 0

    def settle(self, condition: Condition, now_ns: int) -> None:
        """The subtask was in ``condition``, not running, since the last call of ``settle`` or ``ran``."""
        waited_ns = now_ns - self._settled_ns
        self._settled_ns = now_ns
        if condition is Condition.IDLE:
            self.idle_ns += waited_ns
        elif condition is Condition.BACKPRESSURED:
            self.backpressured_ns += waited_ns
        else:
            self.queued_ns += waited_ns

    def ran(self, now_ns: int) -> None:
        """The subtask was running since the last call of ``settle``."""
        self.busy_ns += now_ns - self._settled_ns
        self._settled_ns = now_ns
