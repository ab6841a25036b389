"""A snapshot of a keyed table: the loop copies its rows in small steps, the snapshot thread writes the state file."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from weir.operators.base import SnapshotWriter
from weir.protocol.ids import OperatorUid
from weir.protocol.snapshots import OperatorSnapshot
from weir.state.accumulators import MEAN
from weir.state.arrow_columns import Encoding, column_from_words
from weir.state.change_tracker import ChangeTracker, RowCopy
from weir.state.hashing import hash_columns, key_groups_of
from weir.state.numba_support import Words, address_of
from weir.state.row_chunks import META, SEEN_SHIFT, RowChunks
from weir.state.row_layout import RowLayout
from weir.state.snapshot_kernels import apply_undo_entries, extract_bits, extract_words
from weir.state.string_interner import StringInterner, strings_from_ids

FORMAT = "1"
FORMAT_KEY = b"weir.state"
MAX_PARALLELISM_KEY = b"weir.max_parallelism"
FILE_BATCH_ROWS = 1 << 18
"""Rows per record batch in a state file."""


@dataclass(frozen=True, slots=True)
class TableDescription:
    """Describes the table of a state file."""

    uid: OperatorUid
    subtask: int
    max_parallelism: int
    layout: RowLayout

    def schema(self) -> pa.Schema:
        metadata = {FORMAT_KEY: FORMAT.encode(), MAX_PARALLELISM_KEY: str(self.max_parallelism).encode()}
        return self.layout.state_schema().with_metadata(metadata)


class ColumnarSnapshot:
    """A PendingSnapshot. ``interners`` only grow, so references from the copied rows stay valid."""

    def __init__(self, table: TableDescription, changes: ChangeTracker, copy: RowCopy, chunks: RowChunks,
                 interners: tuple[StringInterner | None, ...]) -> None:  # fmt: skip
        self._table = table
        self._changes = changes
        self._copy = copy
        self._chunks = chunks
        self._interners = interners
        self._lock = threading.Lock()
        self._writing = False
        self._done = False

    def advance(self) -> bool:
        assert not self._done, "a discarded snapshot cannot continue"
        return self._changes.copy_rows(self._copy, self._chunks)

    def write(self, writer: SnapshotWriter) -> OperatorSnapshot:
        assert self._copy.complete, "write() before advance() returned True"
        with self._lock:
            assert not self._writing, "write() is called once"
            if self._done:
                return OperatorSnapshot(self._table.uid, self._table.subtask)
            self._writing = True
        try:
            return self._write(writer)
        finally:
            with self._lock:
                self._done = True
                self._changes.recycle(self._copy)

    def discard(self) -> None:
        with self._lock:
            if self._done or self._writing:
                # A running write() still uses the buffers. It recycles them when it ends.
                return
            self._done = True
            self._changes.cancel(self._copy)

    def _write(self, writer: SnapshotWriter) -> OperatorSnapshot:
        table, copy = self._table, self._copy
        if copy.rows == 0:
            return OperatorSnapshot(table.uid, table.subtask)
        rows = CopiedRows(table.layout, copy, self._interners)
        schema = table.schema()
        first, last = table.max_parallelism, 0
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, schema) as file:
            for begin in range(0, copy.rows, FILE_BATCH_ROWS):
                words = rows.words(begin, min(begin + FILE_BATCH_ROWS, copy.rows))
                keys = rows.key_columns(words)
                groups = key_groups_of(hash_columns(keys), table.max_parallelism)
                first, last = min(first, int(groups.min())), max(last, int(groups.max()))
                columns = [*keys, pa.array(groups), *rows.accumulator_columns(words)]
                file.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
        state_file = writer.put(table.uid, [sink.getvalue()], rows=copy.rows, key_groups=(first, last))
        return OperatorSnapshot(table.uid, table.subtask, files=(state_file,))


class CopiedRows:
    """The complete rows of a copy, as columns."""

    def __init__(self, layout: RowLayout, copy: RowCopy, interners: tuple[StringInterner | None, ...]) -> None:
        self._layout = layout
        self._interners = interners
        self._owners = list(copy.buffers)
        self._buffers: Words = np.array([address_of(buffer) for buffer in self._owners], dtype=np.int64)
        for undo in copy.undo:
            apply_undo_entries(undo.segment, undo.begin, undo.end, copy.epoch, copy.rows, copy.row_words, self._buffers)

    def words(self, begin: int, end: int) -> Words:
        """Return ``words`` where ``words[w]`` is word w of rows ``begin`` to ``end``."""
        used = max(slot.word + slot.words for slot in self._layout.slots)
        words: Words = np.empty((used, end - begin), dtype=np.int64)
        extract_words(self._buffers, 8 * self._layout.row_words, begin, words)
        return words

    def key_columns(self, words: Words) -> list[pa.Array]:
        layout = self._layout
        columns = []
        for number, (encoding, word, type_) in enumerate(zip(layout.encodings, layout.key_words, layout.key_types, strict=True)):
            interner = self._interners[number]
            if interner is not None:
                columns.append(strings_from_ids(words[word], interner.entries(), type_))
                continue
            valid = _bits(words[META], number, flipped=1)
            if encoding is Encoding.DECIMAL:
                pairs = np.column_stack([words[word], words[word + 1]])
                bitmap = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
                columns.append(pa.Array.from_buffers(type_, len(pairs), [bitmap, pa.py_buffer(pairs)]))
            else:
                columns.append(column_from_words(pa.py_buffer(_key_words(words[word], type_)), words.shape[1], type_, valid))
        return columns

    def accumulator_columns(self, words: Words) -> list[pa.Array]:
        columns = []
        for slot in self._layout.slots:
            picked = words[slot.word]
            if slot.kind == MEAN:
                columns.append(pa.array(picked.view(np.float64)))
                columns.append(pa.array(words[slot.word + 1]))
                continue
            valid = None
            if slot.seen_bit is not None:
                valid = _bits(words[META], SEEN_SHIFT + slot.seen_bit, flipped=0)
            columns.append(column_from_words(pa.py_buffer(picked), len(picked), slot.type, valid))
        return columns


def _bits(meta: Words, bit: int, *, flipped: int) -> npt.NDArray[np.uint8] | None:
    """Return one byte per row, which is 1 if the row has a value, or None if all rows have a value."""
    valid = np.empty(len(meta), dtype=np.uint8)
    return None if extract_bits(meta, bit, flipped, valid) == len(meta) else valid


def _key_words(words: Words, type_: pa.DataType) -> Words:
    """Flip the sign bit of uint64 keys, because ``column_from_words`` reverses a flip that stored keys do not have."""
    return words ^ np.int64(-(2**63)) if type_ == pa.uint64() else words
