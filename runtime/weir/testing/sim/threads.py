"""Threads of simulated processes, run in lockstep: only one thread of the simulation runs at a time.

Production code that blocks on storage runs unchanged on a real thread. Each storage call returns control to the
simulation, which advances time, executes the call, advances time again and resumes the thread with the result.
``ProcessDied`` unwinds the threads of a process that dies.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from weir.testing.sim.simulation import MS, US, Simulation

Call = Callable[[], object]


class ProcessDied(BaseException):
    """Unwinds a thread of a dead process."""


class SteppedThread:
    """A real thread that runs only while ``resume`` waits for it."""

    def __init__(self) -> None:
        self._run_permit = threading.Lock()
        self._return_permit = threading.Lock()
        self._run_permit.acquire()
        self._return_permit.acquire()
        self._call: Call = lambda: None
        self._answer: tuple[object, BaseException | None] = (None, None)
        self.request: object = None
        """The request for which the thread is waiting, or None if the call of the thread has finished."""
        threading.Thread(target=self._run, daemon=True).start()

    def start(self, call: Call) -> None:
        self._call = call
        self.resume(None, None)

    def resume(self, value: object, error: BaseException | None) -> None:
        self._answer = (value, error)
        self._run_permit.release()
        self._return_permit.acquire()

    def wait(self, request: object) -> object:
        """Return control to the simulation until ``resume`` is called. Call this method from the thread itself."""
        self.request = request
        self._return_permit.release()
        self._run_permit.acquire()
        value, error = self._answer
        if error is not None:
            raise error
        return value

    def _run(self) -> None:
        while True:
            self._run_permit.acquire()
            self._call()
            self.request = None
            self._return_permit.release()


class Threads:
    """A pool of idle threads, shared by runs. ``current``: the executor whose thread is running."""

    def __init__(self) -> None:
        self._idle: list[SteppedThread] = []
        self.current: SimExecutor | None = None

    def take(self) -> SteppedThread:
        return self._idle.pop() if self._idle else SteppedThread()

    def release(self, thread: SteppedThread) -> None:
        self._idle.append(thread)


class SimFuture:
    """The result of a call on an executor."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._outcome: tuple[object, BaseException | None] | None = None
        self._callbacks: list[Callable[[], None]] = []

    def done(self) -> bool:
        return self._outcome is not None

    def result(self, timeout: float | None = None) -> object:
        if self._outcome is None:
            executor = self._threads.current
            assert executor is not None, "only an executor can wait"
            executor.wait_for(self)
        assert self._outcome is not None
        value, error = self._outcome
        if error is not None:
            raise error
        return value

    def exception(self) -> BaseException | None:
        assert self._outcome is not None
        return self._outcome[1]

    def complete(self, value: object, error: BaseException | None) -> None:
        self._outcome = (value, error)
        for callback in self._callbacks:
            callback()

    def on_done(self, callback: Callable[[], None]) -> None:
        if self._outcome is not None:
            callback()
        else:
            self._callbacks.append(callback)


class SimExecutor:
    """A single-threaded executor. ``post`` runs an action in the process when the process is alive and not paused."""

    def __init__(self, simulation: Simulation, threads: Threads, post: Callable[[int, Callable[[], None]], None]) -> None:
        self._simulation = simulation
        self._threads = threads
        self._post = post
        self._queue: deque[tuple[Call, SimFuture]] = deque()
        self._thread: SteppedThread | None = None
        self._dead = False
        self._power_is_cut = False

    def submit(self, work: Callable[..., Any], *args: Any) -> SimFuture:
        future = SimFuture(self._threads)
        self._queue.append((lambda: work(*args), future))
        if self._thread is None and len(self._queue) == 1:
            self._post(self._simulation.between(10 * US, 200 * US), self._next)
        return future

    @property
    def load(self) -> int:
        """Number of calls that run or wait."""
        return len(self._queue) + (self._thread is not None)

    @property
    def is_idle(self) -> bool:
        return self.load == 0

    def cancel_queued(self) -> None:
        self._queue.clear()

    def shutdown(self, wait: bool = True) -> None:
        """Do nothing, because queued calls are dropped when the process dies."""

    def call(self, call: Call) -> object:
        """Let the simulation execute ``call``. Call this method on the executor's thread."""
        return self._wait(call)

    def sleep(self, duration_ns: int) -> None:
        self._wait(duration_ns)

    def wait_for(self, future: SimFuture) -> None:
        self._wait(future)

    def _wait(self, request: object) -> object:
        assert self._thread is not None
        if self._dead:
            raise ProcessDied
        return self._thread.wait(request)

    def _next(self) -> None:
        if self._thread is not None or not self._queue or self._dead:
            return
        work, future = self._queue.popleft()
        thread = self._thread = self._threads.take()
        outcome: list[tuple[object, BaseException | None]] = []

        def job() -> None:
            try:
                outcome.append((work(), None))
            except ProcessDied:
                pass
            except Exception as error:  # noqa: BLE001  # raised by the future
                outcome.append((None, error))

        self._threads.current = self
        thread.start(job)
        self._after(thread, future, outcome)

    def _resume(
        self, thread: SteppedThread, future: SimFuture, outcome: list[tuple[object, BaseException | None]], value: object, error: BaseException | None
    ) -> None:  # fmt: skip
        if self._dead:
            return
        self._threads.current = self
        thread.resume(value, error)
        self._after(thread, future, outcome)

    def _after(self, thread: SteppedThread, future: SimFuture, outcome: list[tuple[object, BaseException | None]]) -> None:
        self._threads.current = None
        request = thread.request
        if request is None:
            self._thread = None
            self._threads.release(thread)
            if outcome:
                future.complete(*outcome[0])
            self._next()
        elif isinstance(request, int):
            self._post(request, lambda: self._resume(thread, future, outcome, None, None))
        elif isinstance(request, SimFuture):
            request.on_done(lambda: self._post(0, lambda: self._resume(thread, future, outcome, None, None)))
        else:
            assert callable(request)
            self._simulation.schedule(self._delay_ns(), lambda: self._effect(thread, future, outcome, request))

    def _effect(
        self, thread: SteppedThread, future: SimFuture, outcome: list[tuple[object, BaseException | None]], call: Call
    ) -> None:
        if self._power_is_cut or (self._dead and self._simulation.chance(0.5)):
            return
        value: object = None
        error: Exception | None = None
        try:
            value = call()
        except Exception as failure:  # noqa: BLE001  # raised again in the calling thread
            error = failure
        self._post(self._delay_ns(), lambda: self._resume(thread, future, outcome, value, error))

    def cut_power(self) -> None:
        """Drop the storage calls that have not taken effect."""
        self._power_is_cut = True

    def kill(self) -> None:
        self._dead = True
        self._queue.clear()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.resume(None, ProcessDied())
            while thread.request is not None:
                thread.resume(None, ProcessDied())
            self._threads.release(thread)

    def _delay_ns(self) -> int:
        if self._simulation.chance_of_delay(0.03):
            return self._simulation.between(1 * MS, 40 * MS)
        return self._simulation.between(50 * US, 1 * MS)


class SimPool:
    """A pool of threads, which run calls at the same time: each storage call of one thread can precede or follow the storage
    calls of the other threads."""

    def __init__(self, executors: Sequence[SimExecutor]) -> None:
        self._executors = executors

    def submit(self, work: Callable[..., Any], /, *args: Any) -> SimFuture:
        return min(self._executors, key=lambda executor: executor.load).submit(work, *args)

    def shutdown(self, wait: bool = True) -> None:
        """Do nothing, because queued calls are dropped when the process dies."""
