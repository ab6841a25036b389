"""Simulated connections. Messages are ordered within a connection. Connections delay messages and break."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

from weir.testing.sim.simulation import MS, US, Simulation


class ConnectedProcess(Protocol):
    """The part of a simulated process that connections use."""

    simulation: Simulation
    connections: list[SimConnection]

    def deliver(self, action: Callable[[], None]) -> None: ...


class ConnectionEnd:
    """One side of a connection."""

    def __init__(self, process: ConnectedProcess, on_message: Callable[[object], None], on_closed: Callable[[str], None]) -> None:
        self.process = process
        self.on_message = on_message
        self.on_closed = on_closed
        self.open = True
        self.last_arrival_ns = 0
        """The arrival time of the newest message to this end."""


class SimConnection:
    """A process can still receive messages that were in its inbox when it closed its end."""

    def __init__(self, one: ConnectionEnd, other: ConnectionEnd, *, slowness: float) -> None:
        self._ends = (one, other)
        self._simulation = one.process.simulation
        self._slowness = slowness
        self._lost = False
        self._held_until_ns = 0
        one.process.connections.append(self)
        other.process.connections.append(self)

    @property
    def processes(self) -> tuple[ConnectedProcess, ConnectedProcess]:
        return self._ends[0].process, self._ends[1].process

    def _sides(self, process: ConnectedProcess) -> tuple[ConnectionEnd, ConnectionEnd]:
        one, other = self._ends
        return (one, other) if one.process is process else (other, one)

    def send(self, sender: ConnectedProcess, message: object) -> None:
        mine, theirs = self._sides(sender)
        if not mine.open or self._lost:
            return
        self._simulation.schedule(self._arrival(theirs), lambda: self._arrive(theirs, message))

    def close(self, process: ConnectedProcess) -> None:
        """Close ``process``'s end of the connection. A crash of the process also closes this end.

        Messages that the process has sent still arrive, and then the peer detects the close.
        """
        mine, theirs = self._sides(process)
        if not mine.open:
            return
        mine.open = False
        process.connections.remove(self)
        if not self._lost:
            self._simulation.schedule(self._arrival(theirs), lambda: self._detect_close(theirs, "connection closed by the peer"))

    @property
    def is_disturbed(self) -> bool:
        """Whether the connection is broken, or a temporary partition has ever delayed its messages."""
        return self._lost or self._held_until_ns > 0

    def cut(self) -> None:
        """Break the connection. Messages in transit are lost, and each end detects the break after its own delay."""
        if self._lost:
            return
        self._lost = True
        for end in self._ends:
            self._simulation.schedule(self._simulation.between(0, 200 * MS), partial(self._detect_close, end, "connection reset"))

    def hold(self, duration_ns: int) -> None:
        """Simulate a temporary partition: hold all messages for ``duration_ns``."""
        self._held_until_ns = max(self._held_until_ns, self._simulation.now_ns + duration_ns)

    def _arrival(self, to: ConnectionEnd) -> int:
        """Return the delay of a message that is sent now. The message does not overtake earlier messages."""
        simulation = self._simulation
        delay_ns = simulation.between(20 * US, 400 * US)
        if simulation.chance_of_delay(0.02):
            delay_ns += simulation.between(0, 30 * MS)
        arrival_ns = max(to.last_arrival_ns, self._held_until_ns, simulation.now_ns + int(delay_ns * self._slowness))
        to.last_arrival_ns = arrival_ns
        return arrival_ns - simulation.now_ns

    def _arrive(self, to: ConnectionEnd, message: object) -> None:
        if self._lost or (not to.open and self._simulation.chance(0.5)):
            return
        to.process.deliver(lambda: to.on_message(message))

    def _detect_close(self, end: ConnectionEnd, reason: str) -> None:
        def detect() -> None:
            if end.open:
                end.open = False
                end.process.connections.remove(self)
                end.on_closed(reason)

        end.process.deliver(detect)
