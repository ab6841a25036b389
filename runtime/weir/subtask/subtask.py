"""The operator chain of a subtask, and the common base of subtasks with input channels and subtasks with a source.

A subtask drives its kernel state machine and its operators, one resumable step at a time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from weir.operators.base import Batch, Operator, Step
from weir.protocol.channel_state import EdgeSnapshot
from weir.protocol.frames import FrameKind
from weir.protocol.ids import CheckpointId, SubtaskId
from weir.protocol.snapshots import OperatorSnapshot
from weir.subtask.channels import Outputs
from weir.subtask.checkpointing import SubtaskCheckpoint
from weir.subtask.environment import SlotEnvironment
from weir.subtask.timing import TimeAccount

LOOK_AHEAD_NS_MAX = 50_000_000
"""If a step needs longer than this for a batch and the outputs still have room, the step produces no second batch in the same
turn. The limit is well above the usual core wait, because a core wait is no reason to interrupt a step and delay a
trigger."""


class OperatorChain:
    """Operators fused into one subtask. ``operators`` are in order, without the source. Every method returns a generator of
    output batches."""

    def __init__(self, operators: Sequence[Operator]) -> None:
        self.operators = tuple(operators)

    def process(self, batch: Batch, input_index: int) -> Step:
        if not self.operators:
            return iter((batch,))
        if len(self.operators) == 1:
            return self.operators[0].process(batch, input_index)
        return self._process_from(0, batch, input_index)

    def on_watermark(self, watermark_ms: int) -> Step:
        for position, operator in enumerate(self.operators):
            yield from self._process_rest(position, operator.on_watermark(watermark_ms))

    def on_end_of_input(self) -> Step:
        for position, operator in enumerate(self.operators):
            yield from self._process_rest(position, operator.on_end_of_input())

    def _process_from(self, position: int, batch: Batch, input_index: int = 0) -> Step:
        if position == len(self.operators):
            yield batch
        else:
            yield from self._process_rest(position, self.operators[position].process(batch, input_index))

    def _process_rest(self, position: int, step: Step) -> Step:
        for out in step:
            if out is None or not out.num_rows:
                yield out  # if ``out`` is None or an empty batch, the step only returns control to the loop
            else:
                yield from self._process_from(position + 1, out)


class Work(Enum):
    """What a subtask does next. The loop checks whether the subtask's outputs have room."""

    NONE = "none"
    NEEDS_ROOM = "needs_room"
    """The next work is a step that can send batches, which need room in the outputs."""
    ANY_TIME = "any_time"
    """The next work sends only control events, which need no credit."""


NONE, NEEDS_ROOM, ANY_TIME = Work  # in Python 3.11, ``Work.NONE`` takes ten times as long as ``NONE``


@dataclass(frozen=True, slots=True)
class SubtaskParts:
    """The parts of a subtask. ``operators`` are in order, without the source. ``ended_before`` is True if ``on_end_of_input``
    ran before the snapshot from which the subtask is restored."""

    operators: Sequence[Operator]
    outputs: Outputs
    environment: SlotEnvironment
    on_ended: Callable[[SubtaskId], None]
    on_checkpoint: Callable[[SubtaskCheckpoint], None]
    ended_before: bool


class SubtaskRuntime(ABC):
    """Base class of ChannelSubtask and SourceSubtask. If ``step`` raises an error, the subtask fails."""

    takes_turns = False
    """Whether the subtask runs in turn with other such subtasks of the slot, instead of in downstream-first order."""

    def __init__(self, subtask: SubtaskId, parts: SubtaskParts) -> None:
        self.subtask = subtask
        self.chain = OperatorChain(parts.operators)
        self.outputs = parts.outputs
        self.account = TimeAccount(parts.environment.monotonic_ns())
        self.ran_ns = 0
        """The time of the last step, which the loop sets."""
        self.ended = False
        self.records_in = 0
        self.bytes_in = 0
        self._ended_before = parts.ended_before
        self._environment = parts.environment
        self._step: Step | None = None
        self._ahead: Batch | None = None
        """A batch that the unfinished step has produced but that is not yet sent."""
        self._after_step: Callable[[], None] | None = None
        self._waiting_until_ns = 0
        self._on_ended = parts.on_ended
        self._on_checkpoint = parts.on_checkpoint

    @property
    def aligning(self) -> bool:
        """Whether some inputs, but not all, have delivered a barrier."""
        return False

    @property
    def is_waiting(self) -> bool:
        """Whether batches wait for batches of other channels."""
        return False

    @property
    def watermark_ms(self) -> int | None:
        """The watermark that the subtask has emitted, or None."""
        return None

    @property
    def in_blocking_call(self) -> bool:
        """Whether the subtask's unfinished step is waiting for a blocking call in the background executor."""
        return self._step is not None and self._waiting_until_ns > 0

    @abstractmethod
    def work(self, now_ns: int) -> Work: ...

    @abstractmethod
    def _start_work(self, now_ns: int) -> None:
        """Start the next work. ``step`` calls ``_start_work`` only when the previous step is finished."""

    def step(self, now_ns: int) -> None:
        if self._step is None:
            self._start_work(now_ns)
        if self._step is not None:
            self._run_step(now_ns)

    def wake_at_ns(self) -> int | None:
        """Return the time at which to run the subtask again even if no message or frame arrives, or None.

        The result is None while the outputs have no room, because only arriving credit can make room.
        """
        waits = self._step is not None and self._waiting_until_ns and self.outputs.has_room()
        return self._waiting_until_ns if waits else None

    def on_aborted(self, checkpoint: CheckpointId) -> None:
        """Handle the abort of ``checkpoint`` by the coordinator."""

    def _start_step(self, step: Step, after: Callable[[], None]) -> None:
        self._step = step
        self._after_step = after

    def _run_step(self, now_ns: int) -> None:
        """Send one batch.

        Also produce the next batch and keep it in ``_ahead``, to find out whether the step is finished. So a step is finished
        immediately, even if its last batch fills the outputs. The input of a finished step is released at once, and a checkpoint
        trigger does not wait until the outputs have room. While the outputs have room, a slow operator is called only once per
        turn.
        """
        assert self._step is not None
        out, self._ahead = self._ahead, None
        sent = out is not None
        if out is not None:
            self.outputs.add(out, now_ns)
        for out in self._step:
            if out is None:
                # A blocking call is running, so check the call again in a millisecond.
                self._waiting_until_ns = now_ns + 1_000_000
                return
            self._waiting_until_ns = 0
            if sent or not out.num_rows:
                self._ahead = out if out.num_rows else None
                return
            self.outputs.add(out, now_ns)
            sent = True
            if self.outputs.has_room() and self._environment.monotonic_ns() - now_ns > LOOK_AHEAD_NS_MAX:
                return
        self._step = None
        self._waiting_until_ns = 0
        after, self._after_step = self._after_step, None
        if after is not None:
            after()

    def _unfinished_step(self, now_ns: int) -> Work:
        return NONE if self._waiting_until_ns > now_ns else NEEDS_ROOM

    def _end(self) -> None:
        self.outputs.broadcast(FrameKind.END)
        self.ended = True
        self._on_ended(self.subtask)

    def _take_snapshot(
        self,
        checkpoint: CheckpointId,
        alignment_ns: int,
        inputs: tuple[EdgeSnapshot, ...],
        ready: Sequence[OperatorSnapshot],
    ) -> None:
        """Take a snapshot, then broadcast the barrier after all earlier batches (Algorithm 1, lines 12 and 13)."""
        self.outputs.flush()
        began_wait_ns = self._environment.core_wait_ns()
        began_ns, began_cpu_ns = self._environment.monotonic_ns(), self._environment.thread_cpu_ns()
        handles = [handle for operator in self.chain.operators if (handle := operator.snapshot(checkpoint)) is not None]
        sync_ns, sync_cpu_ns = self._environment.monotonic_ns() - began_ns, self._environment.thread_cpu_ns() - began_cpu_ns
        core_wait_ns = self._environment.core_wait_ns() - began_wait_ns
        outputs = self.outputs.snapshots()
        # After a restore, ``ended`` is True even before END is sent again.
        # So an ended subtask stays ended after the next restore.
        ended = self.ended or self._ended_before
        self.outputs.broadcast(FrameKind.BARRIER, checkpoint)
        self.outputs.epoch = checkpoint + 1
        self._on_checkpoint(
            SubtaskCheckpoint(
                checkpoint, self.subtask, handles, ready, inputs, outputs, ended,
                sync_ns, sync_cpu_ns, core_wait_ns, alignment_ns, began_ns, self.watermark_ms,
            )
        )  # fmt: skip
