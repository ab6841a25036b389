"""The background executors of a deployment."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Any

import pytest

from weir.subtask.background import DeploymentExecutors

WAIT_S = 60.0


class Recorder:
    """Records the callbacks of the background executors."""

    def __init__(self) -> None:
        self.calls = 0
        self.woken = threading.Semaphore(0)
        self.finished: list[tuple[object, BaseException | None]] = []
        self.executors = DeploymentExecutors(on_call=self._on_call, wake=self.woken.release, finished=self._finish)

    def _on_call(self) -> None:
        self.calls += 1

    def _finish(self, done: object, result: object, error: BaseException | None) -> None:
        self.finished.append((result, error))
        self.woken.release()

    def wait(self, condition: Callable[[], bool]) -> None:
        while not condition():
            assert self.woken.acquire(timeout=WAIT_S)

    def wait_until_idle(self) -> None:
        self.wait(lambda: self.executors.is_idle)


def test_a_hung_user_function_delays_neither_sinks_nor_snapshots_nor_a_later_deployment() -> None:
    slot, started, release = Recorder(), threading.Event(), threading.Event()

    def hang() -> None:
        started.set()
        release.wait()

    hung: Any = slot.executors.call(hang)
    assert started.wait(WAIT_S)
    assert slot.executors.encode(lambda: "encoded").result(WAIT_S) == "encoded"
    slot.executors.write(lambda: "written", lambda result, error: None)
    slot.wait(lambda: slot.finished == [("written", None)])
    later = Recorder()
    assert later.executors.call(lambda: "called").result(WAIT_S) == "called"
    slot.executors.cancel_queued()
    slot.executors.close()
    assert not slot.executors.is_idle
    assert not hung.done()
    release.set()
    slot.wait_until_idle()


def test_calls_of_one_kind_run_in_order_and_the_caller_receives_the_error_of_a_failed_call() -> None:
    slot, order = Recorder(), list[int]()
    calls = [slot.executors.call(lambda number=number: order.append(number)) for number in range(20)]
    failing = slot.executors.call(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        failing.result(WAIT_S)
    assert order == list(range(20))
    assert all(call.done() for call in calls)
    assert slot.calls == 2 * 21, "on_call is called before and after each call"


def test_queued_calls_can_be_cancelled_and_later_calls_still_run() -> None:
    slot, started, release = Recorder(), threading.Event(), threading.Event()

    def running() -> str:
        started.set()
        release.wait()
        return "ended"

    first = slot.executors.encode(running)
    queued = slot.executors.encode(lambda: "never")
    assert started.wait(WAIT_S)
    slot.executors.cancel_queued()
    with pytest.raises(CancelledError):
        queued.result(WAIT_S)
    clean_up = slot.executors.encode(lambda: "cleaned up")
    slot.executors.close()
    release.set()
    assert first.result(WAIT_S) == "ended"
    assert clean_up.result(WAIT_S) == "cleaned up"
    with pytest.raises(RuntimeError):
        slot.executors.encode(lambda: None)


def test_a_failed_snapshot_is_reported_to_the_loop() -> None:
    slot = Recorder()
    slot.executors.write(lambda: 1 / 0, lambda result, error: None)
    slot.wait(lambda: bool(slot.finished))
    ((result, error),) = slot.finished
    assert result is None
    assert isinstance(error, ZeroDivisionError)
