"""The wide job of the web UI benchmark, the events of its driver, trace parsing and aggregation of rounds."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from typing import Any

import pytest

from bench.platform.job_writer import RunConnection
from bench.platform.results import Aim, Measurement
from bench.ui.options import PARTS, parse
from bench.ui.report import line
from bench.ui.smoothness import combine_rounds
from bench.ui.trace import read_trace
from bench.ui.wide_job import CHAINS, SLOTS, SUBTASKS, Counters, WideJobDriver, wide_graph
from weir.protocol.events import CheckpointCompleted, CheckpointTriggered, MetricsSampled, SubtasksAcknowledged


def test_the_wide_job_has_200_unchained_operators_with_8_subtasks_each() -> None:
    compiled = wide_graph()
    assert len(compiled["logical"]["operators"]) == CHAINS == 200
    assert [chain["parallelism"] for chain in compiled["chains"]] == [SLOTS] * CHAINS
    assert len(compiled["edges"]) > CHAINS - 10, "some operators of the wide job have two inputs"


def test_every_subtask_acknowledges_a_checkpoint_once_and_at_its_own_time() -> None:
    driver = WideJobDriver("http://127.0.0.1:1", RunConnection(1, 1, "token"), seed=7)
    reported = list(driver._checkpoint(random.Random(7)))
    assert [type(event) for event in reported[0][1]] == [CheckpointTriggered]
    assert [type(event) for event in reported[-1][1]] == [CheckpointCompleted]
    acknowledged = [event for _, events in reported[1:-1] for event in events]
    assert all(isinstance(event, SubtasksAcknowledged) for event in acknowledged)
    subtasks = [subtask for event in acknowledged if isinstance(event, SubtasksAcknowledged) for subtask in event.subtasks]
    assert len(set(subtasks)) == len(subtasks) == SUBTASKS
    moments = [at_s for at_s, _ in reported]
    assert all(0 <= later - earlier < 0.2 for earlier, later in pairwise(moments))
    assert 4 < moments[-1] < 7


def test_the_time_counters_of_a_subtask_add_up_to_the_elapsed_time() -> None:
    counters = Counters()
    before: dict[tuple[int, int], Any] = {}
    for _ in range(5):
        for event in counters.samples():
            assert isinstance(event, MetricsSampled)
            for one in event.metrics.subtasks:
                earlier = before.get((one.chain, one.index))
                assert earlier is None or (one.backpressured_us >= earlier.backpressured_us and one.idle_us >= earlier.idle_us)
                before[one.chain, one.index] = one
    assert len(before) == SUBTASKS
    assert {one.busy_us + one.idle_us + one.backpressured_us + one.queued_us for one in before.values()} == {10_000_000}


def _trace(*events: dict[str, Any]) -> bytes:
    return json.dumps({"traceEvents": list(events)}).encode()


def _task(thread: int, at: int, took: int, cpu: int | None) -> dict[str, Any]:
    found = {"ph": "X", "name": "RunTask", "pid": 1, "tid": thread, "ts": at, "dur": took}
    return found if cpu is None else {**found, "tdur": cpu}


def _mark(thread: int, name: str, at: int) -> dict[str, Any]:
    return {"ph": "R", "cat": "blink.user_timing", "name": name, "pid": 1, "tid": thread, "ts": at}


def test_only_tasks_that_the_page_thread_runs_between_two_marks_count_as_cpu_time() -> None:
    page, worker = 7, 8
    trace = read_trace(
        _trace(
            {"ph": "M", "name": "thread_name", "pid": 1, "tid": page, "args": {"name": "CrRendererMain"}},
            _task(page, 10, 99_000, 98_000),
            _mark(page, "begin", 1_000),
            _task(page, 2_000, 80_000, 20_000),
            _task(page, 90_000, 5_000, None),
            _task(worker, 3_000, 400_000, 400_000),
            _mark(page, "end", 200_000),
            _task(page, 200_001, 70_000, 70_000),
        ),
        "begin",
    )
    assert trace.task_cpu_ms("begin", "end") == [20.0, 5.0]


def test_a_trace_without_the_page_thread_is_refused() -> None:
    thread = {"ph": "M", "name": "thread_name", "pid": 1, "tid": 8, "args": {"name": "DedicatedWorker thread"}}
    with pytest.raises(AssertionError, match="DedicatedWorker"):
        read_trace(_trace(thread, _mark(8, "begin", 1)), "begin")


def test_a_result_line_names_the_cause_of_the_longest_task() -> None:
    one = Measurement(
        "real", "overview: at rest", {"tasks": 1, "longest_ms": 61.0, "why": "layout 40"}, Aim("no task over 50 ms", False)
    )
    assert "longest_ms 61.0" in line(one)
    assert line(one).endswith("no task over 50 ms: not met   longest task: layout 40")


def test_all_parts_of_the_benchmark_are_measured_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert parse([]).parts == PARTS
    assert parse(["--only", "real", "--quick"]).parts == ("real",)
    with pytest.raises(SystemExit):
        parse(["--only", "reel"])
    assert "no part reel" in capsys.readouterr().err


def _round(longest_ms: float | None, cpu_ms: float, *, per_s: float = 10.0, wrong: str | None = None) -> list[Measurement]:
    values = {
        "tasks": 0 if longest_ms is None else 1, "longest_ms": longest_ms, "cpu_tasks": int(cpu_ms > 50),
        "cpu_longest_ms": cpu_ms, "messages_per_s": per_s, "slowest_answer_ms": None, "why": f"scripts {longest_ms}",
    }  # fmt: skip
    return [Measurement("real", "overview: at rest", values, wrong=wrong)]


@pytest.mark.parametrize(
    ("rounds", "wall", "cpu"),
    [
        ([(None, 20.0)], True, True),
        ([(61.0, 20.0)], False, True),
        ([(None, 20.0), (61.0, 20.0), (None, 20.0)], True, True),
        ([(70.0, 20.0), (61.0, 55.0), (None, 20.0)], False, True),
        ([(70.0, 60.0), (61.0, 55.0), (None, 20.0)], False, False),
        ([(None, 20.0), (61.0, 20.0)], False, True),
    ],
)
def test_a_target_is_met_if_most_rounds_meet_it(rounds: list[tuple[float | None, float]], wall: bool, cpu: bool) -> None:
    measured = [_round(*one) for one in rounds]
    for shared, met in ((False, wall), (True, cpu)):
        (found,) = combine_rounds(measured, shared=shared)
        assert found.aim is not None and found.aim.met is met
        assert found.values["rounds"] == len(rounds)
        assert found.values["rounds_over"] == sum(longest is not None for longest, _ in rounds)


def test_several_rounds_are_combined_into_worst_and_median_values() -> None:
    rounds = [_round(None, 20.0, per_s=9.0), _round(61.0, 30.0, per_s=10.0), _round(None, 25.0, per_s=8.0, wrong="console: no")]
    (found,) = combine_rounds(rounds, shared=False)
    assert (found.values["longest_ms"], found.values["cpu_longest_ms"], found.values["messages_per_s"]) == (61.0, 30.0, 9.0)
    assert found.values["why"] == "scripts 61.0" and found.wrong == "console: no"
    assert "drawn_after_ms" not in found.values
