"""Virtual time and randomness: one event queue and one random generator."""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Callable

MS = 1_000_000
US = 1_000


class Violation(BaseException):
    """An invariant is broken. This class is not an Exception, so that the code under test cannot catch it."""


class Simulation:
    """``schedule`` queues an action, and ``run`` executes the actions in the order of their times."""

    def __init__(self, seed: int, *, verbose: bool = False) -> None:
        self.random = random.Random(seed)
        self.now_ns = 0
        self.events = 0
        self.faults_ended = False
        """True if no more faults or long delays occur."""
        self.step_counts: Counter[str] = Counter()
        """How often each kind of step has occurred. A fault can wait for the n-th step of a kind."""
        self.on_step: Callable[[str, int], None] | None = None
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._order = 0
        self._verbose = verbose

    @property
    def now_ms(self) -> int:
        return self.now_ns // MS

    def schedule(self, delay_ns: int, action: Callable[[], None]) -> None:
        self._order += 1
        heapq.heappush(self._queue, (self.now_ns + delay_ns, self._order, action))

    def run(self, finished: Callable[[], bool], *, deadline_ns: int, events_max: int) -> None:
        """Run until ``finished()`` or an empty queue. Raises Violation after the deadline or ``events_max`` events."""
        while self._queue and not finished():
            at_ns, _, action = heapq.heappop(self._queue)
            self.now_ns = at_ns
            self.events += 1
            if at_ns > deadline_ns:
                raise Violation(f"the job did not end by {deadline_ns // MS} ms of virtual time")
            if self.events > events_max:
                raise Violation(f"the job did not end within {events_max} events")
            action()

    def step(self, kind: str, text: str = "") -> None:
        """A process has reached a step at which a fault may occur."""
        self.step_counts[kind] += 1
        if self._verbose:
            self.trace(f"{kind} {text}")
        if self.on_step is not None:
            self.on_step(kind, self.step_counts[kind])

    def trace(self, text: str) -> None:
        if self._verbose:
            print(f"{self.now_ns / MS:10.3f} ms  {text}")

    @property
    def verbose(self) -> bool:
        return self._verbose

    def between(self, low_ns: int, high_ns: int) -> int:
        """Return a uniform random number. Faster than ``randint``."""
        return low_ns + int(self.random.random() * (high_ns - low_ns))

    def chance_of_delay(self, probability: float) -> bool:
        return not self.faults_ended and self.random.random() < probability

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability
