"""A simulated process, which can crash, or be paused and resume with unchanged state."""

from __future__ import annotations

from collections.abc import Callable

from weir.testing.sim.network import SimConnection
from weir.testing.sim.simulation import MS, Simulation
from weir.testing.sim.threads import SimExecutor, Threads


class Process:
    def __init__(self, simulation: Simulation, threads: Threads, name: str) -> None:
        self.simulation = simulation
        self.name = name
        self.alive = True
        self.paused = False
        self.paused_ns = 0
        """Total duration of finished pauses."""
        self.connections: list[SimConnection] = []
        self._threads = threads
        self._executors: list[SimExecutor] = []
        self._paused_at_ns = 0
        self._deferred: list[Callable[[], None]] = []

    def executor(self) -> SimExecutor:
        """Create an executor for calls that access storage."""
        executor = SimExecutor(self.simulation, self._threads, self.post)
        self._executors.append(executor)
        return executor

    def post(self, delay_ns: int, action: Callable[[], None]) -> None:
        """Run ``action`` after ``delay_ns`` if this process is alive. A paused process runs ``action`` after the pause."""
        self.simulation.schedule(delay_ns, lambda: self.deliver(action))

    def deliver(self, action: Callable[[], None]) -> None:
        if not self.alive:
            return
        if self.paused:
            self._deferred.append(action)
        else:
            action()

    def pause(self, duration_ns: int) -> None:
        """Simulate SIGSTOP, and SIGCONT after ``duration_ns``. Running storage calls and messages in transit continue."""
        if not self.alive or self.paused:
            return
        self.simulation.trace(f"{self.name} PAUSED for {duration_ns // MS} ms")
        self.paused = True
        self._paused_at_ns = self.simulation.now_ns
        self.simulation.schedule(duration_ns, self._resume)

    def _resume(self) -> None:
        if not self.alive:
            return
        self.simulation.trace(f"{self.name} RESUMES")
        self.paused = False
        self.paused_ns += self.simulation.now_ns - self._paused_at_ns
        deferred, self._deferred = self._deferred, []
        for position, action in enumerate(deferred):
            if not self.alive:
                return
            if self.paused:
                self._deferred = [*deferred[position:], *self._deferred]
                return
            action()

    def exit(self, why: str) -> None:
        """End the process, which was killed or exits by itself.

        The connections of the process are closed. A storage call that has already started can still take effect.
        """
        if not self.alive:
            return
        self.simulation.trace(f"{self.name} EXITS: {why}")
        self.alive = False
        self._deferred.clear()
        for executor in self._executors:
            executor.kill()
        for connection in list(self.connections):
            connection.close(self)

    def cut_power(self) -> None:
        """End the process as ``exit`` does, and drop the storage calls that have not taken effect."""
        for executor in self._executors:
            executor.cut_power()
        self.exit("power cut")
