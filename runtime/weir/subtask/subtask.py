"""One subtask in the loop: what those with inputs (inner.py) and those with a source (source.py) have in common.

It drives the kernel and the operators, one resumable step at a time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from weir.operators.base import Batch, Operator, Step
from weir.protocol.frames import FrameKind
from weir.protocol.ids import CheckpointId, SubtaskId
from weir.protocol.snapshots import ChannelSnapshot, OperatorSnapshot
from weir.subtask.accounting import TimeAccount
from weir.subtask.chain import OperatorChain
from weir.subtask.checkpointing import LocalCheckpoint
from weir.subtask.outputs import Outputs
from weir.subtask.ports import SlotPorts

LOOK_AHEAD_NS_MAX = 50_000_000
"""A pull that took longer makes no second batch, unless the first has filled the outputs. Well above what a step waits for a core:
that is no reason to leave it unfinished, and a trigger waiting."""


class Work(Enum):
    """What a subtask has to do; the loop sees to it that there is room."""

    NONE = "none"
    NEEDS_ROOM = "needs room"
    """A step that may send batches."""
    ANY_TIME = "any time"
    """Marks only: they take no credit."""


@dataclass(frozen=True, slots=True)
class SubtaskParts:
    """What every subtask is made of. ``operators``: first to last, without the source. ``ended_before``: on_end_of_input
    ran before the snapshot it is restored from."""

    operators: Sequence[Operator]
    outputs: Outputs
    ports: SlotPorts
    on_ended: Callable[[SubtaskId], None]
    on_checkpoint: Callable[[LocalCheckpoint], None]
    ended_before: bool


class SubtaskRuntime(ABC):
    """Common to subtasks with inputs and with a source. ``step`` raises what fails the subtask."""

    def __init__(self, subtask: SubtaskId, parts: SubtaskParts) -> None:
        self.subtask = subtask
        self.chain = OperatorChain(parts.operators)
        self.outputs = parts.outputs
        self.account = TimeAccount(parts.ports.monotonic_ns())
        self.ended = False
        self.records_in = 0
        self.bytes_in = 0
        self._ended_before = parts.ended_before
        self._ports = parts.ports
        self._step: Step | None = None
        self._ahead: Batch | None = None
        """Made by the step, and not yet sent."""
        self._after_step: Callable[[], None] | None = None
        self._waiting_until_ns = 0
        self._on_ended = parts.on_ended
        self._on_checkpoint = parts.on_checkpoint

    @property
    def aligning(self) -> bool:
        """Some inputs have delivered a barrier and others have not."""
        return False

    @property
    def works_beside(self) -> bool:
        """Its unfinished step waits for work that goes on beside the loop."""
        return self._step is not None and self._waiting_until_ns > 0

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
        # Also before the END that is sent again after a restore: who has ended stays so through the next restore too.
        ended = self.ended or self._ended_before
        self.outputs.broadcast(FrameKind.BARRIER, checkpoint)
        self.outputs.epoch = checkpoint + 1
        self._on_checkpoint(
            LocalCheckpoint(
                checkpoint, self.subtask, handles, ready, inputs, outputs, ended,
                sync_ns, sync_cpu_ns, core_wait_ns, alignment_ns, began_ns,
            )
        )  # fmt: skip
