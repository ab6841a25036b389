"""A subtask with input channels, which reads frames in turn and executes the effects that its protocol returns."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import assert_never, cast

from weir.kernel.alignment import AlignmentAborted, TakeSnapshot
from weir.kernel.input_processor import AdvanceWatermark, BecomeIdle, Deliver, InputProcessor, InputsEnded, SubtaskEffect
from weir.operators.base import BUFFER_ROWS_ENOUGH, Batch
from weir.protocol.frames import Frame, FrameKind
from weir.protocol.ids import CheckpointId, SubtaskId
from weir.subtask.channels import WINDOW_BYTES, InputChannel
from weir.subtask.subtask import ANY_TIME, NEEDS_ROOM, NONE, SubtaskParts, SubtaskRuntime, Work


class ChannelSubtask(SubtaskRuntime):
    """A subtask with input channels. The channels are served round robin.

    ``join`` concatenates batches, up to ``joined_rows_max`` rows. If ``joined_rows_max`` is 0, batches are never concatenated.

    A small batch waits until every channel that has delivered a batch lately delivers its next batch or its barrier, but at most
    ``buffer_ns``. The subtask then processes one joined batch instead of one batch per channel. Batches that take much of the credit
    of their channel do not wait, because a sender without credit cannot finish its step, and takes its snapshot only after the step.
    """

    def __init__(
        self,
        subtask: SubtaskId,
        parts: SubtaskParts,
        *,
        protocol: InputProcessor,
        inputs: Sequence[InputChannel],
        join: Callable[[Sequence[Batch]], Batch],
        joined_rows_max: int,
        buffer_ns: int = 0,
    ) -> None:
        super().__init__(subtask, parts)
        self.inputs = tuple(inputs)
        self._positions = {channel.channel: position for position, channel in enumerate(inputs)}
        self._protocol = protocol
        self._join = join
        self._joined_rows_max = joined_rows_max
        self._arrivals = inputs[0].arrivals
        self._buffer_ns = buffer_ns
        self._waiting_since_ns: int | None = None
        """The time since which batches wait for the batches of other channels, or None."""
        self._reading = False
        """Whether the waiting batches are due. Stays True until no batch is left."""
        self._seen_total = 0
        """The value of ``Arrivals.total`` when the subtask found that the waiting batches are not due yet."""
        self._next_input = 0
        self._effects: deque[SubtaskEffect] = deque()

    @property
    def aligning(self) -> bool:
        return self._protocol.aligner.current is not None

    @property
    def is_waiting(self) -> bool:
        return self._waiting_since_ns is not None and not self._reading

    @property
    def watermark_ms(self) -> int | None:
        return self._protocol.watermark_ms

    def work(self, now_ns: int) -> Work:
        if self._step is not None:
            return self._unfinished_step(now_ns)
        if self._effects:
            # TakeSnapshot and AlignmentAborted send only control events.
            # If one effect of a frame is TakeSnapshot or AlignmentAborted, all later effects of the frame are also of these two
            # kinds.
            return ANY_TIME if isinstance(self._effects[0], TakeSnapshot | AlignmentAborted) else NEEDS_ROOM
        if not self._arrivals.frames:
            self._waiting_since_ns, self._reading = None, False
            return NONE
        if self._waiting_since_ns is not None and not self._reading and self._seen_total == self._arrivals.total:
            self._reading = now_ns >= self._waiting_since_ns + self._buffer_ns
            return NEEDS_ROOM if self._reading else NONE
        return self._work_of_channels(now_ns)

    def _work_of_channels(self, now_ns: int) -> Work:
        arrivals = self._arrivals
        has_events = arrivals.control_events > 0 or self.aligning
        work = self._work_beside_events() if has_events else NEEDS_ROOM
        if work is ANY_TIME:
            return work
        if work is NONE:
            self._waiting_since_ns, self._reading = None, False
        elif not self._reading:
            if self._waiting_since_ns is None:
                self._waiting_since_ns = now_ns
            self._reading = (
                arrivals.is_credit_low
                or arrivals.rows >= BUFFER_ROWS_ENOUGH
                or now_ns >= self._waiting_since_ns + self._buffer_ns
                or self._all_have_delivered(now_ns)
            )
            self._seen_total = arrivals.total
        return work if self._reading else NONE

    def _work_beside_events(self) -> Work:
        """Return the work while a control event is waiting or the subtask aligns."""
        work = NONE
        for channel in self.inputs:
            head = channel.head
            if head is None or self._protocol.is_blocked(channel.channel):
                continue
            if head.batch is None:
                return ANY_TIME
            work = NEEDS_ROOM
        return work

    def _all_have_delivered(self, now_ns: int) -> bool:
        """Return whether each channel from which a batch was read lately contains a frame, or has delivered its barrier."""
        lately_ns = now_ns - 2 * self._buffer_ns
        for channel in self.inputs:
            if not channel.frames and channel.read_ns is not None and channel.read_ns > lately_ns:
                if not self._protocol.is_blocked(channel.channel):
                    return False
        return True

    def wake_at_ns(self) -> int | None:
        if self._waiting_since_ns is not None and not self._reading:
            return self._waiting_since_ns + self._buffer_ns
        return super().wake_at_ns()

    def on_aborted(self, checkpoint: CheckpointId) -> None:
        self._protocol.on_aborted(checkpoint)

    def _start_work(self, now_ns: int) -> None:
        for channel in self._channels_to_read():
            frame = channel.pop(now_ns)
            self._effects.extend(self._protocol.on_frame(frame, now_ns=now_ns))
            if not (self._effects and isinstance(self._effects[0], Deliver)):
                channel.release(frame)
            if self._effects:
                break
        while self._effects and self._step is None:
            self._execute(self._effects.popleft(), now_ns)

    def _channels_to_read(self) -> Iterator[InputChannel]:
        """Yield a channel for each frame to read: all control events, because control events need no room, or else one batch. Channels
        with data are served round robin. The caller reads the frame before it continues, and stops at the first frame with effects.

        A control event without effects, such as the barrier of one of many channels, takes no turn by itself. The batches behind it
        wait for the next turn, because only the loop knows whether the outputs have room.
        """
        ready: int | None = None
        events = False
        has_events = self._arrivals.control_events > 0
        for offset in range(len(self.inputs)):
            position = (self._next_input + offset) % len(self.inputs)
            channel = self.inputs[position]
            while (head := channel.head) is not None and not self._protocol.is_blocked(channel.channel):
                if head.batch is None:
                    events = True
                    yield channel
                    continue
                if ready is None:
                    ready = position
                break
            if ready is not None and not has_events:
                break
        if ready is not None and not events:
            self._next_input = ready + 1
            yield self.inputs[ready]

    def _execute(self, effect: SubtaskEffect, now_ns: int) -> None:
        match effect:
            case Deliver(frame):
                self._deliver(frame, now_ns)
            case TakeSnapshot(checkpoint, alignment_ns):
                self._take_snapshot(checkpoint, alignment_ns, self._protocol.input_snapshots(), ())
            case AlignmentAborted():
                pass
            case AdvanceWatermark(watermark_ms):
                self._start_step(
                    self.chain.on_watermark(watermark_ms),
                    lambda: self.outputs.broadcast(FrameKind.WATERMARK, watermark_ms),
                )
            case BecomeIdle():
                self.outputs.broadcast(FrameKind.IDLE)
            case InputsEnded(run_operators):
                if run_operators:
                    self._start_step(self.chain.on_end_of_input(), self._end)
                else:
                    self._end()
            case _:
                assert_never(effect)

    def _deliver(self, first: Frame, now_ns: int) -> None:
        position = self._positions[first.channel]
        frames = [(self.inputs[position], first), *self._joinable_batches(position, first, now_ns)]
        batch = self._join([_batch_of(frame) for _, frame in frames])
        self.records_in += batch.num_rows
        self.bytes_in += sum(frame.bytes_held for _, frame in frames)

        def release() -> None:
            for channel, frame in frames:
                channel.release(frame)

        self._start_step(self.chain.process(batch, self.inputs[position].input_index), release)

    def _joinable_batches(self, position: int, first: Frame, now_ns: int) -> list[tuple[InputChannel, Frame]]:
        """Return waiting batches that fit into one batch with ``first``. If ``first`` fills more than half a batch, return no
        batches.

        Joining saves time, because the fixed cost of a batch equals the cost of thousands of records. Batches before a barrier
        are small, because partitioners flush before the barrier. A deterministic replay would have to log which batches were
        joined, in addition to the order of channels.
        """
        rows, held = first.rows, first.bytes_held
        frames: list[tuple[InputChannel, Frame]] = []
        if 2 * rows > self._joined_rows_max:
            return frames
        input_index = self.inputs[position].input_index
        for channel in (*self.inputs[position:], *self.inputs[:position]):
            if not channel.frames or channel.input_index != input_index or self._protocol.is_blocked(channel.channel):
                continue
            while (head := channel.head) is not None and head.batch is not None:
                rows += head.rows
                held += head.bytes_held
                if rows > self._joined_rows_max or held > WINDOW_BYTES:
                    return frames
                frame = channel.pop(now_ns)
                if self._protocol.on_frame(frame, now_ns=now_ns):
                    frames.append((channel, frame))
                else:
                    channel.release(frame)
        return frames


def _batch_of(frame: Frame) -> Batch:
    return cast("Batch", frame.batch)
