"""The columnar state backend: keyed aggregates in memory, with one fixed-width row per key.

``encoders`` converts batches to words. ``fold_kernel`` finds the rows of keys and updates the rows. ``change_tracker`` keeps
snapshots consistent during updates. ``snapshot`` writes state files, and ``restore`` reads state files.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any

import numpy as np
import pyarrow as pa

from weir.errors import UserCodeError
from weir.operators.base import SnapshotReader
from weir.protocol.ids import CheckpointId, OperatorUid
from weir.protocol.snapshots import OperatorSnapshot
from weir.state.accumulators import FLAG_OVERFLOW, MEAN, read_means, read_seen, read_words
from weir.state.arrow_columns import allocate_words, column_from_words, take_rows
from weir.state.backend import AggregateSpec, Emit
from weir.state.change_tracker import ChangeTracker
from weir.state.encoders import BatchKeys, KeyEncoder, ValueEncoder
from weir.state.fold_kernel import BLOCK, append_rows, fold, index_rows
from weir.state.hash_index import ROW_LIMIT, ROWS, HashIndex
from weir.state.numba_support import Words, address_of
from weir.state.restore import RestoredRows, read_rows, rows_expected
from weir.state.row_chunks import SEEN_SHIFT, RowChunks, aligned_words
from weir.state.row_layout import RowLayout, layout_of, output_schema
from weir.state.snapshot import ColumnarSnapshot, TableDescription


class ColumnarAggregates:
    """Implements KeyedAggregates. The snapshot thread calls ``restore``, and writes the snapshots. The loop's thread calls all
    other methods, after ``restore`` has returned."""

    def __init__(
        self,
        key: Sequence[str],
        aggregates: Sequence[AggregateSpec],
        input_schema: pa.Schema,
        emit: Emit,
        *,
        uid: OperatorUid,
        subtask: int,
        key_groups: tuple[int, int],
        max_parallelism: int,
    ) -> None:
        """``key_groups`` is the first and the last key group to restore (inclusive). Raises SchemaError for an invalid
        aggregation."""
        self.schema = output_schema(input_schema, key, aggregates)
        self._layout: RowLayout = layout_of(input_schema, key, aggregates)
        self._emit = emit
        self._key_groups = key_groups
        self._table = TableDescription(uid, subtask, max_parallelism, self._layout)
        self._keys = KeyEncoder(self._layout)
        self._values = ValueEncoder(self._layout)
        self._index = HashIndex()
        self._chunks = RowChunks(self._layout.row_words)
        self._changes = ChangeTracker(self._layout.row_words, firsts=emit is Emit.BATCH)
        self._template = self._layout.template(all_seen=True)
        self._scratch: Words = aligned_words(3 * BLOCK).reshape(3, BLOCK)

    @property
    def num_keys(self) -> int:
        return self._index.rows

    @property
    def nbytes(self) -> int:
        """The size in bytes of the rows, the index, the interned strings, and the memory for snapshots."""
        rows = 8 * self._layout.row_words * self._index.rows
        return rows + self._index.nbytes + self._keys.nbytes + self._changes.nbytes

    def update(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Raises UserCodeError if a sum of integers exceeds the range of int64."""
        rows = batch.num_rows
        input_columns = batch.columns
        if self._values.will_be_partial(input_columns):
            self._template = self._layout.template(all_seen=False)
        each = self._emit is Emit.EACH
        results = [allocate_words(rows if each else 0) for _ in self._layout.slots]
        seen_results = self._seen_results(rows) if each and self._values.partial else []
        aggregates, seen, owners = self._values.encode(
            input_columns,
            [buffer.address if each else 0 for buffer in results],
            [address_of(valid) for valid in seen_results] if seen_results else [0] * len(self._layout.seen_columns),
        )
        key_columns = [input_columns[position] for position in self._layout.key_columns]
        keys = self._keys.encode(key_columns)
        self._changes.renumber(self._chunks, self._index.rows)
        self._changes.begin_batch(rows)
        self._fold(rows, keys, aggregates, seen)
        del owners
        if aggregates[0, FLAG_OVERFLOW] != 0:
            self._raise_overflow(int(aggregates[0, FLAG_OVERFLOW]))
        if each:
            columns = self._columns(results, rows, seen_results)
        else:
            addresses, records = self._changes.firsts()
            key_columns = [take_rows(column, records) for column in key_columns]
            columns = self._read(addresses)
        return pa.RecordBatch.from_arrays([*key_columns, *columns], schema=self.schema)

    def freeze(self, checkpoint: CheckpointId) -> ColumnarSnapshot:
        self._changes.trim(self._chunks.capacity >> 16)
        copy = self._changes.freeze(self._index.rows)
        return ColumnarSnapshot(self._table, self._changes, copy, self._chunks, self._keys.interners)

    def restore(self, snapshots: Sequence[OperatorSnapshot], reader: SnapshotReader) -> None:
        """Add the rows whose keys belong to the key groups of this subtask. Raises RestoreError for state files that are not
        compatible with the aggregation, and CheckpointError for damaged files."""
        files = [file for snapshot in snapshots for file in snapshot.files]
        expected = rows_expected(files, self._key_groups)
        self._keys.reserve(self._index, expected)
        self._chunks.reserve(expected)
        for file in files:
            with reader.open(file) as content, closing(read_rows(file, content, self._table, self._key_groups)) as parts:
                for rows in parts:
                    self._append(rows)

    def _append(self, rows: RestoredRows) -> None:
        """Add restored rows. Raises CheckpointError if a key exists already. This method builds the index from whole columns,
        which is several times as fast as ``_fold``."""
        first, end, row_bytes = self._index.rows, self._index.rows + rows.rows, 8 * self._layout.row_words
        self._chunks.reserve(end)
        self._keys.reserve(self._index, end)
        keys = self._keys.encode(rows.key_columns)
        columns = np.array([(word, address_of(values)) for word, values in rows.words], dtype=np.int64).reshape(-1, 2)
        seen = np.array([(SEEN_SHIFT + bit, address_of(valid)) for bit, valid in rows.seen], dtype=np.int64).reshape(-1, 2)
        append_rows(first, rows.rows, self._chunks.addresses, keys.words, self._template, columns, seen)
        if not index_rows(first, rows.rows, self._index.control, self._chunks.addresses, row_bytes, keys.words, self._scratch):
            raise rows.duplicate_key()
        self._index.control[ROWS] = end
        if not all(valid.all() for _, valid in rows.seen):
            self._values.partial = True
            self._template = self._layout.template(all_seen=False)

    def _fold(self, rows: int, keys: BatchKeys, aggregates: Words, seen: Words) -> None:
        index, changes = self._index, self._changes
        position = 0
        while True:
            limit = self._chunks.capacity if self._keys.rows_are_ids else min(index.limit, self._chunks.capacity)
            index.control[ROW_LIMIT] = limit
            position = fold(
                position, rows, index.control, self._chunks.addresses, keys.words, self._template, aggregates, seen,
                changes.words, self._scratch,
            )  # fmt: skip
            if position == rows:
                break
            block = min(BLOCK, rows - position)
            if index.control[ROWS] + block > self._chunks.capacity:
                self._chunks.add_chunk()
            elif index.control[ROWS] + block > limit:
                index.grow()
            else:
                changes.add_undo_segment()
        index.advance(rows)

    def _seen_results(self, rows: int) -> list[Any]:
        return [np.empty(rows, dtype=np.uint8) for _ in self._layout.seen_columns]

    def _columns(self, results: list[pa.Buffer], rows: int, seen: list[Any]) -> list[pa.Array]:
        """``seen`` contains an array for each seen bit. The array has one byte per row (0 if the result is null, else 1).
        ``seen`` is empty if no null has occurred yet."""
        columns = []
        for slot, words in zip(self._layout.slots, results, strict=True):
            valid = seen[slot.seen_bit] if seen and slot.seen_bit is not None else None
            columns.append(column_from_words(words, rows, slot.type, valid))
        return columns

    def _read(self, addresses: Words) -> list[pa.Array]:
        rows = len(addresses)
        results = []
        for slot in self._layout.slots:
            words = allocate_words(rows)
            read = read_means if slot.kind == MEAN else read_words
            read(rows, addresses, 8 * slot.word, words.address)
            results.append(words)
        seen = self._seen_results(rows) if self._values.partial else []
        for bit, valid in enumerate(seen):
            read_seen(rows, addresses, bit, address_of(valid))
        return self._columns(results, rows, seen)

    def _raise_overflow(self, number: int) -> None:
        spec = self._layout.slots[number - 1].spec
        raise UserCodeError(
            f"operator {self._table.uid!r}: the sum {spec.output!r} of column {spec.column!r} exceeds the range of int64. "
            "Cast the column to float64, or sum smaller values."
        )
