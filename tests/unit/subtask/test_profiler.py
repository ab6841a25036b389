"""The profiler of a slot: which stacks it counts, and the limits of its memory."""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import pytest

from weir.protocol.ids import CommandId
from weir.protocol.messages import ProfileAnswer, TakeProfile, decode_from_slot, encode
from weir.protocol.profiles import ProfileFrame, SlotProfile, collapsed_stacks
from weir.subtask.profiler import LEFT_OUT, SlotProfiler, StackCounts, short_path

WAIT_S = 60.0


def frames_at_depth(depth: int) -> FrameType:
    """Return the innermost frame of ``depth`` nested calls of this function."""
    return sys._getframe() if depth == 1 else frames_at_depth(depth - 1)


def shape(counts: StackCounts) -> list[tuple[str, int, int]]:
    """Return the thread, the number of frames and the number of samples of each stack."""
    _, index_of = counts.frames([])
    return [(thread.name, len(stack.frames), stack.samples) for thread in counts.threads(index_of, {}) for stack in thread.stacks]


def test_equal_stacks_of_a_thread_are_counted_together() -> None:
    counts = StackCounts(depth_max=3)
    for samples in (1, 4):
        counts.add("weir-loop", frames_at_depth(3), samples)
    counts.add("weir-sinks", frames_at_depth(2), 1)
    assert shape(counts) == [("weir-loop", 3, 5), ("weir-sinks", 3, 1)]


def test_samples_of_further_stacks_are_dropped_at_the_limit_and_known_stacks_are_still_counted() -> None:
    counts = StackCounts(stacks_max=1, depth_max=3)
    known = frames_at_depth(2)
    for frame, samples in ((known, 1), (frames_at_depth(1), 3), (known, 1)):
        counts.add("weir-loop", frame, samples)
    assert counts.dropped == 3
    assert shape(counts) == [("weir-loop", 3, 2)]


def test_samples_with_further_frames_are_dropped_at_the_limit() -> None:
    counts = StackCounts(lines_max=1, depth_max=2)
    counts.add("weir-loop", frames_at_depth(1), 7)
    assert counts.dropped == 7
    assert shape(counts) == []


def test_the_outermost_frames_of_a_deep_stack_are_left_out() -> None:
    counts = StackCounts(depth_max=4)
    counts.add("weir-loop", frames_at_depth(50), 1)
    frames, index_of = counts.frames([])
    [thread] = counts.threads(index_of, {})
    names = [frames[index] for index in thread.stacks[0].frames]
    assert names[0] == LEFT_OUT
    assert [frame.function for frame in names[1:]] == ["frames_at_depth"] * 3


def test_a_frame_has_the_qualified_name_and_the_current_line_of_its_function() -> None:
    class Parser:
        def parse(self) -> FrameType:
            return sys._getframe()

    counts = StackCounts(depth_max=2)
    counts.add("weir-loop", Parser().parse(), 1)
    frames, _ = counts.frames([])
    line = Parser.parse.__code__.co_firstlineno + 1
    expected = "test_a_frame_has_the_qualified_name_and_the_current_line_of_its_function.<locals>.Parser.parse"
    assert ProfileFrame(expected, "test_profiler.py", line) in frames


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/env/lib/site-packages/polars/frame.py", "polars/frame.py"),
        ("/env/lib/json/decoder.py", "json/decoder.py"),
        ("/data/runs/7/code/flights.py", "flights.py"),
        ("/tmp/ipykernel_4711/1234567.py", "notebook cell"),
        ("<frozen runpy>", "<frozen runpy>"),
    ],
)
def test_paths_are_relative_to_the_directory_from_which_they_were_imported(path: str, expected: str) -> None:
    assert short_path(path, ["/env/lib", "/env/lib/site-packages/", ""]) == expected


@contextmanager
def thread_in(function: Callable[[threading.Event], object]) -> Iterator[None]:
    stop = threading.Event()
    thread = threading.Thread(target=function, args=(stop,), name="burning", daemon=True)
    thread.start()
    yield
    stop.set()
    thread.join()


def burn(stop: threading.Event) -> None:
    secret = "a value that no profile contains"
    while not stop.is_set():
        sum(range(500))
    del secret


def test_a_profile_contains_the_stacks_of_other_threads_but_no_values() -> None:
    answers: queue.Queue[ProfileAnswer] = queue.Queue()
    with thread_in(burn):
        SlotProfiler(answers.put).start(TakeProfile(CommandId(7), 1))
        answer = answers.get(timeout=WAIT_S)
    assert decode_from_slot(encode(answer)) == answer
    assert (answer.command, answer.problem) == (7, "")
    profile = answer.profile
    assert profile is not None
    assert (profile.samples, profile.interval_ms, profile.dropped_samples) == (100, 10, 0)
    assert profile.duration_ms >= 990
    threads = {thread.name: thread for thread in profile.threads}
    assert sum(stack.samples for stack in threads["burning"].stacks) == 100
    assert threads["burning"].cpu_ms != 0
    assert "weir-profiler" not in threads
    text = "\n".join(collapsed_stacks(profile))
    assert "burn (test_profiler.py:" in text
    assert "a value that no profile contains" not in text


def test_a_new_request_replaces_a_running_profile() -> None:
    answers: queue.Queue[ProfileAnswer] = queue.Queue()
    profiler = SlotProfiler(answers.put)
    profiler.start(TakeProfile(CommandId(1), 30))
    profiler.start(TakeProfile(CommandId(2), 1))
    assert answers.get(timeout=WAIT_S).command == 2
    assert answers.empty()


def test_a_closed_profiler_sends_no_answer_and_leaves_no_thread() -> None:
    answers: queue.Queue[ProfileAnswer] = queue.Queue()
    profiler = SlotProfiler(answers.put)
    profiler.start(TakeProfile(CommandId(1), 30))
    profiler.close()
    assert "weir-profiler" not in {thread.name for thread in threading.enumerate()}
    assert answers.empty()


def test_an_error_of_the_profiler_is_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: queue.Queue[ProfileAnswer] = queue.Queue()
    profiler = SlotProfiler(answers.put)

    def fail(duration_ns: int, stop: threading.Event) -> SlotProfile:
        raise OSError("no clock")

    monkeypatch.setattr(profiler, "_sample", fail)
    profiler.start(TakeProfile(CommandId(1), 1))
    answer = answers.get(timeout=WAIT_S)
    assert (answer.profile, answer.problem) == (None, "The profiler failed: OSError: no clock")
