"""The interfaces between a slot's runtime and its environment.

A slot process implements these interfaces with sockets and threads. The simulator has its own implementation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeAlias

from weir.graph.physical import Edge, PhysicalGraph
from weir.operators.base import BackgroundCall, Batch, Operator, SnapshotFiles, SnapshotReader, SourceOperator
from weir.protocol.frames import Frame
from weir.protocol.ids import CheckpointId, Generation, SubtaskId
from weir.protocol.messages import Deploy, FromSlot
from weir.protocol.snapshots import StateFile
from weir.storage.state_files import RestoreProgress


class BatchPartitioner(Protocol):
    """Distributes batches to the subtasks of an edge's target. A partitioner can hold rows until a batch is full."""

    def add(self, batch: Batch) -> list[tuple[int, Batch]]: ...
    def flush(self) -> list[tuple[int, Batch]]: ...
    @property
    def pending_rows(self) -> int: ...


class Program(Protocol):
    """Builds the parts of the deployed graph."""

    def operators(self, graph: PhysicalGraph, subtask: SubtaskId) -> Sequence[Operator | SourceOperator]:
        """Return the operators of the subtask's chain, without opening them. If the chain has a source, the source is the
        first operator."""
        ...

    def partitioner(self, graph: PhysicalGraph, edge: Edge, source_index: int, rows_sent: int) -> BatchPartitioner: ...

    def may_join(self, graph: PhysicalGraph, edge: int) -> bool:
        """Return whether ``join`` can concatenate all batches of this edge."""
        ...

    def join(self, batches: Sequence[Batch]) -> Batch:
        """Return one batch with the records of ``batches``, in order, in the form that operators process. If there are several
        batches, all are from one edge, for which ``may_join`` returns True."""
        ...

    def slice_batch(self, batch: Batch, bytes_max: int) -> Iterable[Batch]:
        """Slice a batch into batches of at most ``bytes_max`` bytes. The records keep their order. A record that is larger than
        ``bytes_max`` becomes a batch with one record."""
        ...


Done: TypeAlias = Callable[[object, BaseException | None], None]
"""A callback with the result and the error of a call. The error is None if the call succeeded, and the result
is None if the call failed."""


class Background(Protocol):
    """Runs the blocking calls of one deployment. Calls of each kind run one after the other, in the order of submission. Calls of
    different kinds do not wait for each other. Call order: { call | encode | write }* -> cancel_queued -> { encode }* -> close.
    """

    @property
    def is_idle(self) -> bool:
        """Whether no call is running or queued. The loop wakes up when the last call ends."""
        ...

    def call(self, work: Callable[[], object]) -> BackgroundCall:
        """Run a blocking user function."""
        ...

    def encode(self, work: Callable[[], object]) -> BackgroundCall:
        """Encode the output of a sink."""
        ...

    def write(self, work: Callable[[], object], done: Done) -> None:
        """Write a snapshot, or restore state. After ``work`` has ended, ``done(result, error)`` is called in the loop."""
        ...

    def cancel_queued(self) -> None:
        """Cancel the calls that have not begun."""
        ...

    def close(self) -> None:
        """Accept no more calls. ``close`` does not stop a running call. After ``close``, the caller must check ``is_idle``."""
        ...


class SlotEnvironment(Protocol):
    """The environment of a slot. No call blocks."""

    def monotonic_ns(self) -> int: ...
    def thread_cpu_ns(self) -> int: ...

    def core_wait_ns(self) -> int:
        """Return the core wait of this thread since the thread started, or 0 if the system does not report the core wait."""
        ...

    def send_control(self, message: FromSlot) -> None: ...
    def send_frame(self, slot: int, frame: Frame) -> None: ...

    def open_channels(self, deploy: Deploy, graph: PhysicalGraph) -> None:
        """Start to connect to the peers of this generation. ``channels_ready`` returns True when all peers are connected."""
        ...

    def channels_ready(self) -> bool: ...
    def close_channels(self) -> None: ...

    def open_background(self) -> Background:
        """Return the background executors of a new deployment."""
        ...

    def step_begins(self, chain: int) -> None:
        """Record the chain of the next step. The loop calls ``step_begins`` before each step. ``chain`` is the index of the
        chain."""
        ...

    def snapshot_files(self, generation: Generation, checkpoint: CheckpointId) -> SnapshotFiles: ...
    def snapshot_reader(self, files: Sequence[StateFile], progress: RestoreProgress) -> AbstractContextManager[SnapshotReader]:
        """Return a reader of ``files``. The caller opens the files in the order of ``files``. The reader advances
        ``progress``."""
        ...

    def rss_bytes(self) -> int: ...
