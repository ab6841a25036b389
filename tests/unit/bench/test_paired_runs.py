"""The clock of paired benchmark runs, and pausing of processes."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.measured_run import rate_of
from bench.paired_runs import INTERVAL_MS, TURN_S, TurnClock
from bench.process_control import pause, process_tree, resume

CLOCK = TurnClock([(10.0, 11.0), (12.0, 13.0), (14.0, 15.0)])


@pytest.mark.parametrize(
    ("moment", "measured"), [(9.0, 0.0), (10.0, 0.0), (10.25, 0.25), (11.5, 1.0), (12.5, 1.5), (13.0, 2.0), (99.0, 3.0)]
)
def test_the_clock_of_a_run_stops_during_the_turn_of_the_other_run(moment: float, measured: float) -> None:
    assert CLOCK(moment) == measured


def test_the_throughput_of_a_run_is_computed_over_its_own_turns_only() -> None:
    start, first, second, last = (10.0, 0), (10.5, 100), (12.5, 1_100), (14.5, 2_100)
    assert rate_of([[start, first, second, last]], CLOCK) == (2_000, 2.0)
    assert rate_of([[start, first, second, last]], float) == (2_000, 4.0)


def test_the_rate_of_each_subtask_is_computed_from_its_own_reports() -> None:
    slow = [(10.0, 0), (10.0, 0), (10.5, 10), (11.0, 20)]
    fast = [(10.0, 0), (10.2, 0), (10.5, 30), (10.7, 50)]
    # One subtask reads 20 records per second for 1 s. The other subtask reads 100 records per second for 0.5 s. The average
    # time is 0.75 s, so the result is (20 + 100) * 0.75 records.
    assert rate_of([slow, fast], CLOCK) == (90, pytest.approx(0.75))


def test_a_rate_cannot_be_computed_if_the_sources_report_no_records() -> None:
    with pytest.raises(SystemExit, match="The sources read no records"):
        rate_of([[(10.0, 0), (10.5, 5)]], CLOCK)


def test_each_turn_of_a_run_has_one_checkpoint() -> None:
    """All turns have the same length. The next checkpoint of a run becomes due during the turn of the other run."""
    assert TURN_S < INTERVAL_MS / 1_000 < 2 * TURN_S


def test_all_processes_of_a_tree_are_paused_and_resumed() -> None:
    with _parent_and_child() as (parent, child):
        members = process_tree(parent)
        assert {parent, child} <= set(members)
        assert os.getpid() not in members
        pause(members)
        try:
            _wait_until_state(parent, "T")
            _wait_until_state(child, "T")
        finally:
            resume(members)
        _wait_until_state(parent, "S")
        _wait_until_state(child, "S")


def test_pausing_an_ended_process_has_no_effect() -> None:
    process = multiprocessing.get_context("spawn").Process(target=_nothing)
    process.start()
    assert process.pid is not None
    process.join()
    pause([process.pid])


def _nothing() -> None:
    """The main function of a process that ends immediately."""


def _sleep() -> None:
    time.sleep(600)


def _with_child(pipe: multiprocessing.connection.Connection) -> None:
    child = multiprocessing.get_context("spawn").Process(target=_sleep, daemon=True)
    child.start()
    pipe.send(child.pid)
    pipe.recv()
    child.terminate()
    child.join()


@contextmanager
def _parent_and_child() -> Iterator[tuple[int, int]]:
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe()
    parent = context.Process(target=_with_child, args=(sender,))
    parent.start()
    assert parent.pid is not None
    try:
        yield parent.pid, receiver.recv()
    finally:
        receiver.send("end")
        parent.join()


def _wait_until_state(process: int, state: str) -> None:
    until = time.monotonic() + 60
    while (state_now := Path("/proc", str(process), "stat").read_text().rpartition(")")[2].split()[0]) != state:
        assert time.monotonic() < until, f"process {process} is in state {state_now}, not {state}"
        time.sleep(0.01)
