"""Threads of simulated processes, run in lockstep: only one thread of the whole simulation ever runs.

Code that blocks on storage runs as it is, on a worker thread. Each call of storage hands control back to
the simulation, which lets time pass, makes the call's effect happen, lets time pass again and resumes the
thread with the result. A process that dies unwinds its threads by ``ProcessDied``.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from weir.testing.sim.world import MS, US, World

Call = Callable[[], object]


class ProcessDied(BaseException):
    """Unwinds a thread of a process that is no more."""


class Worker:
    """A real thread that runs only while ``resume`` waits for it."""

    def __init__(self) -> None:
        self._go = threading.Lock()
        self._back = threading.Lock()
        self._go.acquire()
        self._back.acquire()
        self._job: Call = lambda: None
        self._answer: tuple[object, BaseException | None] = (None, None)
        self.asked: object = None
        """What the thread waits for; None: its job is over."""
        threading.Thread(target=self._run, daemon=True).start()

    def begin(self, job: Call) -> None:
        self._job = job
        self.resume(None, None)

    def resume(self, value: object, error: BaseException | None) -> None:
        self._answer = (value, error)
        self._go.release()
        self._back.acquire()

    def ask(self, wish: object) -> object:
        """On the thread itself."""
        self.asked = wish
        self._back.release()
        self._go.acquire()
        value, error = self._answer
        if error is not None:
            raise error
        return value

    def _run(self) -> None:
        while True:
            self._go.acquire()
            self._job()
            self.asked = None
            self._back.release()


class Workers:
    """Idle threads, kept from run to run. ``current``: the lane whose thread runs at this moment."""

    def __init__(self) -> None:
        self._idle: list[Worker] = []
        self.current: Lane | None = None

    def take(self) -> Worker:
        return self._idle.pop() if self._idle else Worker()

    def give_back(self, worker: Worker) -> None:
        self._idle.append(worker)


class SimFuture:
    """Of a piece of work on a lane."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._outcome: tuple[object, BaseException | None] | None = None
        self._callbacks: list[Callable[[], None]] = []

    def done(self) -> bool:
        return self._outcome is not None

    def result(self, timeout: float | None = None) -> object:
        if self._outcome is None:
            lane = self._workers.current
            assert lane is not None, "only a lane can wait"
            lane.wait_for(self)
        assert self._outcome is not None
        value, error = self._outcome
        if error is not None:
            raise error
        return value

    def exception(self) -> BaseException | None:
        assert self._outcome is not None
        return self._outcome[1]

    def settle(self, value: object, error: BaseException | None) -> None:
        self._outcome = (value, error)
        for callback in self._callbacks:
            callback()

    def when_done(self, callback: Callable[[], None]) -> None:
        if self._outcome is not None:
            callback()
        else:
            self._callbacks.append(callback)


class Lane:
    """An executor of one thread. ``post`` brings an action into the process, when it is there and awake."""

    def __init__(self, world: World, workers: Workers, post: Callable[[int, Callable[[], None]], None]) -> None:
        self._world = world
        self._workers = workers
        self._post = post
        self._queue: deque[tuple[Call, SimFuture]] = deque()
        self._worker: Worker | None = None
        self._dead = False

    def submit(self, work: Callable[..., Any], *args: Any) -> SimFuture:
        future = SimFuture(self._workers)
        self._queue.append((lambda: work(*args), future))
        if self._worker is None and len(self._queue) == 1:
            self._post(self._world.between(10 * US, 200 * US), self._next)
        return future

    def shutdown(self, wait: bool = True) -> None:
        """What is queued is dropped with the process."""

    def call(self, call: Call) -> object:
        """On the lane's thread: have storage do ``call``."""
        return self._ask(call)

    def sleep(self, duration_ns: int) -> None:
        self._ask(duration_ns)

    def wait_for(self, future: SimFuture) -> None:
        self._ask(future)

    def _ask(self, wish: object) -> object:
        assert self._worker is not None
        if self._dead:
            raise ProcessDied
        return self._worker.ask(wish)

    def _next(self) -> None:
        if self._worker is not None or not self._queue or self._dead:
            return
        work, future = self._queue.popleft()
        worker = self._worker = self._workers.take()
        outcome: list[tuple[object, BaseException | None]] = []

        def job() -> None:
            try:
                outcome.append((work(), None))
            except ProcessDied:
                pass
            except Exception as error:  # noqa: BLE001  # whoever waits for the future judges it
                outcome.append((None, error))

        self._workers.current = self
        worker.begin(job)
        self._after(worker, future, outcome)

    def _resume(
        self, worker: Worker, future: SimFuture, outcome: list[tuple[object, BaseException | None]], value: object, error: BaseException | None
    ) -> None:  # fmt: skip
        if self._dead:
            return
        self._workers.current = self
        worker.resume(value, error)
        self._after(worker, future, outcome)

    def _after(self, worker: Worker, future: SimFuture, outcome: list[tuple[object, BaseException | None]]) -> None:
        self._workers.current = None
        asked = worker.asked
        if asked is None:
            self._worker = None
            self._workers.give_back(worker)
            if outcome:
                future.settle(*outcome[0])
            self._next()
        elif isinstance(asked, int):
            self._post(asked, lambda: self._resume(worker, future, outcome, None, None))
        elif isinstance(asked, SimFuture):
            asked.when_done(lambda: self._post(0, lambda: self._resume(worker, future, outcome, None, None)))
        else:
            assert callable(asked)
            self._world.at(self._delay_ns(), lambda: self._effect(worker, future, outcome, asked))

    def _effect(self, worker: Worker, future: SimFuture, outcome: list[tuple[object, BaseException | None]], call: Call) -> None:
        if self._dead and self._world.chance(0.5):
            return
        value: object = None
        error: Exception | None = None
        try:
            value = call()
        except Exception as failure:  # noqa: BLE001  # raised again in the thread that asked
            error = failure
        self._post(self._delay_ns(), lambda: self._resume(worker, future, outcome, value, error))

    def kill(self) -> None:
        self._dead = True
        self._queue.clear()
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.resume(None, ProcessDied())
            while worker.asked is not None:
                worker.resume(None, ProcessDied())
            self._workers.give_back(worker)

    def _delay_ns(self) -> int:
        if self._world.unlucky(0.03):
            return self._world.between(1 * MS, 40 * MS)
        return self._world.between(50 * US, 1 * MS)
