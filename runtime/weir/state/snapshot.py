"""A snapshot of a keyed table. The loop copies the rows in small steps, and the snapshot thread writes the state file."""

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
"""The maximum number of rows per record batch in a state file."""


@dataclass(frozen=True, slots=True)
class TableDescription:
    """Describes the keyed table whose rows a state file contains."""

    uid: OperatorUid
    subtask: int
    max_parallelism: int
    layout: RowLayout

    def schema(self) -> pa.Schema:
        metadata = {FORMAT_KEY: FORMAT.encode(), MAX_PARALLELISM_KEY: str(self.max_parallelism).encode()}
        return self.layout.state_schema().with_metadata(metadata)


class ColumnarSnapshot:
    """Implements PendingSnapshot. Copied rows contain ids instead of strings. The ids stay valid, because the interners never
    delete a string."""

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
        assert self._copy.complete, "write() was called before advance() returned True"
        with self._lock:
            assert not self._writing, "write() was called twice"
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
                # If ``write`` is running, it still uses the buffers, and recycles the buffers when it ends.
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
    """Converts the rows of a complete RowCopy to columns. The constructor first applies the undo entries, so that all rows are as
    they were at the end of the snapshot's epoch."""

    def __init__(self, layout: RowLayout, copy: RowCopy, interners: tuple[StringInterner | None, ...]) -> None:
        self._layout = layout
        self._interners = interners
        self._owners = list(copy.buffers)
        self._buffers: Words = np.array([address_of(buffer) for buffer in self._owners], dtype=np.int64)
        for undo in copy.undo:
            apply_undo_entries(undo.segment, undo.begin, undo.end, copy.epoch, copy.rows, copy.row_words, self._buffers)

    def words(self, begin: int, end: int) -> Words:
        """Return a two-dimensional array. Row w of the array contains word w of the table rows ``begin`` to ``end``."""
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
    """Extract bit ``bit`` of each word in ``meta``, inverted if ``flipped`` is 1. Returns one byte per row (0 for a null, 1 for
    a value), or None if no value is null."""
    valid = np.empty(len(meta), dtype=np.uint8)
    return None if extract_bits(meta, bit, flipped, valid) == len(meta) else valid


def _key_words(words: Words, type_: pa.DataType) -> Words:
    """Return the words of a key column for ``column_from_words``. ``column_from_words`` expects uint64 words with a flipped
    sign bit, but the sign bit of a uint64 key is not flipped in rows."""
    return words ^ np.int64(-(2**63)) if type_ == pa.uint64() else words
