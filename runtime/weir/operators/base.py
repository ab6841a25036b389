"""The contract of an operator with the subtask's loop.

The loop's thread makes all calls except ``PendingSnapshot.write``. Call order::

    open -> restore (0 or 1 times) -> { process | on_watermark | snapshot | on_checkpoint_* }*
         -> on_end_of_input (0 or 1 times) -> { snapshot | on_checkpoint_* }* -> close

``process``, ``on_watermark`` and ``on_end_of_input`` are resumable steps: generators of bounded batches (at most
``context.batch_rows`` rows; partitioners slice batches above BATCH_BYTES). The loop requests a batch only while every target has
room; it may request one more and hold it. A step yields None while it waits for a background call: the loop then calls it again
later. Snapshots are taken between steps, never while a generator is unfinished. An error in a step fails the subtask. Raise
UserCodeError for errors in user code, with the cause chained.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from weir.protocol.ids import CheckpointId, Generation, OperatorUid, SubtaskId
from weir.protocol.snapshots import OperatorSnapshot, Split, StateFile

Batch = pa.RecordBatch
Step = Iterator[pa.RecordBatch | None]


@dataclass(frozen=True, slots=True)
class OperatorContext:
    """Where an operator runs. ``key_groups``: the first and last key group of the subtask, both included."""

    job: str
    uid: OperatorUid
    name: str
    subtask: int
    parallelism: int
    max_parallelism: int
    key_groups: tuple[int, int]
    generation: Generation
    batch_rows: int = 65_536
    run_in_background: Callable[[Callable[[], object]], BackgroundCall] | None = None
    """Run a blocking function on the slot's background executor, in order. None means that there is no executor, as in tests."""


class BackgroundCall(Protocol):
    """A call on the background executor, for example a ``concurrent.futures.Future``."""

    def done(self) -> bool: ...
    def result(self, timeout: float | None = None) -> object: ...


class SnapshotWriter(Protocol):
    """Writes the state files of one subtask and checkpoint attempt, on the slot's snapshot thread."""

    def put(self, operator: OperatorUid, data: Sequence[memoryview | bytes | pa.Buffer], *, rows: int,
            key_groups: tuple[int, int] | None) -> StateFile:  # fmt: skip
        """Write a file. It is durable once ``SnapshotFiles.flush`` returns, and ``data`` must not change until then. Raises StorageError."""
        ...


class SnapshotFiles(Protocol):
    """The state files of one slot and checkpoint attempt. Names are unique per attempt."""

    def writer(self, subtask: SubtaskId) -> SnapshotWriter: ...

    def flush(self) -> None:
        """Make all written files durable (on a disk, by fsync). Raises StorageError."""
        ...


class SnapshotReader(Protocol):
    def read(self, file: StateFile) -> pa.Buffer:
        """Return the whole file, after verifying its checksum. Raises CheckpointError, naming the file, if it is damaged."""
        ...


class PendingSnapshot(Protocol):
    """A snapshot whose sync phase is over. ``snapshot()`` returns it."""

    def advance(self) -> bool:
        """Copy one bounded part of the state (about 1 ms). The loop calls it between batches. Returns True when complete."""
        ...

    def write(self, writer: SnapshotWriter) -> OperatorSnapshot:
        """Serialise and upload. Called once, on the slot's snapshot thread, after ``advance`` has returned True."""
        ...

    def discard(self) -> None:
        """Drop the snapshot of an aborted checkpoint. The loop calls it instead of or after ``write``."""
        ...


class Operator(ABC):
    """A stateless operator needs to define only ``process``."""

    def open(self, context: OperatorContext) -> None:
        self.context = context

    @abstractmethod
    def process(self, batch: pa.RecordBatch, input_index: int) -> Step: ...

    def on_watermark(self, watermark_ms: int) -> Step:
        return iter(())

    def on_end_of_input(self) -> Step:
        """Emit and drop what the operator still holds. Not called again after a restore of a later snapshot.

        If a restore changes the parallelism or the chains, a new subtask can take over from several old
        subtasks, not all of which had ended. The new subtask then continues with their unfinished splits and state,
        and this method is called again at its end.
        """
        return iter(())

    def snapshot(self, checkpoint: CheckpointId) -> PendingSnapshot | None:
        """Take a snapshot: the sync phase. None: the operator has no state."""
        return None

    def restore(self, snapshots: Sequence[OperatorSnapshot], reader: SnapshotReader) -> None:
        """Restore the part of ``snapshots`` that belongs to ``context.key_groups``, or that is assigned to this subtask."""
        if any(snapshot.files or snapshot.inline is not None for snapshot in snapshots):
            raise AssertionError(f"{type(self).__name__} has no state to restore")

    def on_checkpoint_completed(self, checkpoint: CheckpointId) -> None:
        """Best effort: it is possibly not called for every checkpoint. A call implies that all earlier checkpoints are completed or obsolete."""

    def on_checkpoint_aborted(self, checkpoint: CheckpointId) -> None:
        """Best effort: calls may be missing."""

    def gauges(self) -> dict[str, int | float]:
        """Return metrics, such as the number of keys and bytes of state."""
        return {}

    def close(self) -> None:
        """Release resources. Always called, also after a failure."""


class SourceOperator(ABC):
    """The first operator of a source chain: it has splits instead of inputs."""

    def open(self, context: OperatorContext) -> None:
        self.context = context

    @abstractmethod
    def add_split(self, split: Split) -> None:
        """Start to read a split, or resume after ``split.position``. Called only if ``wants_split`` returns True."""

    @abstractmethod
    def wants_split(self) -> bool:
        """Return whether the source can read another split. The loop then requests one from the coordinator."""

    @abstractmethod
    def poll(self) -> pa.RecordBatch | None:
        """Return the next batch (at most ``context.batch_rows`` rows), or None if none is ready. Does not block.

        Raises InputError, naming file and line, for unreadable input."""

    @abstractmethod
    def unfinished(self) -> tuple[Split, ...]:
        """Return the splits in progress, each with the position after the last record that ``poll`` has returned."""

    def next_poll_after_ns(self) -> int:
        """After ``poll`` has returned None: return how long to wait before the next poll, at most 50 ms."""
        return 1_000_000

    def on_checkpoint_completed(self, checkpoint: CheckpointId) -> None:
        """Best effort: calls may be missing."""

    def gauges(self) -> dict[str, int | float]:
        return {}

    def close(self) -> None:
        """Release resources. Always called, also after a failure."""
