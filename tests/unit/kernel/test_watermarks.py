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


def restored(tracker: WatermarkTracker) -> WatermarkTracker:
    """Return the tracker after a restore from its snapshot."""
    ends = {channel: tracker.state(channel) for channel in (A, B)}
    return WatermarkTracker(
        {channel: watermark_ms for channel, (watermark_ms, _, _) in ends.items()},
        idle=[channel for channel, (_, idle, _) in ends.items() if idle],
        ended=[channel for channel, (_, _, ended) in ends.items() if ended],
        emitted_ms=tracker.emitted_ms,
    )


def test_a_restored_watermark_does_not_decrease_when_an_idle_input_becomes_active() -> None:
    tracker = WatermarkTracker({A: None, B: None})
    tracker.on_watermark(B, 50)
    tracker.on_idle(B)
    assert tracker.on_watermark(A, 100) == 100
    tracker.on_active(B)
    tracker = restored(tracker)
    assert tracker.on_watermark(B, 60) is None
    assert tracker.on_watermark(B, 200) is None, "the minimum is still 100, which the subtask has already emitted"
    assert tracker.on_watermark(A, 150) == 150


def test_a_restored_watermark_ignores_an_input_that_had_ended() -> None:
    tracker = WatermarkTracker({A: None, B: None})
    tracker.on_watermark(A, 10)
    tracker.on_watermark(B, 100)
    assert tracker.on_end(A) == 100
    tracker = restored(tracker)
    assert tracker.on_watermark(B, 120) == 120, "input A had ended before the restore, so it must not hold the watermark back"
    assert tracker.on_end(A) is None


def test_a_tracker_without_an_emitted_watermark_starts_at_the_minimum_of_its_inputs() -> None:
    tracker = WatermarkTracker({A: 5, B: 7}, emitted_ms=None)
    assert tracker.emitted_ms == 5, "snapshots of older versions do not contain the emitted watermark"
    assert tracker.on_watermark(A, 5) is None


@given(st.lists(st.tuples(st.sampled_from("wiaer"), st.booleans(), st.integers(0, 50)), max_size=60))
def test_a_watermark_never_decreases(steps: list[tuple[str, bool, int]]) -> None:
    """Each step is a watermark, an input that becomes idle or active, the end of an input, or a restore."""
    tracker = WatermarkTracker({A: None, B: None})
    uninterrupted = WatermarkTracker({A: None, B: None})
    emitted: list[int] = []
    for kind, first, value in steps:
        channel = A if first else B
        if uninterrupted.state(channel)[2]:
            continue
        advanced: list[int | None] = []
        for one in (tracker, uninterrupted):
            match kind:
                case "w":
                    advanced.append(one.on_watermark(channel, value))
                case "i":
                    advanced.append(one.on_idle(channel))
                case "e":
                    advanced.append(one.on_end(channel))
                case "a":
                    one.on_active(channel)
        if kind == "r":
            tracker = restored(tracker)
        emitted += [watermark_ms for watermark_ms in advanced[:1] if watermark_ms is not None]
        assert tracker.idle == uninterrupted.idle
    assert emitted == sorted(set(emitted))
