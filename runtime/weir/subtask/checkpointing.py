"""Checkpoints in one slot, from the sync phase of each subtask to its acknowledgement."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

from weir.operators.base import PendingSnapshot, SnapshotWriter
from weir.protocol.channel_state import EdgeSnapshot
from weir.protocol.ids import CheckpointId, SubtaskId
from weir.protocol.snapshots import OperatorSnapshot, SubtaskSnapshot, SubtaskStatistics
from weir.subtask.environment import SlotEnvironment

HELD_NS_MAX = 250_000_000
"""A gathered snapshot waits at most this long for the slot's other subtasks before it is written."""


@dataclass(slots=True)
class SubtaskCheckpoint:
    """The snapshot of one subtask. Call ``advance`` between batches until it returns True. Then call ``write`` on the snapshot
    thread. Finally, call ``snapshot``.

    ``ready`` contains the operator snapshots that the sync phase has completed, such as source positions.
    """

    checkpoint: CheckpointId
    subtask: SubtaskId
    handles: Sequence[PendingSnapshot]
    ready: Sequence[OperatorSnapshot]
    inputs: tuple[EdgeSnapshot, ...]
    outputs: tuple[EdgeSnapshot, ...]
    ended: bool
    sync_ns: int
    sync_cpu_ns: int
    sync_core_wait_ns: int
    alignment_ns: int
    began_ns: int
    watermark_ms: int | None = None
    """The watermark that the subtask has emitted."""
    start_delay_ns: int = 0
    gathered: int = 0
    gathered_ns: int = 0
    """The time at which the last handle was gathered."""
    written_ns: int = 0
    """The time at which the files of the last handle became durable."""
    longest_unit_ns: int = 0
    longest_unit_core_wait_ns: int = 0

    def advance(self, environment: SlotEnvironment) -> bool:
        """Gather one bounded unit. Return True once the whole snapshot is gathered and can be written."""
        if self.gathered < len(self.handles):
            before_wait_ns, before_ns = environment.core_wait_ns(), environment.monotonic_ns()
            if self.handles[self.gathered].advance():
                self.gathered += 1
            took_ns = environment.monotonic_ns() - before_ns
            if took_ns > self.longest_unit_ns:
                self.longest_unit_ns = took_ns
                self.longest_unit_core_wait_ns = environment.core_wait_ns() - before_wait_ns
        return self.gathered == len(self.handles)

    def write(self, writer: SnapshotWriter) -> list[OperatorSnapshot]:
        return [handle.write(writer) for handle in self.handles]

    def discard(self) -> None:
        for handle in self.handles:
            handle.discard()

    def snapshot(self, written: Sequence[OperatorSnapshot]) -> SubtaskSnapshot:
        operators = (*self.ready, *written)
        return SubtaskSnapshot(
            chain=self.subtask.chain,
            index=self.subtask.index,
            operators=operators,
            inputs=self.inputs,
            outputs=self.outputs,
            ended=self.ended,
            statistics=SubtaskStatistics(
                sync_us=self.sync_ns // 1_000,
                sync_cpu_us=self.sync_cpu_ns // 1_000,
                sync_core_wait_us=self.sync_core_wait_ns // 1_000,
                async_ms=(self.written_ns - self.began_ns) / 1e6,
                alignment_ms=self.alignment_ns / 1e6,
                start_delay_ms=self.start_delay_ns / 1e6,
                state_bytes=sum(file.bytes for operator in operators for file in operator.files),
                longest_batch_ms=self.longest_unit_ns / 1e6,
                longest_batch_core_wait_ms=self.longest_unit_core_wait_ns / 1e6,
            ),
            watermark_ms=self.watermark_ms,
        )


class SlotCheckpoints:
    """The checkpoints in progress in one slot. Call ``add`` after each sync phase, call ``gather`` between batches, then write
    the snapshots that ``due`` returns.

    Gathering starts at once, because each row that changes before it is gathered costs an entry in the undo log. Writing starts
    only when the snapshots of all subtasks of the slot are taken and gathered. An earlier write would compete for the core with
    subtasks that are still aligning, with sync phases and with gathering. Also, one acknowledgement for all subtasks costs less than
    one for each. If other subtasks are slow, for example because of backpressure, a gathered snapshot is written after HELD_NS_MAX.
    """

    def __init__(self, subtasks: int) -> None:
        self._subtasks = subtasks
        self._gathering: list[SubtaskCheckpoint] = []
        self._gathered: list[SubtaskCheckpoint] = []
        self._taken: dict[CheckpointId, int] = {}
        self._triggered_ns: dict[CheckpointId, int] = {}
        self._taken_by_all: CheckpointId | None = None
        """The newest checkpoint for which all subtasks have taken their snapshots.

        Barriers arrive in order, so all subtasks have also taken their snapshots for older checkpoints.
        """

    @property
    def is_idle(self) -> bool:
        """Whether no snapshot has to be gathered or written."""
        return not self._gathering and not self._gathered

    @property
    def gathering(self) -> SubtaskCheckpoint | None:
        """The snapshot that the next call of ``gather`` continues."""
        return self._gathering[0] if self._gathering else None

    def triggered(self, checkpoint: CheckpointId, now_ns: int) -> None:
        """Record the arrival of the coordinator's trigger. The start delay is measured from this time. A slot without sources
        gets no trigger, so its start delay stays 0."""
        self._triggered_ns[checkpoint] = now_ns

    def add(self, local: SubtaskCheckpoint) -> None:
        reached_ns = local.began_ns - local.alignment_ns
        # A barrier from another slot can arrive before the coordinator's trigger.
        local.start_delay_ns = max(0, reached_ns - self._triggered_ns.get(local.checkpoint, reached_ns))
        self._gathering.append(local)
        taken = self._taken[local.checkpoint] = self._taken.get(local.checkpoint, 0) + 1
        if taken == self._subtasks:
            self._taken_by_all = local.checkpoint
            self._taken = {other: count for other, count in self._taken.items() if other > local.checkpoint}
            self._triggered_ns = {other: at_ns for other, at_ns in self._triggered_ns.items() if other > local.checkpoint}

    def gather(self, environment: SlotEnvironment) -> bool:
        """Gather one unit of the oldest snapshot. Return False if no snapshot is left to gather. If a handle of the snapshot
        raises an error, drop the snapshot and raise the error."""
        local = self.gathering
        if local is None:
            return False
        try:
            complete = local.advance(environment)
        except BaseException:
            self._gathering.remove(local)
            raise
        if complete:
            local.gathered_ns = environment.monotonic_ns()
            self._gathered.append(self._gathering.pop(0))
        return True

    def due(self, now_ns: int) -> list[SubtaskCheckpoint]:
        """Return the snapshots to write and acknowledge now. From now on, the caller owns the returned snapshots."""
        if not self._gathered:
            return []
        due = [local for local in self._gathered if self._is_due(local, now_ns)]
        self._gathered = [local for local in self._gathered if local not in due]
        return due

    def wake_at_ns(self) -> int | None:
        return min((local.gathered_ns + HELD_NS_MAX for local in self._gathered), default=None)

    def abort(self, checkpoint: CheckpointId) -> None:
        self._taken.pop(checkpoint, None)
        self._triggered_ns.pop(checkpoint, None)
        for local in [local for local in (*self._gathering, *self._gathered) if local.checkpoint == checkpoint]:
            (self._gathering if local in self._gathering else self._gathered).remove(local)
            local.discard()

    def discard_all(self) -> None:
        for local in (*self._gathering, *self._gathered):
            with contextlib.suppress(
                Exception
            ):  # the slot drops the whole deployment, including its state, so a failing ``discard`` has no effect
                local.discard()
        self._gathering.clear()
        self._gathered.clear()

    def _is_due(self, local: SubtaskCheckpoint, now_ns: int) -> bool:
        taken_by_all = self._taken_by_all is not None and local.checkpoint <= self._taken_by_all and not self._gathering
        return taken_by_all or now_ns - local.gathered_ns >= HELD_NS_MAX
