"""A subtask with input channels: takes frames in turn and does what its protocol says of each."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import assert_never, cast

from weir.kernel.alignment import AlignmentGivenUp, TakeSnapshot
from weir.kernel.subtask import AdvanceWatermark, BecomeIdle, Deliver, InputsEnded, SubtaskEffect, SubtaskProtocol
from weir.operators.base import Batch
from weir.protocol.frames import Frame, FrameKind
from weir.protocol.ids import CheckpointId, SubtaskId
from weir.subtask.channels import WINDOW_BYTES, InputChannel
from weir.subtask.subtask import SubtaskParts, SubtaskRuntime, Work


class InnerSubtask(SubtaskRuntime):
    """With input channels, served in turn. ``join`` makes one batch of several, of at most ``joined_rows_max`` rows (0: never)."""

    def __init__(
        self,
        subtask: SubtaskId,
        parts: SubtaskParts,
        *,
        protocol: SubtaskProtocol,
        inputs: Sequence[InputChannel],
        join: Callable[[Sequence[Batch]], Batch],
        joined_rows_max: int,
    ) -> None:
        super().__init__(subtask, parts)
        self.inputs = tuple(inputs)
        self._protocol = protocol
        self._join = join
        self._joined_rows_max = joined_rows_max
        self._turn = 0
        self._effects: deque[SubtaskEffect] = deque()

    @property
    def aligning(self) -> bool:
        return self._protocol.aligner.current is not None

    def work(self, now_ns: int) -> Work:
        if self._step is not None:
            return self._unfinished_step(now_ns)
        if self._effects:
            # Nothing but these follows them in what one frame brings about, and they send marks only.
            return Work.ANY_TIME if isinstance(self._effects[0], TakeSnapshot | AlignmentGivenUp) else Work.NEEDS_ROOM
        found = Work.NONE
        for channel in self.inputs:
            head = channel.head
            if head is None or self._protocol.is_blocked(channel.channel):
                continue
            if head.kind is not FrameKind.DATA:
                return Work.ANY_TIME
            found = Work.NEEDS_ROOM
        return found

    def on_aborted(self, checkpoint: CheckpointId) -> None:
        self._protocol.on_aborted(checkpoint)

    def _begin(self, now_ns: int) -> None:
        if not self._effects:
            channel = self._next_channel()
            if channel is None:
                return
            frame = channel.pop()
            self._effects.extend(self._protocol.on_frame(frame, now_ns=now_ns))
            if not (self._effects and isinstance(self._effects[0], Deliver)):
                channel.release(frame)
        while self._effects and self._step is None:
            self._carry_out(self._effects.popleft(), now_ns)

    def _next_channel(self) -> InputChannel | None:
        """Marks first where there is one at a head (no room is needed for them), else data, round robin."""
        ready = None
        for offset in range(len(self.inputs)):
            position = (self._turn + offset) % len(self.inputs)
            channel = self.inputs[position]
            head = channel.head
            if head is None or self._protocol.is_blocked(channel.channel):
                continue
            if head.kind is not FrameKind.DATA:
                return channel
            if ready is None:
                ready = position
        if ready is None:
            return None
        self._turn = ready + 1
        return self.inputs[ready]

    def _carry_out(self, effect: SubtaskEffect, now_ns: int) -> None:
        match effect:
            case Deliver(frame):
                self._deliver(frame, now_ns)
            case TakeSnapshot(checkpoint, alignment_ns):
                self._take_snapshot(checkpoint, alignment_ns, self._protocol.input_snapshots(), ())
            case AlignmentGivenUp():
                pass
            case AdvanceWatermark(watermark_ms):
                self._run(
                    self.chain.on_watermark(watermark_ms),
                    lambda: self.outputs.broadcast(FrameKind.WATERMARK, watermark_ms),
                )
            case BecomeIdle():
                self.outputs.broadcast(FrameKind.IDLE)
            case InputsEnded(run_operators):
                if run_operators:
                    self._run(self.chain.on_end_of_input(), self._end)
                else:
                    self._end()
            case _:
                assert_never(effect)

    def _deliver(self, first: Frame, now_ns: int) -> None:
        position = next(number for number, channel in enumerate(self.inputs) if channel.channel == first.channel)
        taken = [(self.inputs[position], first), *self._small_ones(position, first, now_ns)]
        batch = _batch_of(first) if len(taken) == 1 else self._join([_batch_of(frame) for _, frame in taken])
        self.records_in += batch.num_rows
        self.bytes_in += sum(frame.bytes_held for _, frame in taken)

        def release() -> None:
            for channel, frame in taken:
                channel.release(frame)

        self._run(self.chain.process(batch, self.inputs[position].input_index), release)

    def _small_ones(self, position: int, first: Frame, now_ns: int) -> list[tuple[InputChannel, Frame]]:
        """Batches that wait already and fit into one with ``first``, where that is less than half a full one.

        A batch costs as much as thousands of its records. Barriers make small ones: what partitioners hold goes out before them.
        Which are joined belongs, like the order of channels, to what a replay would have to be told.
        """
        rows, held = _batch_of(first).num_rows, first.bytes_held
        taken: list[tuple[InputChannel, Frame]] = []
        if 2 * rows > self._joined_rows_max:
            return taken
        for channel in (*self.inputs[position:], *self.inputs[:position]):
            if channel.input_index != self.inputs[position].input_index or self._protocol.is_blocked(channel.channel):
                continue
            while (head := channel.head) is not None and head.kind is FrameKind.DATA:
                rows += _batch_of(head).num_rows
                held += head.bytes_held
                if rows > self._joined_rows_max or held > WINDOW_BYTES:
                    return taken
                frame = channel.pop()
                if self._protocol.on_frame(frame, now_ns=now_ns):
                    taken.append((channel, frame))
                else:
                    channel.release(frame)
        return taken


def _batch_of(frame: Frame) -> Batch:
    return cast("Batch", frame.batch)
