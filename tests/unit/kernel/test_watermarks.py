"""The watermark of a subtask."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from weir.kernel.watermarks import WatermarkTracker
from weir.protocol.ids import ChannelId

A, B = ChannelId(0, 0, 0), ChannelId(0, 1, 0)


def test_the_watermark_is_the_minimum_over_all_inputs() -> None:
    tracker = WatermarkTracker({A: None, B: None})
    assert tracker.on_watermark(A, 10) is None
    assert tracker.on_watermark(B, 7) == 7
    assert tracker.on_watermark(B, 20) == 10
    assert tracker.on_watermark(A, 5) is None, "the watermark does not decrease"


def test_the_watermark_ignores_idle_and_ended_inputs() -> None:
    tracker = WatermarkTracker({A: 5, B: None})
    assert tracker.on_idle(B) == 5
    assert not tracker.idle
    tracker.on_idle(A)
    assert tracker.idle
    tracker.on_active(A)
    assert not tracker.idle
    assert tracker.on_end(B) is None
    assert tracker.on_watermark(A, 9) == 9


@given(st.lists(st.tuples(st.sampled_from("wia"), st.booleans(), st.integers(0, 50)), max_size=60))
def test_a_watermark_never_decreases(steps: list[tuple[str, bool, int]]) -> None:
    tracker = WatermarkTracker({A: None, B: None})
    emitted: list[int] = []
    for kind, first, value in steps:
        channel = A if first else B
        if kind == "w":
            advanced = tracker.on_watermark(channel, value)
        elif kind == "i":
            advanced = tracker.on_idle(channel)
        else:
            tracker.on_active(channel)
            advanced = None
        if advanced is not None:
            emitted.append(advanced)
    assert emitted == sorted(set(emitted))
