"""Checkpoints in one slot, from the sync phase of each subtask to its acknowledgement."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

from weir.operators.base import PendingSnapshot, SnapshotWriter
from weir.protocol.ids import CheckpointId, SubtaskId
from weir.protocol.snapshots import ChannelSnapshot, OperatorSnapshot, SubtaskSnapshot, SubtaskStatistics
from weir.subtask.ports import SlotPorts

HELD_NS_MAX = 250_000_000
"""A gathered snapshot waits at most so long for the slot's other subtasks before it is written."""


@dataclass(slots=True)
class LocalCheckpoint:
    """Of one subtask: ``advance`` between batches until it says so, then ``write`` in the background, then ``snapshot``.

    ``ready``: operator snapshots that were complete in the sync phase (source positions).
    """

    checkpoint: CheckpointId
    subtask: SubtaskId
    handles: Sequence[PendingSnapshot]
    ready: Sequence[OperatorSnapshot]
    inputs: tuple[ChannelSnapshot, ...]
    outputs: tuple[ChannelSnapshot, ...]
    ended: bool
    sync_ns: int
    sync_cpu_ns: int
    sync_core_wait_ns: int
    alignment_ns: int
    began_ns: int
    start_delay_ns: int = 0
    gathered: int = 0
    gathered_ns: int = 0
    """When the last handle was gathered."""
    written_ns: int = 0
    """When the last of it was durable."""
    longest_unit_ns: int = 0
    longest_unit_core_wait_ns: int = 0

    def advance(self, ports: SlotPorts) -> bool:
        """One bounded unit of gathering. True: everything is gathered, write it."""
        if self.gathered < len(self.handles):
            before_wait_ns, before_ns = ports.core_wait_ns(), ports.monotonic_ns()
            if self.handles[self.gathered].advance():
                self.gathered += 1
            took_ns = ports.monotonic_ns() - before_ns
            if took_ns > self.longest_unit_ns:
                self.longest_unit_ns = took_ns
                self.longest_unit_core_wait_ns = ports.core_wait_ns() - before_wait_ns
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
        )


class LocalCheckpoints:
    """Those under way in one slot. ``add`` after each sync phase, ``gather`` between batches, then write what is ``due``.

    Gathering begins at once: every row touched before it is gathered costs an undo entry. Writing begins when the
    barrier has passed all subtasks of the slot and all of them are gathered: the writer's thread would take the core from those
    that still align, while they hold their channels blocked, and from sync phases and gathering, which hold up batches. Where
    that takes long (backpressure), what is gathered goes out after HELD_NS_MAX.
    """

    def __init__(self, subtasks: int) -> None:
        self._subtasks = subtasks
        self._gathering: list[LocalCheckpoint] = []
        self._held: list[LocalCheckpoint] = []
        self._taken: dict[CheckpointId, int] = {}
        self._triggered_ns: dict[CheckpointId, int] = {}
        self._passed: CheckpointId | None = None
        """The newest checkpoint that all subtasks have taken; barriers keep their order, so older ones are past, too."""

    @property
    def gathering(self) -> LocalCheckpoint | None:
        """The one that ``gather`` would go on with."""
        return self._gathering[0] if self._gathering else None

    def triggered(self, checkpoint: CheckpointId, now_ns: int) -> None:
        """The coordinator has told the sources of the slot: from now on its subtasks wait for their first barriers. In a slot without
        sources nobody is told, and the delay stays 0."""
        self._triggered_ns[checkpoint] = now_ns

    def add(self, local: LocalCheckpoint) -> None:
        reached_ns = local.began_ns - local.alignment_ns
        # A barrier from another slot may have come before the word of the coordinator.
        local.start_delay_ns = max(0, reached_ns - self._triggered_ns.get(local.checkpoint, reached_ns))
        self._gathering.append(local)
        taken = self._taken[local.checkpoint] = self._taken.get(local.checkpoint, 0) + 1
        if taken == self._subtasks:
            self._passed = local.checkpoint
            self._taken = {other: count for other, count in self._taken.items() if other > local.checkpoint}
            self._triggered_ns = {other: at_ns for other, at_ns in self._triggered_ns.items() if other > local.checkpoint}

    def gather(self, ports: SlotPorts) -> bool:
        """A unit of the oldest one. False: there is none. What a handle raises goes through; the snapshot is given up then."""
        local = self.gathering
        if local is None:
            return False
        try:
            complete = local.advance(ports)
        except BaseException:
            self._gathering.remove(local)
            raise
        if complete:
            local.gathered_ns = ports.monotonic_ns()
            self._held.append(self._gathering.pop(0))
        return True

    def due(self, now_ns: int) -> list[LocalCheckpoint]:
        """Those to be written (or, with nothing to write, acknowledged) now; they are the caller's from here on."""
        if not self._held:
            return []
        due = [local for local in self._held if self._is_due(local, now_ns)]
        self._held = [local for local in self._held if local not in due]
        return due

    def wake_at_ns(self) -> int | None:
        return min((local.gathered_ns + HELD_NS_MAX for local in self._held), default=None)

    def abort(self, checkpoint: CheckpointId) -> None:
        self._taken.pop(checkpoint, None)
        self._triggered_ns.pop(checkpoint, None)
        for local in [local for local in (*self._gathering, *self._held) if local.checkpoint == checkpoint]:
            (self._gathering if local in self._gathering else self._held).remove(local)
            local.discard()

    def discard_all(self) -> None:
        for local in (*self._gathering, *self._held):
            with contextlib.suppress(Exception):  # the state goes with it: what could not be undone has no further effect
                local.discard()
        self._gathering.clear()
        self._held.clear()

    def _is_due(self, local: LocalCheckpoint, now_ns: int) -> bool:
        passed = self._passed is not None and local.checkpoint <= self._passed and not self._gathering
        return passed or not local.handles or now_ns - local.gathered_ns >= HELD_NS_MAX
