"""A simulated process: it can crash, and it can be paused and wake up with everything as it was."""

from __future__ import annotations

from collections.abc import Callable

from weir.testing.sim.lanes import Lane, Workers
from weir.testing.sim.network import Connection
from weir.testing.sim.world import MS, World


class Process:
    def __init__(self, world: World, workers: Workers, name: str) -> None:
        self.world = world
        self.name = name
        self.alive = True
        self.paused = False
        self.paused_ns = 0
        """Total time in pauses that are over."""
        self.connections: list[Connection] = []
        self._workers = workers
        self._lanes: list[Lane] = []
        self._paused_at_ns = 0
        self._deferred: list[Callable[[], None]] = []

    def lane(self) -> Lane:
        """A thread of this process that touches storage."""
        lane = Lane(self.world, self._workers, self.post)
        self._lanes.append(lane)
        return lane

    def post(self, delay_ns: int, action: Callable[[], None]) -> None:
        """Do ``action`` in this process after a while, if it is still there; when paused, on waking up."""
        self.world.at(delay_ns, lambda: self.deliver(action))

    def deliver(self, action: Callable[[], None]) -> None:
        if not self.alive:
            return
        if self.paused:
            self._deferred.append(action)
        else:
            action()

    def pause(self, duration_ns: int) -> None:
        """SIGSTOP, and SIGCONT after ``duration_ns``. What it has asked of storage and network goes on."""
        if not self.alive or self.paused:
            return
        self.world.say(f"{self.name} PAUSED for {duration_ns // MS} ms")
        self.paused = True
        self._paused_at_ns = self.world.now_ns
        self.world.at(duration_ns, self._resume)

    def _resume(self) -> None:
        if not self.alive:
            return
        self.world.say(f"{self.name} WAKES UP")
        self.paused = False
        self.paused_ns += self.world.now_ns - self._paused_at_ns
        deferred, self._deferred = self._deferred, []
        for position, action in enumerate(deferred):
            if not self.alive:
                return
            if self.paused:
                self._deferred = [*deferred[position:], *self._deferred]
                return
            action()

    def exit(self, why: str) -> None:
        """Gone, whether killed or of its own will. The system closes its connections; calls of storage that are out may happen."""
        if not self.alive:
            return
        self.world.say(f"{self.name} EXITS: {why}")
        self.alive = False
        self._deferred.clear()
        for lane in self._lanes:
            lane.kill()
        for connection in list(self.connections):
            connection.close(self)
