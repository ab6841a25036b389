"""Virtual time and luck: one queue of events, one random generator."""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Callable

MS = 1_000_000
US = 1_000


class Violation(BaseException):
    """An invariant is broken. Not an Exception, so that no handler in the code under test swallows it."""


class World:
    """``at`` puts an action into the future, ``run`` carries actions out in the order of their times."""

    def __init__(self, seed: int, *, verbose: bool = False) -> None:
        self.random = random.Random(seed)
        self.now_ns = 0
        self.events = 0
        self.calm = False
        """Nothing is exceptionally slow any more."""
        self.happened: Counter[str] = Counter()
        """How often each kind of step was passed; faults can wait for the n-th of a kind."""
        self.on_step: Callable[[str, int], None] | None = None
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._order = 0
        self._verbose = verbose

    @property
    def now_ms(self) -> int:
        return self.now_ns // MS

    def at(self, delay_ns: int, action: Callable[[], None]) -> None:
        self._order += 1
        heapq.heappush(self._queue, (self.now_ns + delay_ns, self._order, action))

    def run(self, finished: Callable[[], bool], *, deadline_ns: int, events_max: int) -> None:
        """Until ``finished`` or nothing is left to happen. Raises Violation past the deadline or the bound."""
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
        """A process has come to a step at which things may go wrong."""
        self.happened[kind] += 1
        if self._verbose:
            self.say(f"{kind} {text}")
        if self.on_step is not None:
            self.on_step(kind, self.happened[kind])

    def say(self, text: str) -> None:
        if self._verbose:
            print(f"{self.now_ns / MS:10.3f} ms  {text}")

    @property
    def verbose(self) -> bool:
        return self._verbose

    def between(self, low_ns: int, high_ns: int) -> int:
        """Uniform; cheaper than ``randint``."""
        return low_ns + int(self.random.random() * (high_ns - low_ns))

    def unlucky(self, probability: float) -> bool:
        return not self.calm and self.random.random() < probability

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability
