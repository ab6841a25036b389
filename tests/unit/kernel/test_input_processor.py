"""The inputs of a subtask: idle inputs, ended inputs and invalid frames."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from weir.errors import ProtocolError
from weir.kernel.alignment import CheckpointMode, TakeSnapshot
from weir.kernel.input_processor import AdvanceWatermark, BecomeIdle, InputProcessor, InputsEnded, InputStart, SubtaskEffect
from weir.protocol.frames import Frame, FrameKind
from weir.protocol.ids import ChannelId, CheckpointId, Generation

A, B = ChannelId(0, 0, 0), ChannelId(0, 1, 0)


class Subtask:
    def __init__(self, inputs: Mapping[ChannelId, InputStart] | None = None, *, watermark_ms: int | None = None) -> None:
        self.protocol = InputProcessor(
            generation=Generation(1),
            inputs=inputs or {A: InputStart(), B: InputStart()},
            mode=CheckpointMode.EXACTLY_ONCE,
            last_checkpoint=CheckpointId(0),
            watermark_ms=watermark_ms,
        )

    def receive(self, kind: FrameKind, channel: ChannelId, argument: int = 0) -> list[SubtaskEffect]:
        return list(self.protocol.on_frame(Frame(kind, channel, Generation(1), 1, 0, argument), now_ns=0))


@pytest.mark.parametrize("watermark_ms", [None, 7])
def test_a_subtask_becomes_idle_when_its_last_active_input_ends(watermark_ms: int | None) -> None:
    subtask = Subtask()
    if watermark_ms is not None:
        subtask.receive(FrameKind.WATERMARK, A, watermark_ms)
    assert subtask.receive(FrameKind.IDLE, A) == []
    assert subtask.receive(FrameKind.END, B) == [BecomeIdle()]


def test_a_subtask_whose_last_active_input_ends_becomes_idle_before_its_snapshot() -> None:
    subtask = Subtask()
    subtask.receive(FrameKind.IDLE, A)
    assert subtask.receive(FrameKind.BARRIER, A, 1) == []
    assert subtask.receive(FrameKind.END, B) == [BecomeIdle(), TakeSnapshot(CheckpointId(1), 0)]


def test_an_idle_subtask_does_not_become_idle_again_when_an_idle_input_ends() -> None:
    subtask = Subtask()
    subtask.receive(FrameKind.IDLE, A)
    assert subtask.receive(FrameKind.IDLE, B) == [BecomeIdle()]
    assert subtask.receive(FrameKind.END, B) == []


def test_the_watermark_advances_to_the_watermark_of_the_other_input_when_one_input_ends() -> None:
    subtask = Subtask()
    subtask.receive(FrameKind.WATERMARK, A, 9)
    assert subtask.receive(FrameKind.END, B) == [AdvanceWatermark(9)]


def test_a_subtask_does_not_become_idle_when_all_its_inputs_have_ended() -> None:
    subtask = Subtask()
    subtask.receive(FrameKind.END, A)
    assert subtask.receive(FrameKind.END, B) == [InputsEnded(run_operators=True)]


def test_inputs_that_were_idle_at_the_snapshot_are_idle_after_the_restore() -> None:
    start = {A: InputStart(watermark_ms=5, idle=True), B: InputStart(watermark_ms=9)}
    subtask = Subtask(start)
    (snapshot,) = subtask.protocol.input_snapshots()
    assert snapshot.idle is not None and snapshot.idle.unpack().tolist() == [1, 0]
    assert subtask.receive(FrameKind.WATERMARK, B, 12) == [AdvanceWatermark(12)], "the watermark ignores the idle input"
    assert subtask.receive(FrameKind.WATERMARK, A, 13) == [], "the watermark waits for input A, which has become active"
    assert subtask.receive(FrameKind.WATERMARK, B, 20) == [AdvanceWatermark(13)]


def test_a_subtask_restored_as_idle_does_not_become_idle_again() -> None:
    subtask = Subtask({A: InputStart(idle=True), B: InputStart(idle=True)})
    assert subtask.receive(FrameKind.END, B) == []


def test_the_watermark_does_not_decrease_after_a_restore() -> None:
    """Before the snapshot, input B was idle while the watermark advanced to 100, and then input B became active again."""
    subtask = Subtask({A: InputStart(watermark_ms=100), B: InputStart(watermark_ms=50)}, watermark_ms=100)
    assert subtask.protocol.watermark_ms == 100
    assert subtask.receive(FrameKind.WATERMARK, B, 60) == []
    assert subtask.receive(FrameKind.WATERMARK, B, 200) == []
    assert subtask.receive(FrameKind.WATERMARK, A, 150) == [AdvanceWatermark(150)]
    assert subtask.protocol.watermark_ms == 150


def test_an_input_that_had_ended_at_the_snapshot_does_not_hold_back_the_watermark_after_the_restore() -> None:
    subtask = Subtask({A: InputStart(watermark_ms=10, ended=True), B: InputStart(watermark_ms=100)}, watermark_ms=100)
    assert subtask.receive(FrameKind.WATERMARK, B, 120) == [AdvanceWatermark(120)]
    (snapshot,) = subtask.protocol.input_snapshots()
    assert snapshot.ended is not None and snapshot.ended.unpack().tolist() == [1, 0], "input A is still ended"
    assert subtask.receive(FrameKind.END, A) == []
    assert subtask.receive(FrameKind.END, B) == [InputsEnded(run_operators=True)]


def test_a_subtask_whose_open_inputs_were_idle_is_idle_after_the_restore() -> None:
    subtask = Subtask({A: InputStart(ended=True), B: InputStart(idle=True)})
    assert subtask.receive(FrameKind.END, A) == [], "the subtask was already idle before the restore"


def test_a_restored_ended_input_takes_part_in_alignment_until_its_end_arrives_again() -> None:
    """If the sender takes its snapshot before it sends END again, its barrier precedes END."""
    subtask = Subtask({A: InputStart(ended=True), B: InputStart()})
    assert subtask.receive(FrameKind.BARRIER, B, 1) == []
    assert subtask.receive(FrameKind.BARRIER, A, 1) == [TakeSnapshot(CheckpointId(1), 0)]


def test_a_data_frame_without_a_batch_is_refused() -> None:
    with pytest.raises(ProtocolError, match="DATA frame without a batch"):
        Subtask().receive(FrameKind.DATA, A)
