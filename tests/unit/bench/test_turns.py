"""The clock of runs that take turns, and that who has no turn computes nothing."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.measuring import rate_of
from bench.processes import family, go_on, stop
from bench.turns import INTERVAL_MS, TURN_S, Turns

TURNS = Turns([(10.0, 11.0), (12.0, 13.0), (14.0, 15.0)])


@pytest.mark.parametrize(
    ("moment", "measured"), [(9.0, 0.0), (10.0, 0.0), (10.25, 0.25), (11.5, 1.0), (12.5, 1.5), (13.0, 2.0), (99.0, 3.0)]
)
def test_the_clock_stands_while_it_is_the_others_turn(moment: float, measured: float) -> None:
    assert TURNS(moment) == measured


def test_a_rate_is_of_the_time_of_the_turns_alone() -> None:
    looked, first, second, last = (10.0, 0), (10.5, 100), (12.5, 1_100), (14.5, 2_100)
    assert rate_of([[looked, first, second, last]], TURNS) == (2_000, 2.0)
    assert rate_of([[looked, first, second, last]], float) == (2_000, 4.0)


def test_subtasks_are_timed_each_by_its_own_reports() -> None:
    slow = [(10.0, 0), (10.0, 0), (10.5, 10), (11.0, 20)]
    fast = [(10.0, 0), (10.2, 0), (10.5, 30), (10.7, 50)]
    # 20 a second and 100 a second, over three quarters of a second.
    assert rate_of([slow, fast], TURNS) == (90, pytest.approx(0.75))


def test_no_report_is_no_rate() -> None:
    with pytest.raises(SystemExit, match="no records were read"):
        rate_of([[(10.0, 0), (10.5, 5)]], TURNS)


def test_a_checkpoint_falls_once_into_a_turn() -> None:
    """Turns are as long as each other: it is due in the others', or at the earliest when its own has just ended."""
    assert TURN_S < INTERVAL_MS / 1_000 < 2 * TURN_S


def test_a_whole_family_is_stopped_and_goes_on() -> None:
    with _parent_and_child() as (parent, child):
        members = family(parent)
        assert {parent, child} <= set(members)
        assert os.getpid() not in members
        stop(members)
        try:
            _wait_until_state(parent, "T")
            _wait_until_state(child, "T")
        finally:
            go_on(members)
        _wait_until_state(parent, "S")
        _wait_until_state(child, "S")


def test_to_stop_who_has_ended_does_nothing() -> None:
    process = multiprocessing.get_context("spawn").Process(target=_nothing)
    process.start()
    assert process.pid is not None
    process.join()
    stop([process.pid])


def _nothing() -> None:
    """A process that ends at once."""


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
    ours, theirs = context.Pipe()
    parent = context.Process(target=_with_child, args=(theirs,))
    parent.start()
    assert parent.pid is not None
    try:
        yield parent.pid, ours.recv()
    finally:
        ours.send("end")
        parent.join()


def _wait_until_state(process: int, state: str) -> None:
    until = time.monotonic() + 60
    while (is_ := Path("/proc", str(process), "stat").read_text().rpartition(")")[2].split()[0]) != state:
        assert time.monotonic() < until, f"process {process} is in state {is_}, not {state}"
        time.sleep(0.01)
