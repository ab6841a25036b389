"""One subtask in the loop: takes frames, drives the kernel and the operators, one resumable step at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum
from typing import assert_never, cast

import pyarrow as pa

from weir.errors import InputError, ProtocolError
from weir.kernel.alignment import AlignmentGivenUp, TakeSnapshot
from weir.kernel.subtask import AdvanceWatermark, BecomeIdle, Deliver, InputsEnded, SubtaskEffect, SubtaskProtocol
from weir.operators.base import Batch, Operator, SourceOperator, Step
from weir.protocol.frames import Frame, FrameKind
from weir.protocol.ids import CheckpointId, OperatorUid, SubtaskId
from weir.protocol.snapshots import ChannelSnapshot, OperatorSnapshot, Split
from weir.subtask.accounting import TimeAccount
from weir.subtask.chain import OperatorChain
from weir.subtask.channels import WINDOW_BYTES, InputChannel
from weir.subtask.checkpointing import LocalCheckpoint
from weir.subtask.outputs import Outputs
from weir.subtask.ports import SlotPorts

LOOK_AHEAD_NS_MAX = 5_000_000
"""A pull that took longer makes no second batch, unless the first has filled the outputs."""


class Work(Enum):
    """What a subtask has to do; the loop sees to it that there is room."""

    NONE = "none"
    NEEDS_ROOM = "needs room"
    """A step that may send batches."""
    ANY_TIME = "any time"
    """Marks only: they take no credit."""


class SubtaskRuntime(ABC):
    """Common to subtasks with inputs and with a source. ``step`` raises what fails the subtask."""

    def __init__(
        self,
        subtask: SubtaskId,
        *,
        operators: Sequence[Operator],
        outputs: Outputs,
        ports: SlotPorts,
        on_ended: Callable[[SubtaskId], None],
        on_checkpoint: Callable[[LocalCheckpoint], None],
    ) -> None:
        self.subtask = subtask
        self.chain = OperatorChain(operators)
        self.outputs = outputs
        self.account = TimeAccount(ports.monotonic_ns())
        self.ended = False
        self.records_in = 0
        self.bytes_in = 0
        self._ports = ports
        self._step: Step | None = None
        self._ahead: Batch | None = None
        """Made by the step, and not yet sent."""
        self._after_step: Callable[[], None] | None = None
        self._waiting_until_ns = 0
        self._on_ended = on_ended
        self._on_checkpoint = on_checkpoint

    @property
    def aligning(self) -> bool:
        """Some inputs have delivered a barrier and others have not."""
        return False

    @abstractmethod
    def work(self, now_ns: int) -> Work: ...

    @abstractmethod
    def _begin(self, now_ns: int) -> None:
        """Take up the next piece of work (``work`` said there is one and no step is unfinished)."""

    def step(self, now_ns: int) -> None:
        if self._step is None:
            self._begin(now_ns)
        if self._step is not None:
            self._pull(now_ns)

    def wake_at_ns(self) -> int | None:
        """When to look again although nothing arrives; None: no need. Without room there is none: room comes by an arrival."""
        waits = self._step is not None and self._waiting_until_ns and self.outputs.has_room()
        return self._waiting_until_ns if waits else None

    def on_aborted(self, checkpoint: CheckpointId) -> None:
        """The coordinator has aborted the checkpoint."""

    def _run(self, step: Step, after: Callable[[], None]) -> None:
        self._step = step
        self._after_step = after

    def _pull(self, now_ns: int) -> None:
        """One batch goes out. Whether it was the last is known only by asking for the next, which is then made, and kept.

        So a step whose last batch fills the outputs is over with it: what it consumed is given back, and a trigger need not
        wait behind it for room. With room left there is no hurry, and a slow function is not asked twice in one turn.
        """
        assert self._step is not None
        out, self._ahead = self._ahead, None
        sent = out is not None
        if out is not None:
            self.outputs.add(out, now_ns)
        for out in self._step:
            if out is None:
                # Work goes on beside the loop; look again in a millisecond.
                self._waiting_until_ns = now_ns + 1_000_000
                return
            self._waiting_until_ns = 0
            if sent or not out.num_rows:
                self._ahead = out if out.num_rows else None
                return
            self.outputs.add(out, now_ns)
            sent = True
            if self.outputs.has_room() and self._ports.monotonic_ns() - now_ns > LOOK_AHEAD_NS_MAX:
                return
        self._step = None
        self._waiting_until_ns = 0
        after, self._after_step = self._after_step, None
        if after is not None:
            after()

    def _unfinished_step(self, now_ns: int) -> Work:
        return Work.NONE if self._waiting_until_ns > now_ns else Work.NEEDS_ROOM

    def _end(self) -> None:
        self.outputs.broadcast(FrameKind.END)
        self.ended = True
        self._on_ended(self.subtask)

    def _take_snapshot(
        self,
        checkpoint: CheckpointId,
        alignment_ns: int,
        inputs: tuple[ChannelSnapshot, ...],
        ready: Sequence[OperatorSnapshot],
    ) -> None:
        """Algorithm 1, lines 12 and 13: snapshot, then broadcast the barrier behind everything sent before."""
        self.outputs.flush()
        began_wait_ns = self._ports.core_wait_ns()
        began_ns, began_cpu_ns = self._ports.monotonic_ns(), self._ports.thread_cpu_ns()
        handles = [handle for operator in self.chain.operators if (handle := operator.snapshot(checkpoint)) is not None]
        sync_ns, sync_cpu_ns = self._ports.monotonic_ns() - began_ns, self._ports.thread_cpu_ns() - began_cpu_ns
        core_wait_ns = self._ports.core_wait_ns() - began_wait_ns
        outputs = self.outputs.snapshots()
        self.outputs.broadcast(FrameKind.BARRIER, checkpoint)
        self.outputs.epoch = checkpoint + 1
        self._on_checkpoint(
            LocalCheckpoint(
                checkpoint, self.subtask, handles, ready, inputs, outputs, self.ended,
                sync_ns, sync_cpu_ns, core_wait_ns, alignment_ns, began_ns,
            )
        )  # fmt: skip


class InnerSubtask(SubtaskRuntime):
    """With input channels, served in turn. ``join`` makes one batch of several, of at most ``joined_rows_max`` rows (0: never)."""

    def __init__(
        self,
        subtask: SubtaskId,
        *,
        protocol: SubtaskProtocol,
        inputs: Sequence[InputChannel],
        join: Callable[[Sequence[Batch]], Batch],
        joined_rows_max: int,
        operators: Sequence[Operator],
        outputs: Outputs,
        ports: SlotPorts,
        on_ended: Callable[[SubtaskId], None],
        on_checkpoint: Callable[[LocalCheckpoint], None],
    ) -> None:
        super().__init__(
            subtask, operators=operators, outputs=outputs, ports=ports, on_ended=on_ended, on_checkpoint=on_checkpoint
        )
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


class SourceSubtask(SubtaskRuntime):
    """With a source in front. Triggers and assignments of splits are carried out in the order of their arrival."""

    def __init__(
        self,
        subtask: SubtaskId,
        *,
        uid: OperatorUid,
        source: SourceOperator,
        last_checkpoint: CheckpointId,
        end_of_input_ran: bool,
        request_split: Callable[[OperatorUid, int], None],
        operators: Sequence[Operator],
        outputs: Outputs,
        ports: SlotPorts,
        on_ended: Callable[[SubtaskId], None],
        on_checkpoint: Callable[[LocalCheckpoint], None],
    ) -> None:
        super().__init__(
            subtask, operators=operators, outputs=outputs, ports=ports, on_ended=on_ended, on_checkpoint=on_checkpoint
        )
        self.uid = uid
        self.source = source
        self._last_checkpoint = last_checkpoint
        self._end_of_input_ran = end_of_input_ran
        self._request_split = request_split
        self._orders: deque[CheckpointId | Split] = deque()
        self._requested = False
        self._no_more = end_of_input_ran
        """Who has ended stays ended: a split taken up now would pass operators whose on_end_of_input does not run again."""
        self._poll_at_ns = 0

    def trigger(self, checkpoint: CheckpointId) -> None:
        self._orders.append(checkpoint)

    def assign(self, split: Split | None, precedes: CheckpointId) -> None:
        """Raises ProtocolError if the split was not assigned in the epoch that it is read in."""
        newest = max([self._last_checkpoint, *(order for order in self._orders if not isinstance(order, Split))])
        if precedes <= newest:
            raise ProtocolError(
                f"source {self.uid}: a split assigned before checkpoint {precedes} arrived after the trigger of {newest}"
            )
        self._requested = False
        if split is None:
            self._no_more = True
        else:
            self._orders.append(split)

    def work(self, now_ns: int) -> Work:
        if self._step is not None:
            return self._unfinished_step(now_ns)
        if self._orders:
            return Work.ANY_TIME
        if self.ended:
            return Work.NONE
        if self._no_more and not self.source.unfinished():
            return Work.NEEDS_ROOM
        if self._wants_split():
            return Work.ANY_TIME
        return Work.NEEDS_ROOM if self.source.unfinished() and now_ns >= self._poll_at_ns else Work.NONE

    def wake_at_ns(self) -> int | None:
        if self._step is None and not self.ended and self.source.unfinished():
            return self._poll_at_ns if self.outputs.has_room() else None
        return super().wake_at_ns()

    def _wants_split(self) -> bool:
        return not self._requested and not self._no_more and (self.source.wants_split() or not self.source.unfinished())

    def _begin(self, now_ns: int) -> None:
        if self._orders:
            self._obey(self._orders.popleft())
        elif self._wants_split():
            self._requested = True
            self._request_split(self.uid, self.subtask.index)
        elif self._no_more and not self.source.unfinished():
            step: Step = iter(()) if self._end_of_input_ran else self.chain.on_end_of_input()
            self._run(step, self._end)
        else:
            batch = self._poll()
            if batch is None:
                self._poll_at_ns = now_ns + self.source.next_poll_after_ns()
                return
            self.records_in += batch.num_rows
            self._run(self.chain.process(batch, 0), lambda: None)

    def _poll(self) -> pa.RecordBatch | None:
        try:
            return self.source.poll()
        except InputError as error:
            raise InputError(f"source {self.uid!r}: {error}", retry=error.retry) from error

    def _obey(self, order: CheckpointId | Split) -> None:
        if isinstance(order, Split):
            self.source.add_split(order)
            self._poll_at_ns = 0
        elif order > self._last_checkpoint:
            self._last_checkpoint = order
            positions = OperatorSnapshot(self.uid, self.subtask.index, splits=self.source.unfinished())
            self._take_snapshot(order, 0, (), (positions,))
