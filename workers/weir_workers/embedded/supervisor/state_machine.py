"""The decisions of a supervisor. This module is pure: it turns observations into effects, and reads no clock and starts no process.

Each child moves through the states in the table ``LEGAL``. A child starts when everything that it needs is ready. A child that ends
unexpectedly restarts after a growing delay, without a limit on the number of restarts. A child stops after all children that need it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

DELAY_S_FIRST = 0.5
DELAY_S_MAX = 10.0
STEADY_S = 30.0
"""After a child has been ready for this time, the delay of its next restart is DELAY_S_FIRST again."""
PATIENCE_MAX = 8
"""The largest factor by which the time limit of a start is extended. The limit is doubled after each start that took too long, because on a
slow host a restart with the same limit would not help."""


class State(StrEnum):
    WAITING = "waiting"
    """The child waits for other children, or for the delay before its next start."""
    STARTING = "starting"
    """The child is running but not ready yet."""
    READY = "ready"
    DONE = "done"
    """The child runs only once, and has ended successfully."""
    STOPPING = "stopping"
    STOPPED = "stopped"


LEGAL: dict[State, frozenset[State]] = {
    State.WAITING: frozenset({State.STARTING, State.STOPPED}),
    State.STARTING: frozenset({State.READY, State.DONE, State.WAITING, State.STOPPING}),
    State.READY: frozenset({State.WAITING, State.STOPPING}),
    State.DONE: frozenset({State.STOPPED}),
    State.STOPPING: frozenset({State.STOPPED}),
    State.STOPPED: frozenset(),
}
RUNS = frozenset({State.STARTING, State.READY, State.STOPPING})
"""The states in which the child has a process."""


@dataclass(frozen=True, slots=True)
class Child:
    """A process that the supervisor runs.

    If ``once`` is set, the child is a program that ends by itself, and counts as ready when it has ended successfully. If a child with
    ``once`` fails, the supervisor starts the child again after a delay. The supervisor kills a child that is not ready ``start_s_max``
    seconds after its start, or has not ended ``stop_s_max`` seconds after the stop signal. A child whose ``start_s_max`` is None has no
    time limit for its start, because a restart would repeat long work, such as a database recovery."""

    name: str
    needs: tuple[str, ...] = ()
    once: bool = False
    start_s_max: float | None = None
    stop_s_max: float = 10.0


@dataclass(frozen=True, slots=True)
class StartChild:
    name: str


@dataclass(frozen=True, slots=True)
class StopChild:
    """Ask the child to end."""

    name: str


@dataclass(frozen=True, slots=True)
class KillChild:
    name: str
    why: str


ChildEffect: TypeAlias = StartChild | StopChild | KillChild


@dataclass(slots=True)
class Status:
    """The current status of a child. Times are from the caller's clock."""

    state: State = State.WAITING
    since_s: float = 0.0
    """The time at which the child entered its state."""
    not_before_s: float = 0.0
    """The earliest time of the child's next start."""
    failures: int = 0
    """Number of consecutive failures. If the child has been ready for STEADY_S, its next failure counts as the first failure again."""
    restarts: int = 0
    """Since this supervisor started."""
    slow: int = 0
    """Number of consecutive times that the child was killed because it was not ready in time."""
    killed: bool = False
    started_after_s: float | None = None
    """The duration of the child's last start."""
    problem: str = field(default="")
    """After a failure, the reason why the child is not ready."""


class Supervision:
    """Decides when to start, stop and kill children. Until ``over`` is True, call ``due``, carry out the effects that it returns, and
    report the results."""

    def __init__(self, children: Sequence[Child]) -> None:
        """``children`` are ordered so that each child needs only earlier children."""
        self._children = {child.name: child for child in children}
        assert len(self._children) == len(children), "names are unique"
        for index, child in enumerate(children):
            assert set(child.needs) <= {one.name for one in children[:index]}, f"{child.name} needs a later child"
        self.status = {name: Status() for name in self._children}
        self.stopping = False

    # ---- decisions ----------------------------------------------------------------------------

    def due(self, now_s: float) -> list[ChildEffect]:
        """Return the effects that are due now. Each effect is returned only once."""
        return list(self._stops(now_s) if self.stopping else self._starts(now_s))

    def _starts(self, now_s: float) -> Iterator[ChildEffect]:
        for name, child in self._children.items():
            status = self.status[name]
            if status.state is State.WAITING and now_s >= status.not_before_s and self._needs_are_ready(child):
                if status.slow and self._another_slow_child_starts(name):
                    continue  # slow children start one at a time
                self._move(name, State.STARTING, now_s)
                yield StartChild(name)
            elif status.state is State.STARTING and child.start_s_max is not None and not status.killed:
                limit_s = child.start_s_max * min(PATIENCE_MAX, 2**status.slow)
                if now_s >= status.since_s + limit_s:
                    status.killed = True
                    status.slow += 1
                    yield KillChild(name, f"not ready after {limit_s:.0f} s")

    def _another_slow_child_starts(self, name: str) -> bool:
        return any(one.state is State.STARTING and one.slow for other, one in self.status.items() if other != name)

    def _stops(self, now_s: float) -> Iterator[ChildEffect]:
        for name, child in reversed(self._children.items()):
            status = self.status[name]
            if any(name in other.needs and self.status[other.name].state in RUNS for other in self._children.values()):
                continue  # the children that need this child end first
            if status.state in (State.WAITING, State.DONE):
                self._move(name, State.STOPPED, now_s)
            elif status.state in (State.STARTING, State.READY):
                self._move(name, State.STOPPING, now_s)
                yield StopChild(name)
            elif status.state is State.STOPPING and not status.killed and now_s >= status.since_s + child.stop_s_max:
                status.killed = True
                yield KillChild(name, f"not ended {child.stop_s_max:.0f} s after the stop signal")

    def _needs_are_ready(self, child: Child) -> bool:
        return all(self.status[name].state in (State.READY, State.DONE) for name in child.needs)

    # ---- observations -------------------------------------------------------------------------

    def became_ready(self, name: str, now_s: float) -> None:
        """Report that a starting child is ready."""
        assert not self._children[name].once, f"{name} runs once and becomes ready when it ends"
        self._is_ready(name, State.READY, now_s)

    def ended(self, name: str, now_s: float, how: str, *, success: bool) -> None:
        """Report that a child's process has ended. ``how``: for messages."""
        status = self.status[name]
        if status.state is State.STOPPING:
            self._move(name, State.STOPPED, now_s)
        elif status.state is State.STARTING and self._children[name].once and success:
            self._is_ready(name, State.DONE, now_s)
        else:
            self._failed(name, now_s, how)

    def did_not_start(self, name: str, now_s: float, why: str) -> None:
        """Report that a child could not be started."""
        self._failed(name, now_s, why)

    def stop(self) -> None:
        """Stop all children, including those that run once and have not ended."""
        self.stopping = True
        for status in self.status.values():
            if status.state in (State.STARTING, State.READY):
                status.killed = False

    def _is_ready(self, name: str, state: State, now_s: float) -> None:
        status = self.status[name]
        status.started_after_s = now_s - status.since_s
        status.problem = ""
        status.slow = 0
        self._move(name, state, now_s)

    def _failed(self, name: str, now_s: float, why: str) -> None:
        status = self.status[name]
        if status.state is State.READY and now_s >= status.since_s + STEADY_S:
            status.failures = 0
        status.not_before_s = now_s + min(DELAY_S_MAX, DELAY_S_FIRST * 2 ** min(status.failures, 10))
        status.failures += 1
        status.restarts += 1
        status.problem = why
        self._move(name, State.WAITING, now_s)

    def _move(self, name: str, to: State, now_s: float) -> None:
        status = self.status[name]
        assert to in LEGAL[status.state], f"{name}: {status.state} -> {to}"
        status.state = to
        status.since_s = now_s
        status.killed = False

    # ---- questions -----------------------------------------------------------------------------

    @property
    def all_ready(self) -> bool:
        return all(status.state in (State.READY, State.DONE) for status in self.status.values())

    @property
    def over(self) -> bool:
        """Return whether all children are stopped."""
        return all(status.state is State.STOPPED for status in self.status.values())
