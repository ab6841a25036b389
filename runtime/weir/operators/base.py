"""The contract between an operator and the loop that runs its subtask.

``process``, ``on_watermark`` and ``on_end_of_input`` return steps. A step is a generator of batches, which the loop can pause
and resume. A batch has at most ``context.batch_rows`` rows. Partitioners slice batches that are larger than BATCH_BYTES. The
loop requests the next batch of a step only while every output channel has room. The loop can compute one more batch ahead, and
buffers this batch until the channels have room. A step yields None while it waits for a background call, and the loop resumes
the step later. The loop takes snapshots between steps, never while a generator is unfinished. An error in a step fails the
subtask. If user code raises an error, the step raises a UserCodeError with the original error as its cause.

The loop's thread calls all methods, with two exceptions. The snapshot thread calls ``PendingSnapshot.write``. The snapshot thread
also calls ``restore`` for snapshots with state files. While the snapshot thread runs ``restore``, the loop accepts connections
and messages. The methods are called in this order::

    open -> restore (0 or 1 times) -> { process | on_watermark | snapshot | on_checkpoint_* }*
         -> on_end_of_input (0 or 1 times) -> { snapshot | on_checkpoint_* }* -> close
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import IO, NamedTuple, Protocol

import pyarrow as pa

from weir.protocol.ids import Attempt, CheckpointId, Generation, OperatorUid, SubtaskId
from weir.protocol.snapshots import OperatorSnapshot, Split, StateFile

BUFFER_ROWS_ENOUGH = 8_192
"""A buffer between subtasks does not wait for more rows if it has this number of rows, because the fixed cost of a batch is then a
small part of the cost of its rows."""
Batch = pa.RecordBatch
Step = Iterator[pa.RecordBatch | None]


@dataclass(frozen=True, slots=True)
class OperatorContext:
    """Describes the subtask that runs an operator. ``key_groups`` is the first and the last key group of the subtask
    (inclusive)."""

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
    """A function that runs blocking calls on the slot's background executor, in the order in which they are submitted. The field
    is None if there is no background executor."""
    restored_checkpoint: CheckpointId | None = None
    """The checkpoint that the slot has restored, or None if it started without state."""
    attempt: int = 0
    """The number of earlier deployments of the slot in this generation."""
    buffer_ns: int = 0
    """The time in nanoseconds for which buffers between subtasks wait for more rows. A source that can choose when it emits rows
    emits one batch per ``buffer_ns``. 0: buffers do not wait."""

    @property
    def deployment(self) -> Attempt:
        return Attempt(self.generation, self.attempt)


class BackgroundCall(Protocol):
    """A call on the background executor, for example a ``concurrent.futures.Future``."""

    def done(self) -> bool: ...
    def result(self, timeout: float | None = None) -> object: ...


class SnapshotWriter(Protocol):
    """Writes the state files of one subtask for one attempt of a checkpoint. The slot's snapshot thread uses the writer."""

    def put(self, operator: OperatorUid, data: Sequence[memoryview | bytes | pa.Buffer], *, rows: int,
            key_groups: tuple[int, int] | None) -> StateFile:  # fmt: skip
        """Write a file, which is durable after ``SnapshotFiles.flush``. ``data`` must not change until ``flush`` has returned.
        Raises StorageError."""
        ...


class SnapshotFiles(Protocol):
    """The state files that one slot writes in one attempt of a checkpoint. Different attempts use different file names."""

    def writer(self, subtask: SubtaskId) -> SnapshotWriter: ...

    def flush(self) -> None:
        """Make all written files durable. For files on a disk, the method calls fsync. Raises StorageError."""
        ...


class SnapshotReader(Protocol):
    def open(self, file: StateFile) -> AbstractContextManager[IO[bytes]]:
        """Return the content of the file as a stream. The checksum is verified at the end of the ``with`` block. If the block
        ends with an error, the caller must discard the content.

        Raises CheckpointError if the file is damaged or missing. If the restore is cancelled, the stream raises an error that is
        not a CheckpointError. The caller must not suppress the errors that the stream raises."""
        ...


class PendingSnapshot(Protocol):
    """A snapshot after its sync phase. ``Operator.snapshot`` returns a PendingSnapshot."""

    def advance(self) -> bool:
        """Copy one bounded part of the state. The call takes about 1 ms. The loop calls this method between batches, until it
        returns True."""
        ...

    def write(self, writer: SnapshotWriter) -> OperatorSnapshot:
        """Serialise and write the state. The snapshot thread calls this method once, after ``advance`` has returned True."""
        ...

    def discard(self) -> None:
        """Drop the snapshot of an aborted checkpoint. The loop calls this method instead of ``write``, or after ``write``."""
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
        """Emit all buffered records, and remove them from the state. If a job restores a snapshot that was taken after this
        call, the loop normally does not call ``on_end_of_input`` again.

        If the restore changes the parallelism or the chains, the loop can call ``on_end_of_input`` again. After a restore with
        another parallelism or other chains, a new subtask can replace several old subtasks. Some old subtasks may not have
        reached the end of their input. The new subtask continues with the state and the unfinished splits of the old subtasks.
        When the new subtask reaches the end of its input, the loop calls ``on_end_of_input``.
        """
        return iter(())

    def snapshot(self, checkpoint: CheckpointId) -> PendingSnapshot | None:
        """Run the sync phase of a snapshot. Returns None if the operator has no state."""
        return None

    def restore(self, snapshots: Sequence[OperatorSnapshot], reader: SnapshotReader) -> None:
        """Restore the keyed state of ``context.key_groups``, and all non-keyed state in ``snapshots``. Open the files in
        the order of ``snapshots``. The loop calls no other method of the operator until ``restore`` has returned."""
        if any(snapshot.files or snapshot.inline is not None for snapshot in snapshots):
            raise AssertionError(f"{type(self).__name__} has no state to restore")

    def on_checkpoint_published(self, checkpoint: CheckpointId) -> None:
        """Handle a checkpoint whose output all sinks have published. The job log already records the publication. Therefore,
        later snapshots need not include the committables of this checkpoint and earlier checkpoints. The loop may skip this
        call for some published checkpoints."""

    def on_checkpoint_aborted(self, checkpoint: CheckpointId) -> None:
        """Handle an aborted checkpoint. The loop may skip this call for some aborted checkpoints."""

    def gauges(self) -> dict[str, int | float]:
        """Return metrics, such as the number of keys and bytes of state."""
        return {}

    def close(self) -> None:
        """Release resources. The loop calls ``close`` in every case, even after a failure."""


class SplitBatch(NamedTuple):
    """Records of one split. ``split`` has the position before the first of these records."""

    records: pa.RecordBatch
    split: Split


class SourceOperator(ABC):
    """The first operator of a source chain. A source operator reads splits and has no inputs."""

    def open(self, context: OperatorContext) -> None:
        self.context = context

    @abstractmethod
    def add_split(self, split: Split) -> None:
        """Start to read a split at ``split.position``. The loop calls ``add_split`` only if ``wants_split`` returns True."""

    @abstractmethod
    def wants_split(self) -> bool:
        """Return whether the source can read another split. If the result is True, the loop requests a split from the
        coordinator."""

    @abstractmethod
    def poll(self) -> SplitBatch | None:
        """Return the next batch (at most ``context.batch_rows`` rows), or None if no batch is ready. This method does not block.

        Raises InputError for unreadable input. The message of the error names the file and the line."""

    @abstractmethod
    def unfinished(self) -> tuple[Split, ...]:
        """Return the splits in progress, each with the position after the last record that ``poll`` has returned."""

    def locate(self, split: Split) -> str:
        """Return the place of the split's position in the input, for error messages, such as ``row 4,097 of /data/a.parquet``."""
        return f"position {split.position or 0} of split {split.id}"

    def is_reading(self) -> bool:
        """Return whether any split is in progress. The loop calls ``is_reading`` in every turn."""
        return bool(self.unfinished())

    def next_poll_after_ns(self) -> int:
        """Return the waiting time in nanoseconds (at most 1 s). After ``poll`` has returned None, the loop waits for the
        returned time before it calls ``poll`` again."""
        return 1_000_000

    def gauges(self) -> dict[str, int | float]:
        return {}

    def close(self) -> None:
        """Release resources. The loop calls ``close`` in every case, even after a failure."""
