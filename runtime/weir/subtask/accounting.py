"""Where a subtask's time goes: busy, idle, back-pressured or queued. Measured at every turn, not sampled."""

from __future__ import annotations

from enum import StrEnum


class Condition(StrEnum):
    """What a subtask could do at a turn of the loop."""

    RUNNABLE = "runnable"
    """Counts as queued while another subtask has the loop."""
    IDLE = "idle"
    BESIDE = "beside"
    """Work of it goes on beside the loop (a blocking function): it is busy, though the loop is free."""
    BACKPRESSURED = "backpressured"
    QUEUED = "queued"
    """It lacks credit only from subtasks of its own slot that could run: the loop is what it waits for."""


class TimeAccount:
    """Counts nanoseconds since ``start_ns``; the four sums always add up to the time since then."""

    def __init__(self, start_ns: int) -> None:
        self._settled_ns = start_ns
        self._condition = Condition.IDLE
        self.busy_ns = 0
        self.idle_ns = 0
        self.backpressured_ns = 0
        self.queued_ns = 0

    def settle(self, condition: Condition, now_ns: int, *, rested: bool) -> None:
        """The subtask is in ``condition`` now, and was not running since the last call of ``settle`` or ``ran``.

        ``rested``: nor was any other, so it was in the condition it was in then, and what woke the loop came just now. If another one
        had the loop, what has come meanwhile counts as if it had been there all the time.
        """
        waited_ns = now_ns - self._settled_ns
        self._settled_ns = now_ns
        was, self._condition = self._condition if rested else condition, condition
        if was is Condition.IDLE:
            self.idle_ns += waited_ns
        elif was is Condition.BESIDE:
            self.busy_ns += waited_ns
        elif was is Condition.BACKPRESSURED:
            self.backpressured_ns += waited_ns
        else:
            self.queued_ns += waited_ns

    def ran(self, now_ns: int) -> None:
        """The subtask was running since the last call of ``settle``."""
        self.busy_ns += now_ns - self._settled_ns
        self._settled_ns = now_ns
