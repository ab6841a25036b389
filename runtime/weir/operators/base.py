"""The contract of an operator, as the subtask's loop uses it.

One thread, the loop, makes every call except ``PendingSnapshot.write``. Call order::

    open -> restore (0 or 1 times) -> { process | on_watermark | snapshot | on_checkpoint_* }*
         -> on_end_of_input (0 or 1 times) -> { snapshot | on_checkpoint_* }* -> close

``process``, ``on_watermark`` and ``on_end_of_input`` are resumable steps: generators that yield
bounded batches (at most ``context.batch_rows`` rows; partitioners cut what is over BATCH_BYTES), which
are sent only while every target has room; one more may be asked for and kept. They may yield None for
"nothing ready yet, come back" (work goes on beside the loop). A snapshot is only taken between steps,
never while a generator is unfinished. What they raise fails the subtask; raise UserCodeError for the
user's own code, with the cause chained.
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
    """What an operator knows of its place. ``key_groups``: first and last (both included) that are its own."""

    job: str
    uid: OperatorUid
    name: str
    subtask: int
    parallelism: int
    max_parallelism: int
    key_groups: tuple[int, int]
    generation: Generation
    batch_rows: int = 65_536
    run_beside: Callable[[Callable[[], object]], Beside] | None = None
    """Run a blocking function on the slot's worker thread, in order; None where there is none (tests)."""


class Beside(Protocol):
    """A piece of work beside the loop (a concurrent.futures.Future is one)."""

    def done(self) -> bool: ...
    def result(self, timeout: float | None = None) -> object: ...


class SnapshotWriter(Protocol):
    """Writes state files of one subtask and checkpoint attempt, on the background thread."""

    def put(self, operator: OperatorUid, data: Sequence[memoryview | bytes | pa.Buffer], *, rows: int,
            key_groups: tuple[int, int] | None) -> StateFile:  # fmt: skip
        """Durable once ``SnapshotFiles.flush`` has returned. ``data`` must not change until then. Raises StorageError."""
        ...


class SnapshotFiles(Protocol):
    """All state files of one slot and checkpoint attempt. Names are unique per attempt."""

    def writer(self, subtask: SubtaskId) -> SnapshotWriter: ...

    def flush(self) -> None:
        """What was put is durable when it returns (fsynced where it is a disk). Raises StorageError."""
        ...


class SnapshotReader(Protocol):
    def read(self, file: StateFile) -> pa.Buffer:
        """The whole file, its checksum verified. Raises CheckpointError naming the file when damaged."""
        ...


class PendingSnapshot(Protocol):
    """A snapshot whose sync phase is over (it was ``snapshot()`` itself)."""

    def advance(self) -> bool:
        """One bounded unit (about 1 ms) of gathering, called by the loop between batches. True: complete."""
        ...

    def write(self, writer: SnapshotWriter) -> OperatorSnapshot:
        """Serialise and upload. Called once, on a background thread, after ``advance`` returned True."""
        ...

    def discard(self) -> None:
        """The checkpoint was aborted: forget it (called by the loop, instead of or after ``write``)."""
        ...


class Operator(ABC):
    """A stateless operator need only define ``process``."""

    def open(self, context: OperatorContext) -> None:
        self.context = context

    @abstractmethod
    def process(self, batch: pa.RecordBatch, input_index: int) -> Step: ...

    def on_watermark(self, watermark_ms: int) -> Step:
        return iter(())

    def on_end_of_input(self) -> Step:
        """Emit what is still held, and hold it no longer. It does not run again after a restore of a later snapshot.

        Except where the restore changes the parallelism or the chains, and not all of a subtask that is new had ended: that one
        runs on, may be given what others had in work, and ends with what it holds by then.
        """
        return iter(())

    def snapshot(self, checkpoint: CheckpointId) -> PendingSnapshot | None:
        """The sync phase. None: no state."""
        return None

    def restore(self, snapshots: Sequence[OperatorSnapshot], reader: SnapshotReader) -> None:
        """Take over the part of ``snapshots`` that falls into ``context.key_groups`` (or that was dealt to this subtask)."""
        if any(snapshot.files or snapshot.inline is not None for snapshot in snapshots):
            raise AssertionError(f"{type(self).__name__} was given state but keeps none")

    def on_checkpoint_completed(self, checkpoint: CheckpointId) -> None:
        """Best effort; a later notice covers earlier ones."""

    def on_checkpoint_aborted(self, checkpoint: CheckpointId) -> None:
        """Best effort."""

    def gauges(self) -> dict[str, int | float]:
        """Numbers worth showing (keys, bytes of state)."""
        return {}

    def close(self) -> None:
        """Release resources. Called in every case, also after a failure."""


class SourceOperator(ABC):
    """The first operator of a source chain: no input, but splits."""

    def open(self, context: OperatorContext) -> None:
        self.context = context

    @abstractmethod
    def add_split(self, split: Split) -> None:
        """Begin (or resume after ``split.position``). Called only when ``wants_split``."""

    @abstractmethod
    def wants_split(self) -> bool:
        """True while it could take another split; the loop then asks the coordinator, once at a time."""

    @abstractmethod
    def poll(self) -> pa.RecordBatch | None:
        """The next batch (at most ``context.batch_rows`` rows), or None if none is ready now. Does not block.

        Raises InputError naming file and line for input that cannot be read."""

    @abstractmethod
    def unfinished(self) -> tuple[Split, ...]:
        """Splits in work, each with the position after the last record that ``poll`` has returned."""

    def next_poll_after_ns(self) -> int:
        """If ``poll`` returned None: how long from now until asking again makes sense (a rate limit, I/O). At most 50 ms."""
        return 1_000_000

    def on_checkpoint_completed(self, checkpoint: CheckpointId) -> None:
        """Best effort."""

    def gauges(self) -> dict[str, int | float]:
        return {}

    def close(self) -> None:
        """Release resources. Called in every case, also after a failure."""
