"""Dealing the records of an edge out to the target's subtasks.

Order is kept for each target. What is pending depends only on the records and on the calls of
``flush``, so a replay cuts the same batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa

from weir.graph.keygroups import subtask_of
from weir.graph.logical import Partitioning
from weir.operators.cutting import BATCH_BYTES, compact, cut, has_views
from weir.operators.scatter import ScatterBuffers, is_fixed_width, take_order, targets_of
from weir.state.hashing import hash_columns
from weir.state.take import take_rows

Dealt = list[tuple[int, pa.RecordBatch]]


class Partitioner(Protocol):
    def add(self, batch: pa.RecordBatch) -> Dealt:
        """Takes the batch in; returns batches that are ready to be sent, as (target subtask, batch)."""
        ...

    def flush(self) -> Dealt:
        """All that is pending, in the order of targets."""
        ...

    @property
    def pending_rows(self) -> int: ...


class SingleTargetPartitioner:
    """FORWARD, GLOBAL, and every partitioning onto one subtask: batches pass as they are."""

    def __init__(self, target: int) -> None:
        self._target = target

    def add(self, batch: pa.RecordBatch) -> Dealt:
        return [(self._target, piece) for piece in cut(batch)]

    def flush(self) -> Dealt:
        return []

    @property
    def pending_rows(self) -> int:
        return 0


class BroadcastPartitioner:
    def __init__(self, targets: int) -> None:
        self._targets = targets

    def add(self, batch: pa.RecordBatch) -> Dealt:
        return [(target, piece) for piece in cut(batch) for target in range(self._targets)]

    def flush(self) -> Dealt:
        return []

    @property
    def pending_rows(self) -> int:
        return 0


class PendingSlices:
    """Slices collected for each target, joined once there are ``batch_rows`` rows or BATCH_BYTES bytes of them."""

    def __init__(self, schema: pa.Schema, targets: int, batch_rows: int) -> None:
        self._views = has_views(schema)
        self._slices: list[list[pa.RecordBatch]] = [[] for _ in range(targets)]
        self._rows = [0] * targets
        self._bytes = [0.0] * targets
        self._batch_rows = batch_rows

    @property
    def rows(self) -> int:
        return sum(self._rows)

    def add(self, target: int, piece: pa.RecordBatch, row_bytes: float) -> Dealt:
        """A batch never exceeds ``batch_rows`` or BATCH_BYTES unless a single slice does.

        ``row_bytes``: of the batch that the slice is of; to look at every slice would cost more than to join them.
        """
        rows = piece.num_rows
        if rows == 0:
            return []
        added = rows * row_bytes
        ready: Dealt = []
        if self._rows[target] + rows > self._batch_rows or self._bytes[target] + added > BATCH_BYTES:
            ready = self.take(target)
        self._slices[target].append(piece)
        self._rows[target] += rows
        self._bytes[target] += added
        full = self._rows[target] >= self._batch_rows or self._bytes[target] >= BATCH_BYTES
        return ready + self.take(target) if full else ready

    def take(self, target: int) -> Dealt:
        slices = self._slices[target]
        if not slices:
            return []
        self._slices[target], self._rows[target], self._bytes[target] = [], 0, 0.0
        joined = slices[0] if len(slices) == 1 else pa.concat_batches(slices)
        return [(target, compact(joined) if self._views else joined)]

    def flush(self) -> Dealt:
        return [dealt for target in range(len(self._slices)) for dealt in self.take(target)]


class RebalancePartitioner:
    """Each batch is cut into equal slices, one a target; the odd records go round, so counts never differ by more than one."""

    def __init__(self, schema: pa.Schema, targets: int, source_index: int, batch_rows: int) -> None:
        self._batch_rows = batch_rows
        self._targets = targets
        self._next = source_index % targets
        self._pending = PendingSlices(schema, targets, batch_rows)

    def add(self, batch: pa.RecordBatch) -> Dealt:
        return [dealt for piece in cut(batch) for dealt in self._deal(piece)]

    def _deal(self, batch: pa.RecordBatch) -> Dealt:
        ready: Dealt = []
        even, odd = divmod(batch.num_rows, self._targets)
        row_bytes = batch.get_total_buffer_size() / batch.num_rows
        if row_bytes * self._batch_rows > BATCH_BYTES:
            # It may be a slice of something large. Finding out costs microseconds a column, so not where it makes no difference.
            row_bytes = batch.nbytes / batch.num_rows
        begin = 0
        for step in range(self._targets):
            rows = even + (step < odd)
            ready += self._pending.add((self._next + step) % self._targets, batch.slice(begin, rows), row_bytes)
            begin += rows
        self._next = (self._next + odd) % self._targets
        return ready

    def flush(self) -> Dealt:
        return self._pending.flush()

    @property
    def pending_rows(self) -> int:
        return self._pending.rows


class HashPartitioner:
    """Records of one key go to the subtask that owns the key's group.

    Batches of fixed-width columns without nulls are scattered straight into a buffer for each target, in
    one pass and without intermediate copies. All others go by a stable counting sort and ``take``.
    """

    def __init__(self, schema: pa.Schema, key: Sequence[str], targets: int, max_parallelism: int, batch_rows: int) -> None:
        self._key = tuple(key)
        self._targets = targets
        self._max_parallelism = max_parallelism
        self._target_of_group = np.array(
            [subtask_of(group, targets, max_parallelism) for group in range(max_parallelism)], dtype=np.int64
        )  # fmt: skip
        fixed = all(is_fixed_width(field.type) for field in schema)
        self._scatter = ScatterBuffers(schema, targets, batch_rows) if fixed else None
        self._slices = PendingSlices(schema, targets, batch_rows)

    def add(self, batch: pa.RecordBatch) -> Dealt:
        return [dealt for piece in cut(batch) for dealt in self._deal(piece)]

    def _deal(self, batch: pa.RecordBatch) -> Dealt:
        hashes = hash_columns([batch.column(name) for name in self._key], self._key)
        if self._scatter is not None and not any(column.null_count for column in batch.columns):
            ready = self._slices.flush()
            return ready + self._scatter.add(batch, targets_of(hashes, self._target_of_group))
        ready = self._scatter.flush() if self._scatter is not None else []
        order, ends = take_order(targets_of(hashes, self._target_of_group), self._targets)
        sorted_batch = pa.RecordBatch.from_arrays([take_rows(column, order) for column in batch.columns], schema=batch.schema)
        # Just taken, so its memory is its rows and nothing else.
        row_bytes = sorted_batch.get_total_buffer_size() / sorted_batch.num_rows
        begin = 0
        for target, end in enumerate(ends):
            ready += self._slices.add(target, sorted_batch.slice(begin, int(end) - begin), row_bytes)
            begin = int(end)
        return ready

    def flush(self) -> Dealt:
        """Only one of both ways has something pending at any time, or order would be lost."""
        return self._slices.flush() + (self._scatter.flush() if self._scatter is not None else [])

    @property
    def pending_rows(self) -> int:
        return self._slices.rows + (self._scatter.rows if self._scatter is not None else 0)


def make_partitioner(
    partitioning: Partitioning,
    schema: pa.Schema,
    key: Sequence[str],
    targets: int,
    max_parallelism: int,
    source_index: int,
    batch_rows: int,
) -> Partitioner:
    """The partitioner of one sending subtask. ``max_parallelism`` is that of the keyed operator at the other end."""
    match partitioning:
        case Partitioning.FORWARD:
            return SingleTargetPartitioner(source_index)
        case Partitioning.BROADCAST:
            return BroadcastPartitioner(targets)
        case Partitioning.REBALANCE if targets > 1:
            return RebalancePartitioner(schema, targets, source_index, batch_rows)
        case Partitioning.HASH if targets > 1:
            return HashPartitioner(schema, key, targets, max_parallelism, batch_rows)
    return SingleTargetPartitioner(0)
