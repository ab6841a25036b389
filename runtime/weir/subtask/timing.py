"""Measurement of how a subtask spends its time (busy, idle, backpressured or queued) and how long a thread waits for a CPU
core.

Times of subtasks are measured at every turn of the loop, not sampled.
"""

from __future__ import annotations

import os
from enum import StrEnum


class SubtaskCondition(StrEnum):
    """The condition of a subtask at a turn of the loop."""

    RUNNABLE = "runnable"
    """The subtask can run. While another subtask has the loop, the time of this subtask counts as queued."""
    IDLE = "idle"
    BLOCKING_CALL = "blocking_call"
    """A blocking call is running in the background executor. The subtask counts as busy although it does not use the loop."""
    BACKPRESSURED = "backpressured"
    QUEUED = "queued"
    """The subtask has no credit, but the subtasks that would return credit are in the same slot and can run. So the subtask is
    waiting for the loop."""


RUNNABLE, IDLE, BLOCKING_CALL, BACKPRESSURED, QUEUED = SubtaskCondition  # faster to look up than members of the enum


class TimeAccount:
    """Counts nanoseconds since ``start_ns``. The busy, idle, backpressured and queued times always add up to the time since
    ``start_ns``."""

    def __init__(self, start_ns: int) -> None:
        self._settled_ns = start_ns
        self._condition = IDLE
        self.busy_ns = 0
        self.idle_ns = 0
        self.backpressured_ns = 0
        self.queued_ns = 0

    def settle(self, condition: SubtaskCondition, now_ns: int, *, rested: bool) -> None:
        """Add the time since the last call of ``settle`` or ``add_busy`` to the busy, idle, backpressured or queued time. Call
        ``settle`` only if the subtask has not run since the last call of ``settle`` or ``add_busy``.

        ``condition`` is the current condition of the subtask. ``rested`` is True if no other subtask has run since the last call
        of ``settle``. If ``rested`` is True, the subtask was in its previous condition until an event woke the loop just now.
        If ``rested`` is False, the whole time counts for ``condition``, even if the input of the subtask arrived later.
        """
        waited_ns = now_ns - self._settled_ns
        self._settled_ns = now_ns
        previous, self._condition = self._condition if rested else condition, condition
        if previous is IDLE:
            self.idle_ns += waited_ns
        elif previous is BLOCKING_CALL:
            self.busy_ns += waited_ns
        elif previous is BACKPRESSURED:
            self.backpressured_ns += waited_ns
        else:
            self.queued_ns += waited_ns

    def add_busy(self, now_ns: int) -> None:
        """Add the time since the last call of ``settle`` to the busy time. Call ``add_busy`` after the subtask has run."""
        self.busy_ns += now_ns - self._settled_ns
        self._settled_ns = now_ns


class CoreWaitClock:
    """Measures how long one thread was ready to run but had no CPU core. The core wait distinguishes a slow host from a slow
    program.

    The measured thread is the thread that first calls ``read_ns``. A reading costs two microseconds.
    """

    def __init__(self) -> None:
        self._descriptor: int | None = None

    def read_ns(self) -> int:
        """Return the core wait since the thread started, or 0 if the kernel does not report it (not Linux, or built without
        scheduler statistics)."""
        if self._descriptor is None:
            try:
                # The kernel resolves "thread-self" when the file is opened.
                # So later readings measure the thread that opened the file, even if another thread calls ``read_ns``.
                self._descriptor = os.open("/proc/thread-self/schedstat", os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                self._descriptor = -1
        if self._descriptor < 0:
            return 0
        # The file has three numbers: the time on a core and the time waiting for a core, both in ns, and the number of timeslices.
        return int(os.pread(self._descriptor, 64, 0).split()[1])

    def close(self) -> None:
        if self._descriptor is not None and self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1
