"""Processes the input frames of one subtask: fencing, order, alignment, watermarks and the end of input.

Take frames only from channels for which ``is_blocked`` returns False, and pass each frame to ``on_frame``. Execute the effects
in the returned order. The processor uses neither operators nor sockets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from weir.errors import ProtocolError
from weir.kernel.alignment import Aligner, AlignmentEffect, CheckpointMode
from weir.kernel.watermarks import WatermarkTracker
from weir.protocol.channel_state import NO_WATERMARK, EdgeSnapshot, PackedInts
from weir.protocol.frames import Frame, FrameKind
from weir.protocol.ids import ChannelId, CheckpointId, Generation


@dataclass(frozen=True, slots=True)
class Deliver:
    """Pass the batch to the first operator."""

    frame: Frame


@dataclass(frozen=True, slots=True)
class AdvanceWatermark:
    watermark_ms: int


@dataclass(frozen=True, slots=True)
class BecomeIdle:
    """Every input that has not ended is idle, so send IDLE downstream."""


@dataclass(frozen=True, slots=True)
class InputsEnded:
    """The last input has ended. Call on_end_of_input if ``run_operators`` is True, then send END downstream."""

    run_operators: bool


SubtaskEffect: TypeAlias = Deliver | AlignmentEffect | AdvanceWatermark | BecomeIdle | InputsEnded


@dataclass(frozen=True, slots=True)
class InputStart:
    """The initial state of an input channel: the sequence number of its next row, the restored watermark, and whether
    the channel was idle or had ended. The sender of an ended channel sends END again.
    """

    sequence: int = 0
    watermark_ms: int | None = None
    idle: bool = False
    ended: bool = False
    feedback: bool = False


class InputProcessor:
    """Processes the inputs of a subtask that has at least one input.

    ``ended`` is True if on_end_of_input ran before the restored snapshot. ``watermark_ms`` is the watermark that the subtask had
    emitted before the restored snapshot.
    """

    def __init__(
        self,
        *,
        generation: Generation,
        inputs: Mapping[ChannelId, InputStart],
        mode: CheckpointMode,
        last_checkpoint: CheckpointId,
        ended: bool = False,
        watermark_ms: int | None = None,
    ) -> None:
        assert inputs
        self._generation = generation
        self._expected = {channel: start.sequence for channel, start in inputs.items()}
        self._channels: dict[int, list[ChannelId]] = {}
        """The channels of each edge, in the order of senders."""
        for channel in sorted(inputs):
            self._channels.setdefault(channel.edge, []).append(channel)
        self._aligner = Aligner(inputs, mode=mode, last=last_checkpoint)
        regular = {channel: start.watermark_ms for channel, start in inputs.items() if not start.feedback}
        self._watermarks = WatermarkTracker(
            regular,
            idle=[channel for channel in regular if inputs[channel].idle],
            ended=[channel for channel in regular if inputs[channel].ended],
            emitted_ms=watermark_ms,
        )
        self._end_of_input_ran = ended

    @property
    def aligner(self) -> Aligner:
        return self._aligner

    @property
    def watermark_ms(self) -> int | None:
        """The emitted watermark, for the snapshot. None means minus infinity."""
        return self._watermarks.emitted_ms

    def is_blocked(self, channel: ChannelId) -> bool:
        return self._aligner.is_blocked(channel)

    def on_frame(self, frame: Frame, *, now_ns: int) -> Sequence[SubtaskEffect]:
        """Raises ProtocolError for a missing, duplicate or reordered frame. A frame of an older generation has no effect."""
        if frame.generation != self._generation:
            if frame.generation > self._generation:
                raise ProtocolError(
                    f"{frame.channel}: frame of generation {frame.generation}, but this subtask runs generation "
                    f"{self._generation}"
                )
            return ()
        assert not self.is_blocked(frame.channel)
        if frame.sequence != self._expected[frame.channel]:
            raise ProtocolError(
                f"{frame.channel}: {frame.kind.name} frame with sequence number {frame.sequence}, expected "
                f"{self._expected[frame.channel]}"
            )
        if frame.batch is not None:
            if self._aligner.has_ended(frame.channel):
                raise ProtocolError(f"{frame.channel}: data after the end of input")
            self._expected[frame.channel] += frame.rows
            self._watermarks.on_active(frame.channel)
            return (Deliver(frame),)
        match frame.kind:
            case FrameKind.DATA:
                raise ProtocolError(f"{frame.channel}: DATA frame without a batch")
            case FrameKind.BARRIER:
                return self._aligner.on_barrier(frame.channel, CheckpointId(frame.argument), now_ns=now_ns)
            case FrameKind.WATERMARK:
                return self._advance(self._watermarks.on_watermark(frame.channel, frame.argument))
            case FrameKind.IDLE:
                advanced = self._advance(self._watermarks.on_idle(frame.channel))
                return (*advanced, BecomeIdle()) if self._watermarks.idle else advanced
            case FrameKind.END:
                return self._on_end(frame.channel, now_ns)
            case FrameKind.CREDIT:
                raise ProtocolError(f"{frame.channel}: received a CREDIT frame, which only the sender of a channel may receive")
            case _:
                assert_never(frame.kind)

    def on_aborted(self, checkpoint: CheckpointId) -> Sequence[SubtaskEffect]:
        return self._aligner.on_aborted(checkpoint)

    def input_snapshots(self) -> tuple[EdgeSnapshot, ...]:
        """Return the input channels' part of the snapshot. Call this method together with the operators' sync phase."""
        received_end = self._aligner.ended
        result = []
        for edge, channels in self._channels.items():
            states = [self._watermarks.state(channel) for channel in channels]
            watermarks_ms = [NO_WATERMARK if watermark_ms is None else watermark_ms for watermark_ms, _, _ in states]
            # A channel that was restored as ended counts as ended, even if its sender has not sent END again yet.
            ended = [int(state[2] or channel in received_end) for channel, state in zip(channels, states, strict=True)]
            idle = [int(state[1]) for state in states]
            result.append(
                EdgeSnapshot(
                    edge,
                    PackedInts.pack([self._expected[channel] for channel in channels]),
                    PackedInts.pack(watermarks_ms) if max(watermarks_ms) != NO_WATERMARK else None,
                    PackedInts.pack(idle) if any(idle) else None,
                    PackedInts.pack(ended) if any(ended) else None,
                )
            )
        return tuple(result)

    def _on_end(self, channel: ChannelId, now_ns: int) -> Sequence[SubtaskEffect]:
        was_idle = self._watermarks.idle
        advanced = self._advance(self._watermarks.on_end(channel))
        if self._watermarks.idle and not was_idle:
            # All remaining inputs are idle, so downstream subtasks must not wait for the watermark of this subtask.
            advanced = (*advanced, BecomeIdle())
        # If this end of input completes an alignment, InputsEnded precedes TakeSnapshot, because the output of
        # on_end_of_input belongs to the epoch before the barrier.
        aligned = self._aligner.on_end(channel, now_ns=now_ns)
        if len(self._aligner.ended) < len(self._expected):
            return (*advanced, *aligned)
        run_operators = not self._end_of_input_ran
        self._end_of_input_ran = True
        return (*advanced, InputsEnded(run_operators), *aligned)

    @staticmethod
    def _advance(watermark_ms: int | None) -> tuple[SubtaskEffect, ...]:
        return () if watermark_ms is None else (AdvanceWatermark(watermark_ms),)
