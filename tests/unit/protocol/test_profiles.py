from __future__ import annotations

from weir.protocol.profiles import ProfileFrame, SlotProfile, StackCount, ThreadProfile, collapsed_stacks


def test_collapsed_stacks_have_one_line_for_each_stack_with_the_most_frequent_stack_first() -> None:
    frames = (
        ProfileFrame("run", "weir/subtask/process.py", 9),
        ProfileFrame("a;b", "flights.py", 3),
        ProfileFrame("[outer]", "", 0),
    )
    loop = ThreadProfile("weir-loop", 70, (StackCount((0, 1), 4), StackCount((2, 0), 1)))
    sinks = ThreadProfile("weir-sinks", None, (StackCount((0,), 90),))
    profile = SlotProfile(1_000, 10, 100, 0, frames, (loop, sinks))
    assert list(collapsed_stacks(profile)) == [
        "weir-sinks;run (weir/subtask/process.py:9) 90",
        "weir-loop;run (weir/subtask/process.py:9);a,b (flights.py:3) 4",
        "weir-loop;[outer];run (weir/subtask/process.py:9) 1",
    ]
