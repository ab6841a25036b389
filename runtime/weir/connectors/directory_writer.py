"""The writer of directory sinks: the loop only queues batches; encoding, closing and fsync happen beside it."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from weir.connectors.base import PendingCommit, SinkWriter
from weir.connectors.disk import Disk, sink_error
from weir.connectors.file_formats import FileFormat, OpenFile
from weir.connectors.staging import OutputLayout, PartName, open_name, staged_name
from weir.errors import SinkError
from weir.operators.base import Beside, OperatorContext
from weir.protocol.ids import CheckpointId
from weir.protocol.snapshots import JsonValue

GROUP_ROWS, GROUP_BYTES = 1 << 20, 32 << 20
"""Batches are gathered up to this and encoded together (a row group in Parquet)."""
QUEUED_BYTES_MAX = 128 << 20
"""Gathered but not yet encoded; beyond it the writer is not ready."""


@dataclass(frozen=True, slots=True)
class FileLimits:
    """A new file is begun once one has this much. Checked between groups, so files get somewhat larger."""

    rows: int | None = None
    bytes: int | None = None

    def reached(self, rows: int, written: int) -> bool:
        return (self.rows is not None and rows >= self.rows) or (self.bytes is not None and written >= self.bytes)


@dataclass(slots=True)
class _Part:
    name: str
    file: OpenFile | None
    """None: complete."""
    rows: int = 0
    bytes: int = 0


class Epoch(PendingCommit):
    """The files of one epoch of one writer. ``encode`` runs beside the loop, in order; ``finish`` after all of them."""

    def __init__(
        self, layout: OutputLayout, file_format: FileFormat, limits: FileLimits, disk: Disk, context: OperatorContext
    ) -> None:
        self._layout = layout
        self._format = file_format
        self._limits = limits
        self._disk = disk
        self._context = context
        self._parts: list[_Part] = []
        self._lock = threading.Lock()
        self._payloads: Sequence[JsonValue] | None = None
        self._failure: SinkError | None = None
        self._void = False
        self.work: list[Beside] = []
        self.checkpoint: CheckpointId | None = None

    def encode(self, batches: Sequence[pa.RecordBatch]) -> None:
        with self._lock:
            if self._void or self._failure is not None:
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
        for work in self.work:
            work.result()
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
        """Raises SinkError if something went wrong beside the loop."""
        if self._failure is not None:
            raise self._failure
        if self._void:
            raise SinkError(f"{self._layout.out}: the writer was closed before the epoch was pre-committed")

    def drop(self) -> None:
        """What is not pre-committed is void."""
        with self._lock:
            self._void = True
            if self._payloads is None:
                self._remove()

    def _open_part(self, schema: pa.Schema) -> _Part:
        if not self._parts or self._parts[-1].file is None:
            name = open_name(self._context.generation, self._context.subtask, self._format.extension)
            self._parts.append(_Part(name, self._format.create(os.path.join(self._layout.staging, name), schema)))
        return self._parts[-1]

    def _complete(self, part: _Part) -> None:
        if part.file is None:
            return
        part.file.close()
        part.file = None
        path = os.path.join(self._layout.staging, part.name)
        self._disk.fsync(path)
        part.bytes = self._disk.size(path)

    def _stage(self, checkpoint: CheckpointId) -> Sequence[JsonValue]:
        payloads: list[JsonValue] = []
        staging = self._layout.staging
        for segment, part in enumerate(self._parts):
            self._complete(part)
            name = PartName(checkpoint, self._context.generation, self._context.subtask, segment)
            staged = staged_name(name, part.name)
            # Fails where a newer generation has swept the open file: a zombie cannot pre-commit.
            self._disk.rename(os.path.join(staging, part.name), os.path.join(staging, staged))
            part.name = staged
            payloads.append(
                {"staged": staged, "final": name.final(self._format.extension), "rows": part.rows, "bytes": part.bytes}
            )
        self._disk.fsync(staging)
        return payloads

    def _fail(self, doing: str, error: BaseException) -> None:
        self._failure = sink_error(doing, self._layout.out, error)
        self._failure.__cause__ = error
        self._remove()

    def _remove(self) -> None:
        """Best effort (a later generation sweeps what is left)."""
        for part in self._parts:
            if part.file is not None:
                part.file.drop()
                part.file = None
            try:
                self._disk.unlink(os.path.join(self._layout.staging, part.name))
            except OSError:
                continue
        self._parts.clear()


class DirectoryWriter(SinkWriter):
    def __init__(self, layout: OutputLayout, file_format: FileFormat, limits: FileLimits, disk: Disk | None = None) -> None:
        self._layout = layout
        self._format = file_format
        self._limits = limits
        self._disk = disk or Disk()
        self._epoch: Epoch | None = None
        self._gathered: list[pa.RecordBatch] = []
        self._gathered_rows = 0
        self._gathered_bytes = 0
        self._queued: deque[tuple[Beside, int]] = deque()
        self._queued_bytes = 0

    def open(self, context: OperatorContext) -> None:
        self._context = context
        try:
            self._layout.claim(self._disk, job=context.job, sink=context.uid)
        except OSError as error:
            raise sink_error("preparing the output directory", self._layout.out, error) from error

    def ready(self) -> bool:
        while self._queued and self._queued[0][0].done():
            self._queued_bytes -= self._queued.popleft()[1]
        return self._queued_bytes <= QUEUED_BYTES_MAX

    def write(self, batch: pa.RecordBatch) -> None:
        if self._epoch is None:
            self._epoch = Epoch(self._layout, self._format, self._limits, self._disk, self._context)
        self._epoch.check()
        self._gathered.append(batch)
        self._gathered_rows += batch.num_rows
        self._gathered_bytes += batch.nbytes
        rows = GROUP_ROWS if self._limits.rows is None else min(GROUP_ROWS, self._limits.rows)
        limit = GROUP_BYTES if self._limits.bytes is None else min(GROUP_BYTES, self._limits.bytes)
        if self._gathered_rows >= rows or self._gathered_bytes >= limit:
            self._encode_gathered(self._epoch)

    def pre_commit(self, checkpoint: CheckpointId) -> PendingCommit | None:
        epoch, self._epoch = self._epoch, None
        if epoch is None:
            return None
        epoch.checkpoint = checkpoint
        if self._gathered:
            self._encode_gathered(epoch)
        return epoch

    def close(self) -> None:
        epoch, self._epoch = self._epoch, None
        self._gathered = []
        if epoch is not None:
            try:
                self._beside(epoch.drop)
            except RuntimeError:  # the worker thread is gone already
                epoch.drop()

    def _encode_gathered(self, epoch: Epoch) -> None:
        batches, size = self._gathered, self._gathered_bytes
        self._gathered, self._gathered_rows, self._gathered_bytes = [], 0, 0
        work = self._beside(lambda: epoch.encode(batches))
        if work is not None:
            epoch.work.append(work)
            self._queued.append((work, size))
            self._queued_bytes += size

    def _beside(self, work: Callable[[], object]) -> Beside | None:
        if self._context.run_beside is None:
            work()
            return None
        return self._context.run_beside(work)
