"""What a slot's runtime needs of its surroundings: the real process gives sockets and threads, the simulator its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from weir.graph.physical import Edge, PhysicalGraph
from weir.operators.base import Batch, Beside, Operator, SnapshotFiles, SnapshotReader, SourceOperator
from weir.protocol.frames import Frame
from weir.protocol.ids import CheckpointId, Generation, SubtaskId
from weir.protocol.messages import Deploy, FromSlot


class Partitioner(Protocol):
    """Deals batches out to the subtasks of an edge's target; may hold rows back until a batch is full."""

    def add(self, batch: Batch) -> list[tuple[int, Batch]]: ...
    def flush(self) -> list[tuple[int, Batch]]: ...
    @property
    def pending_rows(self) -> int: ...


class Program(Protocol):
    """Makes the parts of the deployed graph."""

    def operators(self, graph: PhysicalGraph, subtask: SubtaskId) -> Sequence[Operator | SourceOperator]:
        """Those of the subtask's chain, not yet opened; a source only in front."""
        ...

    def partitioner(self, graph: PhysicalGraph, edge: Edge, source_index: int) -> Partitioner: ...

    def may_join(self, graph: PhysicalGraph, edge: int) -> bool:
        """Whether ``join`` can make one of any batches of this edge."""
        ...

    def join(self, batches: Sequence[Batch]) -> Batch:
        """One batch of the records of several, in order; all are of one edge that ``may_join``."""
        ...


class SlotPorts(Protocol):
    """Every call returns at once."""

    def monotonic_ns(self) -> int: ...
    def thread_cpu_ns(self) -> int: ...

    def core_wait_ns(self) -> int:
        """How long this thread has been ready to run and had no core, in all its life. 0 where the system does not say."""
        ...

    def send_control(self, message: FromSlot) -> None: ...
    def send_frame(self, slot: int, frame: Frame) -> None: ...

    def open_channels(self, deploy: Deploy, graph: PhysicalGraph) -> None:
        """Begin to connect to the peers of this generation; ``channels_ready`` turns True."""
        ...

    def channels_ready(self) -> bool: ...
    def close_channels(self) -> None: ...

    def background(self, work: Callable[[], object], done: Callable[[object, BaseException | None], None]) -> None:
        """Run ``work`` off the loop, in order of calls; ``done(result, error)`` is then called in the loop."""
        ...

    def run_beside(self, work: Callable[[], object]) -> Beside:
        """For blocking user functions."""
        ...

    def snapshot_files(self, generation: Generation, checkpoint: CheckpointId) -> SnapshotFiles: ...
    def snapshot_reader(self) -> SnapshotReader: ...
    def rss_bytes(self) -> int: ...
