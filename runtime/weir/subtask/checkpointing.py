"""One checkpoint in one subtask, from the sync phase to the acknowledgement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from weir.operators.base import PendingSnapshot, SnapshotWriter
from weir.protocol.ids import CheckpointId, SubtaskId
from weir.protocol.snapshots import ChannelSnapshot, OperatorSnapshot, SubtaskSnapshot, SubtaskStatistics


@dataclass(slots=True)
class LocalCheckpoint:
    """``advance`` between batches until it says so, then ``write`` in the background, then ``snapshot``.

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
    alignment_ns: int
    began_ns: int
    gathered: int = 0
    longest_unit_ns: int = 0
    written: list[OperatorSnapshot] = field(default_factory=list)

    def advance(self, clock: Callable[[], int]) -> bool:
        """One bounded unit of gathering. True: everything is gathered, write it."""
        if self.gathered < len(self.handles):
            before_ns = clock()
            if self.handles[self.gathered].advance():
                self.gathered += 1
            self.longest_unit_ns = max(self.longest_unit_ns, clock() - before_ns)
        return self.gathered == len(self.handles)

    def write(self, writer: SnapshotWriter) -> list[OperatorSnapshot]:
        return [handle.write(writer) for handle in self.handles]

    def discard(self) -> None:
        for handle in self.handles:
            handle.discard()

    def snapshot(self, written: Sequence[OperatorSnapshot], now_ns: int) -> SubtaskSnapshot:
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
                async_ms=(now_ns - self.began_ns) / 1e6,
                alignment_ms=self.alignment_ns / 1e6,
                state_bytes=sum(file.bytes for operator in operators for file in operator.files),
                longest_batch_ms=self.longest_unit_ns / 1e6,
            ),
        )
