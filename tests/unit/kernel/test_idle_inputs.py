"""What a subtask says downstream of inputs that have nothing to say."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from weir.kernel.alignment import CheckpointMode, TakeSnapshot
from weir.kernel.subtask import AdvanceWatermark, BecomeIdle, InputsEnded, InputStart, SubtaskEffect, SubtaskProtocol
from weir.protocol.frames import Frame, FrameKind
from weir.protocol.ids import ChannelId, CheckpointId, Generation

A, B = ChannelId(0, 0, 0), ChannelId(0, 1, 0)


class Subtask:
    def __init__(self, inputs: Mapping[ChannelId, InputStart] | None = None) -> None:
        self.protocol = SubtaskProtocol(
            generation=Generation(1),
            inputs=inputs or {A: InputStart(), B: InputStart()},
            mode=CheckpointMode.EXACTLY_ONCE,
            last_checkpoint=CheckpointId(0),
        )

    def told(self, kind: FrameKind, channel: ChannelId, argument: int = 0) -> list[SubtaskEffect]:
        return list(self.protocol.on_frame(Frame(kind, channel, Generation(1), 1, 0, argument), now_ns=0))


@pytest.mark.parametrize("mark_ms", [None, 7])
def test_the_end_of_the_last_active_input_leaves_a_subtask_idle_and_it_says_so(mark_ms: int | None) -> None:
    subtask = Subtask()
    if mark_ms is not None:
        subtask.told(FrameKind.WATERMARK, A, mark_ms)
    assert subtask.told(FrameKind.IDLE, A) == []
    assert subtask.told(FrameKind.END, B) == [BecomeIdle()]


def test_it_says_so_before_the_snapshot_that_the_end_completes() -> None:
    subtask = Subtask()
    subtask.told(FrameKind.IDLE, A)
    assert subtask.told(FrameKind.BARRIER, A, 1) == []
    assert subtask.told(FrameKind.END, B) == [BecomeIdle(), TakeSnapshot(CheckpointId(1), 0)]


def test_who_is_idle_already_does_not_say_so_again_when_an_idle_input_ends() -> None:
    subtask = Subtask()
    subtask.told(FrameKind.IDLE, A)
    assert subtask.told(FrameKind.IDLE, B) == [BecomeIdle()]
    assert subtask.told(FrameKind.END, B) == []


def test_an_end_that_leaves_an_active_input_advances_to_its_watermark() -> None:
    subtask = Subtask()
    subtask.told(FrameKind.WATERMARK, A, 9)
    assert subtask.told(FrameKind.END, B) == [AdvanceWatermark(9)]


def test_who_has_ended_is_not_idle() -> None:
    subtask = Subtask()
    subtask.told(FrameKind.END, A)
    assert subtask.told(FrameKind.END, B) == [InputsEnded(run_operators=True)]


def test_inputs_that_were_idle_at_the_snapshot_are_idle_after_the_restore() -> None:
    start = {A: InputStart(watermark_ms=5, idle=True), B: InputStart(watermark_ms=9)}
    subtask = Subtask(start)
    assert [end.idle for end in subtask.protocol.input_snapshots()] == [True, False]
    assert subtask.told(FrameKind.WATERMARK, B, 12) == [AdvanceWatermark(12)], "the idle one does not hold it back"
    assert subtask.told(FrameKind.WATERMARK, A, 13) == [], "and counts again"
    assert subtask.told(FrameKind.WATERMARK, B, 20) == [AdvanceWatermark(13)]


def test_who_was_idle_as_a_whole_does_not_say_so_again() -> None:
    subtask = Subtask({A: InputStart(idle=True), B: InputStart(idle=True)})
    assert subtask.told(FrameKind.END, B) == []
