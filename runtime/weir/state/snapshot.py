"""A snapshot of a keyed table on its way to storage: gathered by the loop bit by bit, written beside it."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from weir.operators.base import SnapshotWriter
from weir.protocol.ids import OperatorUid
from weir.protocol.snapshots import OperatorSnapshot
from weir.state.accumulate import MEAN
from weir.state.gather import pick_bits, pick_words, put_back
from weir.state.hashing import hash_columns, key_groups_of
from weir.state.layout import RowLayout
from weir.state.memory import Words, address_of
from weir.state.results import column_of
from weir.state.rows import META, SEEN_SHIFT, RowChunks
from weir.state.strings import StringInterner, strings_of
from weir.state.tracker import Gathering, Tracker
from weir.state.words import Encoding

FORMAT = "1"
FORMAT_KEY = b"weir.state"
MAX_PARALLELISM_KEY = b"weir.max_parallelism"
FILE_BATCH_ROWS = 1 << 18
"""Rows of one record batch in a state file."""


@dataclass(frozen=True, slots=True)
class TableDescription:
    """What a state file says of the table it comes from."""

    uid: OperatorUid
    subtask: int
    max_parallelism: int
    layout: RowLayout

    def schema(self) -> pa.Schema:
        metadata = {FORMAT_KEY: FORMAT.encode(), MAX_PARALLELISM_KEY: str(self.max_parallelism).encode()}
        return self.layout.state_schema().with_metadata(metadata)


class ColumnarSnapshot:
    """A PendingSnapshot. ``interners`` only ever grow, so what the rows refer to stays as it was."""

    def __init__(self, table: TableDescription, tracker: Tracker, gathering: Gathering, chunks: RowChunks,
                 interners: tuple[StringInterner | None, ...]) -> None:  # fmt: skip
        self._table = table
        self._tracker = tracker
        self._gathering = gathering
        self._chunks = chunks
        self._interners = interners
        self._lock = threading.Lock()
        self._writing = False
        self._done = False

    def advance(self) -> bool:
        assert not self._done, "a discarded snapshot cannot go on"
        return self._tracker.gather(self._gathering, self._chunks)

    def write(self, writer: SnapshotWriter) -> OperatorSnapshot:
        assert self._gathering.complete, "write() before advance() returned True"
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
                self._tracker.recycle(self._gathering)

    def discard(self) -> None:
        with self._lock:
            if self._done or self._writing:
                # While it is being written its buffers are in use: write() gives them back.
                return
            self._done = True
            self._tracker.abandon(self._gathering)

    def _write(self, writer: SnapshotWriter) -> OperatorSnapshot:
        table, gathering = self._table, self._gathering
        if gathering.rows == 0:
            return OperatorSnapshot(table.uid, table.subtask)
        rows = GatheredRows(table.layout, gathering, self._interners)
        schema = table.schema()
        first, last = table.max_parallelism, 0
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, schema) as file:
            for begin in range(0, gathering.rows, FILE_BATCH_ROWS):
                words = rows.words(begin, min(begin + FILE_BATCH_ROWS, gathering.rows))
                keys = rows.key_columns(words)
                groups = key_groups_of(hash_columns(keys), table.max_parallelism)
                first, last = min(first, int(groups.min())), max(last, int(groups.max()))
                columns = [*keys, pa.array(groups), *rows.accumulator_columns(words)]
                file.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
        state_file = writer.put(table.uid, [sink.getvalue()], rows=gathering.rows, key_groups=(first, last))
        return OperatorSnapshot(table.uid, table.subtask, files=(state_file,))


class GatheredRows:
    """Complete rows of one gathering, as columns."""

    def __init__(self, layout: RowLayout, gathering: Gathering, interners: tuple[StringInterner | None, ...]) -> None:
        self._layout = layout
        self._interners = interners
        self._owners = list(gathering.buffers)
        self._buffers: Words = np.array([address_of(buffer) for buffer in self._owners], dtype=np.int64)
        for piece in gathering.undo:
            put_back(piece.segment, piece.begin, piece.end, gathering.epoch, gathering.rows, gathering.row_words, self._buffers)

    def words(self, begin: int, end: int) -> Words:
        """``words[w]``: word w of rows ``begin`` to ``end``."""
        used = max(slot.word + slot.words for slot in self._layout.slots)
        words: Words = np.empty((used, end - begin), dtype=np.int64)
        pick_words(self._buffers, 8 * self._layout.row_words, begin, words)
        return words

    def key_columns(self, words: Words) -> list[pa.Array]:
        layout = self._layout
        columns = []
        for number, (encoding, word, type_) in enumerate(zip(layout.encodings, layout.key_words, layout.key_types, strict=True)):
            interner = self._interners[number]
            if interner is not None:
                columns.append(strings_of(words[word], interner.entries(), type_))
                continue
            valid = _bits(words[META], number, flipped=1)
            if encoding is Encoding.DECIMAL:
                pairs = np.column_stack([words[word], words[word + 1]])
                bitmap = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
                columns.append(pa.Array.from_buffers(type_, len(pairs), [bitmap, pa.py_buffer(pairs)]))
            else:
                columns.append(column_of(pa.py_buffer(_unsigned_as_is(words[word], type_)), words.shape[1], type_, valid))
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
            columns.append(column_of(pa.py_buffer(picked), len(picked), slot.type, valid))
        return columns


def _bits(meta: Words, bit: int, *, flipped: int) -> npt.NDArray[np.uint8] | None:
    """A byte a row, 1: there is a value. None: there is one in every row."""
    valid = np.empty(len(meta), dtype=np.uint8)
    return None if pick_bits(meta, bit, flipped, valid) == len(meta) else valid


def _unsigned_as_is(words: Words, type_: pa.DataType) -> Words:
    """Keys of type uint64 keep their bits; ``column_of`` expects them with the sign flipped, as minima have them."""
    return words ^ np.int64(-(2**63)) if type_ == pa.uint64() else words
