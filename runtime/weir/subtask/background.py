"""The background executors of a deployment in a slot process. The executors run user functions, encode the output of sinks, write
snapshots and restore state."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future

from weir.operators.base import BackgroundCall
from weir.subtask.environment import Done


class SerialExecutor:
    """Runs calls one after the other on one thread, which starts with the first call. The executor's thread calls
    ``began_or_ended`` before and after each call.

    Unlike a ``ThreadPoolExecutor``, a SerialExecutor can cancel its queued calls and continue to run. A call that never returns
    does not prevent the process from exiting.
    """

    def __init__(self, name: str, began_or_ended: Callable[[], None]) -> None:
        self._name = name
        self._began_or_ended = began_or_ended
        self._changed = threading.Condition()
        self._queue: deque[tuple[Callable[[], object], Future[object]]] = deque()
        self._thread: threading.Thread | None = None
        self._running = False
        self._closed = False

    @property
    def is_idle(self) -> bool:
        """Whether no call is running or queued."""
        with self._changed:
            return not self._running and not self._queue

    def submit(self, work: Callable[[], object]) -> Future[object]:
        """Queue a call. Raise RuntimeError if the executor is closed."""
        future: Future[object] = Future()
        with self._changed:
            if self._closed:
                raise RuntimeError("the background executor is closed")
            self._queue.append((work, future))
            self._changed.notify()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
        return future

    def cancel_queued(self) -> None:
        """Cancel the calls that have not begun."""
        with self._changed:
            queued, self._queue = self._queue, deque()
        for _, future in queued:
            future.cancel()

    def close(self) -> None:
        """Accept no more calls. The thread ends after it has run the queued calls."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._queue and not self._closed:
                    self._changed.wait()
                if not self._queue:
                    return
                work, future = self._queue.popleft()
                self._running = True
            self._began_or_ended()
            try:
                result = work()
            except BaseException as error:  # noqa: BLE001  # the future raises the error
                outcome: tuple[object, BaseException | None] = None, error
            else:
                outcome = result, None
            self._began_or_ended()
            del work
            with self._changed:
                self._running = False
            if outcome[1] is None:
                future.set_result(outcome[0])
            else:
                future.set_exception(outcome[1])
            del future, outcome


class DeploymentExecutors:
    """Implements ``Background`` for one deployment. Each kind of call has its own executor. So a call that hangs does not delay
    calls of other kinds, or calls of a later deployment.

    ``on_call`` is called when a user function begins and when it ends. ``wake`` is called after each call that has ended or was
    cancelled. ``finished(done, result, error)`` is called when a snapshot or a restore has ended. The threads of the executors
    call these callbacks. In addition, ``cancel_queued`` calls ``wake`` in the caller's thread.
    """

    def __init__(
        self,
        *,
        on_call: Callable[[], None],
        wake: Callable[[], None],
        finished: Callable[[Done, object, BaseException | None], None],
    ) -> None:
        self._wake = wake
        self._finished = finished
        self._functions = SerialExecutor("weir-functions", on_call)
        self._sinks = SerialExecutor("weir-sinks", lambda: None)
        self._snapshots = SerialExecutor("weir-snapshots", lambda: None)
        self._all = (self._functions, self._sinks, self._snapshots)

    @property
    def is_idle(self) -> bool:
        return all(executor.is_idle for executor in self._all)

    def call(self, work: Callable[[], object]) -> BackgroundCall:
        return self._submit(self._functions, work)

    def encode(self, work: Callable[[], object]) -> BackgroundCall:
        return self._submit(self._sinks, work)

    def write(self, work: Callable[[], object], done: Done) -> None:
        def finished(future: Future[object]) -> None:
            if not future.cancelled():
                error = future.exception()
                self._finished(done, None if error else future.result(), error)

        self._submit(self._snapshots, work).add_done_callback(finished)

    def cancel_queued(self) -> None:
        for executor in self._all:
            executor.cancel_queued()

    def close(self) -> None:
        for executor in self._all:
            executor.close()

    def _submit(self, executor: SerialExecutor, work: Callable[[], object]) -> Future[object]:
        future = executor.submit(work)
        future.add_done_callback(lambda _: self._wake())
        return future
