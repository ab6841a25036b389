"""The columnar state backend: keyed aggregates in memory, a fixed-width row per key.

How it works together: ``keys`` and ``inputs`` turn a batch into words, ``fold`` finds rows and updates
them, ``tracker`` keeps snapshots consistent while that goes on, ``snapshot`` and ``restore`` are the way
to storage and back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from weir.errors import UserCodeError
from weir.operators.base import SnapshotReader
from weir.protocol.ids import CheckpointId, OperatorUid
from weir.protocol.snapshots import OperatorSnapshot
from weir.state.accumulate import FLAG_OVERFLOW, MEAN, read_means, read_seen, read_words
from weir.state.base import AggregateSpec, Emit
from weir.state.fold import BLOCK, fold
from weir.state.gather import write_seen, write_words
from weir.state.index import ROW_LIMIT, ROWS, Index
from weir.state.inputs import ValueEncoder
from weir.state.keys import BatchKeys, KeyEncoder
from weir.state.layout import RowLayout, layout_of, output_schema
from weir.state.memory import Words, address_of
from weir.state.restore import RestoredRows, read_rows
from weir.state.results import allocate_words, column_of
from weir.state.rows import SEEN_SHIFT, RowChunks, aligned_words
from weir.state.snapshot import ColumnarSnapshot, TableDescription
from weir.state.take import take_rows
from weir.state.tracker import Tracker


class ColumnarAggregates:
    """A KeyedAggregates. All calls come from one thread, the loop; snapshots write themselves beside it."""

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
        """``key_groups``: first and last, both included, that are kept on restore. Raises SchemaError."""
        self.schema = output_schema(input_schema, key, aggregates)
        self._layout: RowLayout = layout_of(input_schema, key, aggregates)
        self._emit = emit
        self._key_groups = key_groups
        self._table = TableDescription(uid, subtask, max_parallelism, self._layout)
        self._keys = KeyEncoder(self._layout)
        self._values = ValueEncoder(self._layout)
        self._index = Index()
        self._chunks = RowChunks(self._layout.row_words)
        self._tracker = Tracker(self._layout.row_words, firsts=emit is Emit.BATCH)
        self._template = self._layout.template(all_seen=True)
        self._scratch: Words = aligned_words(3 * BLOCK).reshape(3, BLOCK)

    @property
    def num_keys(self) -> int:
        return self._index.rows

    @property
    def nbytes(self) -> int:
        """Of rows, index, interned strings and the buffers of snapshots in progress."""
        rows = 8 * self._layout.row_words * self._index.rows
        return rows + self._index.nbytes + self._keys.nbytes + self._tracker.nbytes

    def update(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Raises UserCodeError when a sum of integers leaves the range of int64."""
        rows = batch.num_rows
        if self._values.will_be_partial(batch):
            self._template = self._layout.template(all_seen=False)
        each = self._emit is Emit.EACH
        results = [allocate_words(rows if each else 0) for _ in self._layout.slots]
        seen_results = self._seen_results(rows) if each and self._values.partial else []
        aggregates, seen, owners = self._values.encode(
            batch,
            [buffer.address if each else 0 for buffer in results],
            [address_of(valid) for valid in seen_results] if seen_results else [0] * len(self._layout.seen_columns),
        )
        key_columns = [batch.column(position) for position in self._layout.key_columns]
        keys = self._keys.encode(key_columns)
        self._tracker.renumber(self._chunks, self._index.rows)
        self._tracker.begin_batch(rows)
        self._fold(rows, keys, aggregates, seen)
        del owners
        if aggregates[0, FLAG_OVERFLOW] != 0:
            self._raise_overflow(int(aggregates[0, FLAG_OVERFLOW]))
        if each:
            columns = self._columns(results, rows, seen_results)
        else:
            addresses, records = self._tracker.firsts()
            key_columns = [take_rows(column, records) for column in key_columns]
            columns = self._read(addresses)
        return pa.RecordBatch.from_arrays([*key_columns, *columns], schema=self.schema)

    def freeze(self, checkpoint: CheckpointId) -> ColumnarSnapshot:
        self._tracker.trim(self._chunks.capacity >> 16)
        gathering = self._tracker.freeze(self._index.rows)
        return ColumnarSnapshot(self._table, self._tracker, gathering, self._chunks, self._keys.interners)

    def restore(self, snapshots: Sequence[OperatorSnapshot], reader: SnapshotReader) -> None:
        """Adds the rows of ``key_groups``. Raises RestoreError if files are of another table, CheckpointError if damaged."""
        for snapshot in snapshots:
            for file in snapshot.files:
                for rows in read_rows(file, reader, self._table, self._key_groups):
                    self._insert(rows)

    def _insert(self, rows: RestoredRows) -> None:
        keys = self._keys.encode(rows.key_columns)
        known = self._index.rows
        self._tracker.note_firsts(rows.rows)
        none: Words = np.zeros((1, 5), dtype=np.int64)
        self._fold(rows.rows, keys, none, np.zeros((0, 3), dtype=np.int64))
        addresses, _ = self._tracker.firsts()
        self._tracker.forget_firsts()
        rows.check_distinct(self._index.rows - known)
        for word, values in rows.words:
            write_words(addresses, 8 * word, address_of(values))
        for bit, valid in rows.seen:
            write_seen(addresses, SEEN_SHIFT + bit, valid)
            if not valid.all():
                self._values.partial = True
                self._template = self._layout.template(all_seen=False)

    def _fold(self, rows: int, keys: BatchKeys, aggregates: Words, seen: Words) -> None:
        index, tracker = self._index, self._tracker
        position = 0
        while True:
            limit = self._chunks.capacity if self._keys.rows_are_ids else min(index.limit, self._chunks.capacity)
            index.control[ROW_LIMIT] = limit
            position = fold(
                position, rows, index.control, self._chunks.addresses, keys.words, self._template, aggregates, seen,
                tracker.words, self._scratch,
            )  # fmt: skip
            if position == rows:
                break
            block = min(BLOCK, rows - position)
            if index.control[ROWS] + block > self._chunks.capacity:
                self._chunks.add_chunk()
            elif index.control[ROWS] + block > limit:
                index.grow()
            else:
                tracker.add_undo_segment()
        index.advance(rows)

    def _seen_results(self, rows: int) -> list[Any]:
        return [np.empty(rows, dtype=np.uint8) for _ in self._layout.seen_columns]

    def _columns(self, results: list[pa.Buffer], rows: int, seen: list[Any]) -> list[pa.Array]:
        """``seen``: for each seen bit a byte a row; empty: no null has been met, so every result is a value."""
        columns = []
        for slot, words in zip(self._layout.slots, results, strict=True):
            valid = seen[slot.seen_bit] if seen and slot.seen_bit is not None else None
            columns.append(column_of(words, rows, slot.type, valid))
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
            f"operator {self._table.uid!r}: the sum {spec.output!r} of column {spec.column!r} left the range of int64; "
            f"cast the column to float64, or sum something smaller"
        )
