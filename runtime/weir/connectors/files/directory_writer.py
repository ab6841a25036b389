"""The writer of directory sinks. The slot's loop only queues batches, and other threads encode them, close files and call fsync."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from weir.connectors.base import PendingCommit, SinkWriter
from weir.connectors.files.file_formats import FileFormat, OpenFile
from weir.connectors.files.file_system import FileSystem, sink_error
from weir.connectors.files.output_layout import OutputLayout, PartName, open_file_name, staged_name
from weir.errors import SinkError
from weir.operators.base import BackgroundCall, OperatorContext
from weir.protocol.ids import CheckpointId
from weir.protocol.snapshots import JsonValue

GROUP_ROWS, GROUP_BYTES = 1 << 20, 32 << 20
"""The writer buffers batches up to this size and encodes them together (as a row group in Parquet)."""
QUEUED_BYTES_MAX = 128 << 20
"""The maximum number of bytes that are queued for encoding. If more than ``QUEUED_BYTES_MAX`` bytes are queued, ``ready``
returns False."""


@dataclass(frozen=True, slots=True)
class FileLimits:
    """The size at which the writer starts a new file. The writer checks the size between groups of rows, so a file can become
    larger than its limit."""

    rows: int | None = None
    bytes: int | None = None

    def reached(self, rows: int, written: int) -> bool:
        return (self.rows is not None and rows >= self.rows) or (self.bytes is not None and written >= self.bytes)


@dataclass(slots=True)
class _Part:
    name: str
    file: OpenFile | None
    """The open file, or None if the part is complete."""
    rows: int = 0
    bytes: int = 0


class EpochFiles(PendingCommit):
    """The files of one epoch of one writer. The background executor runs ``encode`` in the order of the calls. ``finish`` waits
    for all calls of ``encode``."""

    def __init__(
        self, layout: OutputLayout, file_format: FileFormat, limits: FileLimits, file_system: FileSystem, context: OperatorContext
    ) -> None:
        self._layout = layout
        self._format = file_format
        self._limits = limits
        self._file_system = file_system
        self._context = context
        self._parts: list[_Part] = []
        self._lock = threading.Lock()
        self._payloads: Sequence[JsonValue] | None = None
        self._failure: SinkError | None = None
        self._discarded = False
        self.calls: list[BackgroundCall] = []
        self.checkpoint: CheckpointId | None = None

    def encode(self, batches: Sequence[pa.RecordBatch]) -> None:
        with self._lock:
            if self._discarded or self._failure is not None:
                return
            try:
                table = pa.Table.from_batches(batches)
                part = self._open_part(table.schema)
                assert part.file is not None
                part.file.write(table)
                part.rows += table.num_rows
                if self._limits.reached(part.rows, part.file.bytes_written()):
                    self._complete(part)
            except (OSError, pa.ArrowException) as error:
                self._fail("writing", error)

    def finish(self) -> Sequence[JsonValue]:
        assert self.checkpoint is not None
        for call in self.calls:
            call.result()
        with self._lock:
            if self._payloads is None:
                self.check()
                try:
                    self._payloads = self._stage(self.checkpoint)
                except (OSError, pa.ArrowException) as error:
                    self._fail("pre-committing", error)
                    self.check()
            assert self._payloads is not None
            return self._payloads

    def check(self) -> None:
        """Raise SinkError if a background call failed."""
        if self._failure is not None:
            raise self._failure
        if self._discarded:
            raise SinkError(f"{self._layout.out}: the writer was closed before the epoch was pre-committed.")

    def drop(self) -> None:
        """Discard the epoch if it is not pre-committed."""
        with self._lock:
            self._discarded = True
            if self._payloads is None:
                self._remove()

    def _open_part(self, schema: pa.Schema) -> _Part:
        if not self._parts or self._parts[-1].file is None:
            name = open_file_name(self._context.deployment, self._context.subtask, self._format.extension)
            self._parts.append(_Part(name, self._format.create(os.path.join(self._layout.staging, name), schema)))
        return self._parts[-1]

    def _complete(self, part: _Part) -> None:
        if part.file is None:
            return
        part.file.close()
        part.file = None
        path = os.path.join(self._layout.staging, part.name)
        self._file_system.fsync(path)
        part.bytes = self._file_system.size(path)

    def _stage(self, checkpoint: CheckpointId) -> Sequence[JsonValue]:
        payloads: list[JsonValue] = []
        staging = self._layout.staging
        for segment, part in enumerate(self._parts):
            self._complete(part)
            name = PartName(checkpoint, self._context.deployment, self._context.subtask, segment)
            staged = staged_name(name, part.name)
            # The rename fails if a newer generation has deleted the open file, so a zombie cannot pre-commit.
            self._file_system.rename(os.path.join(staging, part.name), os.path.join(staging, staged))
            part.name = staged
            payloads.append(
                {"staged": staged, "final": name.final(self._format.extension), "rows": part.rows, "bytes": part.bytes}
            )
        self._file_system.fsync(staging)
        return payloads

    def _fail(self, action: str, error: BaseException) -> None:
        self._failure = sink_error(action, self._layout.out, error)
        self._failure.__cause__ = error
        self._remove()

    def _remove(self) -> None:
        """Try to delete the files of the epoch. A later generation deletes files that this method could not delete."""
        for part in self._parts:
            if part.file is not None:
                part.file.drop()
                part.file = None
            try:
                self._file_system.unlink(os.path.join(self._layout.staging, part.name))
            except OSError:
                continue
        self._parts.clear()


class DirectoryWriter(SinkWriter):
    def __init__(
        self, layout: OutputLayout, file_format: FileFormat, limits: FileLimits, file_system: FileSystem | None = None
    ) -> None:
        self._layout = layout
        self._format = file_format
        self._limits = limits
        self._file_system = file_system or FileSystem()
        self._epoch: EpochFiles | None = None
        self._buffered: list[pa.RecordBatch] = []
        self._buffered_rows = 0
        self._buffered_bytes = 0
        self._queued: deque[tuple[BackgroundCall, int]] = deque()
        self._queued_bytes = 0

    def open(self, context: OperatorContext) -> None:
        self._context = context
        try:
            self._layout.claim(self._file_system, job=context.job, sink=context.uid)
        except OSError as error:
            raise sink_error("preparing the output directory", self._layout.out, error) from error

    def ready(self) -> bool:
        while self._queued and self._queued[0][0].done():
            self._queued_bytes -= self._queued.popleft()[1]
        return self._queued_bytes <= QUEUED_BYTES_MAX

    def write(self, batch: pa.RecordBatch) -> None:
        if self._epoch is None:
            self._epoch = EpochFiles(self._layout, self._format, self._limits, self._file_system, self._context)
        self._epoch.check()
        self._buffered.append(batch)
        self._buffered_rows += batch.num_rows
        self._buffered_bytes += batch.nbytes
        rows = GROUP_ROWS if self._limits.rows is None else min(GROUP_ROWS, self._limits.rows)
        limit = GROUP_BYTES if self._limits.bytes is None else min(GROUP_BYTES, self._limits.bytes)
        if self._buffered_rows >= rows or self._buffered_bytes >= limit:
            self._encode_buffered(self._epoch)

    def pre_commit(self, checkpoint: CheckpointId) -> PendingCommit | None:
        epoch, self._epoch = self._epoch, None
        if epoch is None:
            return None
        epoch.checkpoint = checkpoint
        if self._buffered:
            self._encode_buffered(epoch)
        return epoch

    def close(self) -> None:
        epoch, self._epoch = self._epoch, None
        self._buffered = []
        if epoch is not None:
            try:
                self._in_background(epoch.drop)
            except RuntimeError:  # the background executor has shut down
                epoch.drop()

    def _encode_buffered(self, epoch: EpochFiles) -> None:
        batches, size = self._buffered, self._buffered_bytes
        self._buffered, self._buffered_rows, self._buffered_bytes = [], 0, 0
        call = self._in_background(lambda: epoch.encode(batches))
        if call is not None:
            epoch.calls.append(call)
            self._queued.append((call, size))
            self._queued_bytes += size

    def _in_background(self, work: Callable[[], object]) -> BackgroundCall | None:
        if self._context.run_in_background is None:
            work()
            return None
        return self._context.run_in_background(work)
