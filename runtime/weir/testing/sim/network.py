"""Connections between two processes: ordered within one, unordered across; they delay, break and are cut off."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from weir.testing.sim.world import MS, US

if TYPE_CHECKING:
    from weir.testing.sim.process import Process


class End:
    """One side of a connection."""

    def __init__(self, process: Process, on_message: Callable[[object], None], on_closed: Callable[[str], None]) -> None:
        self.process = process
        self.on_message = on_message
        self.on_closed = on_closed
        self.open = True
        self.last_arrival_ns = 0
        """Of what travels to this end."""


class Connection:
    """Frames that have arrived when a process closes its end may still be handed to it: they were in its inbox."""

    def __init__(self, one: End, other: End, *, slowness: float) -> None:
        self._ends = (one, other)
        self._world = one.process.world
        self._slowness = slowness
        self._lost = False
        self._held_until_ns = 0
        one.process.connections.append(self)
        other.process.connections.append(self)

    @property
    def processes(self) -> tuple[Process, Process]:
        return self._ends[0].process, self._ends[1].process

    def _sides(self, process: Process) -> tuple[End, End]:
        one, other = self._ends
        return (one, other) if one.process is process else (other, one)

    def send(self, sender: Process, message: object) -> None:
        mine, theirs = self._sides(sender)
        if not mine.open or self._lost:
            return
        self._world.at(self._arrival(theirs), lambda: self._arrive(theirs, message))

    def close(self, process: Process) -> None:
        """Orderly, or by the death of the process: what was sent arrives, then the end is seen."""
        mine, theirs = self._sides(process)
        if not mine.open:
            return
        mine.open = False
        process.connections.remove(self)
        if not self._lost:
            self._world.at(self._arrival(theirs), lambda: self._see_closed(theirs, "connection closed by the peer"))

    def cut(self) -> None:
        """The network drops it: what is on its way is lost, and both ends find out, each in its own time."""
        if self._lost:
            return
        self._lost = True
        for end in self._ends:
            self._world.at(self._world.between(0, 200 * MS), partial(self._see_closed, end, "connection reset"))

    def hold(self, duration_ns: int) -> None:
        """A partition that heals: nothing arrives for a while, then everything does."""
        self._held_until_ns = max(self._held_until_ns, self._world.now_ns + duration_ns)

    def _arrival(self, to: End) -> int:
        """Delay until something sent now gets there, not before what was sent earlier."""
        world = self._world
        delay_ns = world.between(20 * US, 400 * US)
        if world.unlucky(0.02):
            delay_ns += world.between(0, 30 * MS)
        arrival_ns = max(to.last_arrival_ns, self._held_until_ns, world.now_ns + int(delay_ns * self._slowness))
        to.last_arrival_ns = arrival_ns
        return arrival_ns - world.now_ns

    def _arrive(self, to: End, message: object) -> None:
        if self._lost or (not to.open and self._world.chance(0.5)):
            return
        to.process.deliver(lambda: to.on_message(message))

    def _see_closed(self, end: End, reason: str) -> None:
        def see() -> None:
            if end.open:
                end.open = False
                end.process.connections.remove(self)
                end.on_closed(reason)

        end.process.deliver(see)
