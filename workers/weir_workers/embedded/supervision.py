"""What a supervisor does next. PURE: knows no clock, no processes; it is told what has happened and says what is to be done.

Each child goes through the states of LEGAL. It is started when all that it needs is ready, started again with a growing delay when it
has ended by itself (for ever), and stopped after all that need it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

DELAY_S_FIRST = 0.5
DELAY_S_MAX = 10.0
STEADY_S = 30.0
"""Who has been ready for so long has recovered: the next restart is a first one."""
PATIENCE_MAX = 8
"""Who was too slow is given twice the time the next time, up to so many times of what it had first: a machine that is slow does not get
faster by beginning anew."""


class State(StrEnum):
    WAITING = "waiting"
    """For what it needs, or for the delay before the next start."""
    STARTING = "starting"
    """It runs, and is not ready yet."""
    READY = "ready"
    DONE = "done"
    """It had to run once, to its end, and has."""
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
"""There is a process."""


@dataclass(frozen=True, slots=True)
class Child:
    """``once``: it is to run to its end and is ready then. ``start_s_max``: killed if not ready by then, the first time; None where giving up
    would begin the same long work again, as of a database that recovers. ``stop_s_max``: killed if it has not ended so long after it was asked to."""

    name: str
    needs: tuple[str, ...] = ()
    once: bool = False
    start_s_max: float | None = None
    stop_s_max: float = 10.0


@dataclass(frozen=True, slots=True)
class Start:
    name: str


@dataclass(frozen=True, slots=True)
class Stop:
    """Ask it to end."""

    name: str


@dataclass(frozen=True, slots=True)
class Kill:
    name: str
    why: str


Effect: TypeAlias = Start | Stop | Kill


@dataclass(slots=True)
class Status:
    """Of one child, as of now. Times are those of the clock of whoever calls."""

    state: State = State.WAITING
    since_s: float = 0.0
    """In this state."""
    not_before_s: float = 0.0
    """When it may be started again."""
    failures: int = 0
    """In a row; 0 again once it has been ready for STEADY_S."""
    restarts: int = 0
    """In this life of the supervisor."""
    slow: int = 0
    """How often in a row it was killed as it was not ready in time."""
    killed: bool = False
    started_after_s: float | None = None
    """How long it last took from its start to being ready."""
    problem: str = field(default="")
    """Why it is not ready, if it has failed."""


class Supervision:
    """Call ``due`` and carry out what it returns, then tell what has happened, again and again until ``over``."""

    def __init__(self, children: Sequence[Child]) -> None:
        """In an order in which none needs one that comes after it."""
        self._children = {child.name: child for child in children}
        assert len(self._children) == len(children), "names are unique"
        for index, child in enumerate(children):
            assert set(child.needs) <= {one.name for one in children[:index]}, f"{child.name} needs what comes after it"
        self.status = {name: Status() for name in self._children}
        self.stopping = False

    # ---- what is to be done --------------------------------------------------------------------

    def due(self, now_s: float) -> list[Effect]:
        """Each effect is returned once: it is taken as done."""
        return list(self._stops(now_s) if self.stopping else self._starts(now_s))

    def _starts(self, now_s: float) -> Iterator[Effect]:
        for name, child in self._children.items():
            status = self.status[name]
            if status.state is State.WAITING and now_s >= status.not_before_s and self._needs_are_ready(child):
                if status.slow and self._another_slow_one_starts(name):
                    continue  # all at once is what they were too slow for
                self._move(name, State.STARTING, now_s)
                yield Start(name)
            elif status.state is State.STARTING and child.start_s_max is not None and not status.killed:
                limit_s = child.start_s_max * min(PATIENCE_MAX, 2**status.slow)
                if now_s >= status.since_s + limit_s:
                    status.killed = True
                    status.slow += 1
                    yield Kill(name, f"not ready after {limit_s:.0f} s")

    def _another_slow_one_starts(self, name: str) -> bool:
        return any(one.state is State.STARTING and one.slow for other, one in self.status.items() if other != name)

    def _stops(self, now_s: float) -> Iterator[Effect]:
        for name, child in reversed(self._children.items()):
            status = self.status[name]
            if any(name in other.needs and self.status[other.name].state in RUNS for other in self._children.values()):
                continue  # its turn comes when they have ended
            if status.state in (State.WAITING, State.DONE):
                self._move(name, State.STOPPED, now_s)
            elif status.state in (State.STARTING, State.READY):
                self._move(name, State.STOPPING, now_s)
                yield Stop(name)
            elif status.state is State.STOPPING and not status.killed and now_s >= status.since_s + child.stop_s_max:
                status.killed = True
                yield Kill(name, f"still there {child.stop_s_max:.0f} s after it was asked to end")

    def _needs_are_ready(self, child: Child) -> bool:
        return all(self.status[name].state in (State.READY, State.DONE) for name in child.needs)

    # ---- what has happened ---------------------------------------------------------------------

    def became_ready(self, name: str, now_s: float) -> None:
        """A child that is starting serves."""
        assert not self._children[name].once, f"{name} is ready by ending"
        self._is_ready(name, State.READY, now_s)

    def ended(self, name: str, now_s: float, how: str, *, success: bool) -> None:
        """Its process is gone. ``how``: for people."""
        status = self.status[name]
        if status.state is State.STOPPING:
            self._move(name, State.STOPPED, now_s)
        elif status.state is State.STARTING and self._children[name].once and success:
            self._is_ready(name, State.DONE, now_s)
        else:
            self._failed(name, now_s, how)

    def did_not_start(self, name: str, now_s: float, why: str) -> None:
        """The effect Start could not be carried out."""
        self._failed(name, now_s, why)

    def stop(self, now_s: float) -> None:
        """From now on all are stopped; what runs once is not waited for."""
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
        """All are stopped."""
        return all(status.state is State.STOPPED for status in self.status.values())
