"""Partitioners distribute the records of an edge among the subtasks of the receiving operator.

The records that a partitioner sends to the same target keep their order. Batch boundaries depend only on the input and on the
calls of ``flush``. A replay can flush at other times, so it can cut the same rows into other batches (ADR 0029).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa

from weir.graph.key_groups import subtask_of
from weir.graph.logical import Partitioning
from weir.operators.batch_slicing import BATCH_BYTES, compact_views, has_view_columns, slice_by_bytes
from weir.operators.packed_batch import PackedBatch, RowFormat, pack_by_target
from weir.operators.scatter import ScatterBuffers, Targets, is_fixed_width, take_order, targets_of
from weir.state.arrow_columns import take_rows
from weir.state.hashing import hash_columns

PACKED_ROWS_MAX = 4_096
"""Pending rows are packed if there are at most this many per target on average."""
Routed = list[tuple[int, pa.RecordBatch | PackedBatch]]
ChooseTargets = Callable[[pa.RecordBatch], Targets]
"""A function that returns the target of each row of a batch. It is called once for each batch, in the order of the batches."""


class Partitioner(Protocol):
    def add(self, batch: pa.RecordBatch) -> Routed:
        """Add a batch. Returns the batches that are ready to send, as pairs (target subtask, batch)."""
        ...

    def flush(self) -> Routed:
        """Return all pending batches, sorted by target."""
        ...

    @property
    def pending_rows(self) -> int: ...


class SingleTargetPartitioner:
    """Sends all records to one subtask. FORWARD and GLOBAL edges use this partitioner. REBALANCE and HASH edges use this
    partitioner if they have a single target subtask."""

    def __init__(self, target: int) -> None:
        self._target = target

    def add(self, batch: pa.RecordBatch) -> Routed:
        return [(self._target, part) for part in slice_by_bytes(batch)]

    def flush(self) -> Routed:
        return []

    @property
    def pending_rows(self) -> int:
        return 0


class BroadcastPartitioner:
    def __init__(self, targets: int) -> None:
        self._targets = targets

    def add(self, batch: pa.RecordBatch) -> Routed:
        return [(target, part) for part in slice_by_bytes(batch) for target in range(self._targets)]

    def flush(self) -> Routed:
        return []

    @property
    def pending_rows(self) -> int:
        return 0


class PendingSlices:
    """Collects slices per target. When the slices of a target have ``batch_rows`` rows or BATCH_BYTES bytes, ``add`` joins
    these slices into one batch."""

    def __init__(self, schema: pa.Schema, targets: int, batch_rows: int) -> None:
        self._views = has_view_columns(schema)
        self._slices: list[list[pa.RecordBatch]] = [[] for _ in range(targets)]
        self._rows = [0] * targets
        self._bytes = [0.0] * targets
        self._batch_rows = batch_rows

    @property
    def rows(self) -> int:
        return sum(self._rows)

    def add(self, target: int, part: pa.RecordBatch, row_bytes: float) -> Routed:
        """Add a slice. A joined batch exceeds ``batch_rows`` rows or BATCH_BYTES bytes only if a single slice already exceeds the
        limit.

        ``row_bytes`` is the mean size of a row in the batch from which the slice was cut. The size of a slice is only estimated,
        because measuring every slice takes longer than joining the slices.
        """
        rows = part.num_rows
        if rows == 0:
            return []
        added = rows * row_bytes
        ready: Routed = []
        if self._rows[target] + rows > self._batch_rows or self._bytes[target] + added > BATCH_BYTES:
            ready = self.take(target)
        self._slices[target].append(part)
        self._rows[target] += rows
        self._bytes[target] += added
        full = self._rows[target] >= self._batch_rows or self._bytes[target] >= BATCH_BYTES
        return ready + self.take(target) if full else ready

    def take(self, target: int) -> Routed:
        slices = self._slices[target]
        if not slices:
            return []
        self._slices[target], self._rows[target], self._bytes[target] = [], 0, 0.0
        joined = slices[0] if len(slices) == 1 else pa.concat_batches(slices)
        return [(target, compact_views(joined) if self._views else joined)]

    def flush(self) -> Routed:
        return [routed for target in range(len(self._slices)) for routed in self.take(target)]


class KeyGroupTargets:
    """Sends each row to the subtask that owns the key group of its key."""

    def __init__(self, key: Sequence[str], targets: int, max_parallelism: int) -> None:
        self._key = tuple(key)
        self._target_of_group = np.array(
            [subtask_of(group, targets, max_parallelism) for group in range(max_parallelism)], dtype=np.int64
        )  # fmt: skip

    def __call__(self, batch: pa.RecordBatch) -> Targets:
        hashes = hash_columns([batch.column(name) for name in self._key], self._key)
        return targets_of(hashes, self._target_of_group)


class RoundRobinTargets:
    """Sends row n of the sender to target ``n % targets``. So the numbers of rows of any two targets differ by at most one. The target of a
    row does not depend on how the rows are cut into batches."""

    def __init__(self, targets: int, first_row: int) -> None:
        self._targets = targets
        self._next_row = first_row

    def __call__(self, batch: pa.RecordBatch) -> Targets:
        first, self._next_row = self._next_row % self._targets, self._next_row + batch.num_rows
        return (np.arange(first, first + batch.num_rows, dtype=np.int32) % self._targets).astype(np.int32, copy=False)


class RowPartitioner:
    """Sends each row to the target that ``choose_targets`` returns for it.

    If all columns of a batch have a fixed width and no nulls, the partitioner writes each row directly to the buffers of its
    target, in one pass and without intermediate copies. The partitioner sorts all other batches by target with a stable counting
    sort, and then slices these batches. If only a few rows arrive between two calls of ``flush``, the partitioner packs these rows.
    """

    def __init__(self, schema: pa.Schema, choose_targets: ChooseTargets, targets: int, batch_rows: int) -> None:
        self._choose_targets = choose_targets
        self._targets = targets
        fixed = all(is_fixed_width(field.type) for field in schema)
        self._scatter = ScatterBuffers(schema, targets, batch_rows) if fixed else None
        self._slices = PendingSlices(schema, targets, batch_rows)
        self._format = RowFormat.of(schema)
        bytes_max = 0 if self._format is None else BATCH_BYTES // self._format.row_bytes
        self._packed_rows_max = min(PACKED_ROWS_MAX * targets, batch_rows - 1, bytes_max)
        self._small: list[pa.RecordBatch] = []
        """Pending batches whose rows are not yet divided among the targets. The next ``flush`` packs these rows. If more than
        ``_packed_rows_max`` rows arrive before, ``add`` writes them to the buffers of their targets instead."""
        self._small_rows = 0

    def add(self, batch: pa.RecordBatch) -> Routed:
        if not batch.num_rows:
            return []
        if self._small_rows + batch.num_rows <= self._packed_rows_max and self._small_rows == self.pending_rows:
            self._small.append(batch)
            self._small_rows += batch.num_rows
            return []
        small = self._take_small()
        return [routed for batch in (*small, batch) for part in slice_by_bytes(batch) for routed in self._route(part)]

    def _take_small(self) -> list[pa.RecordBatch]:
        small, self._small, self._small_rows = self._small, [], 0
        return small

    def _route(self, batch: pa.RecordBatch) -> Routed:
        targets = self._choose_targets(batch)
        if self._scatter is not None and not any(column.null_count for column in batch.columns):
            return self._slices.flush() + self._scatter.add(batch, targets)
        ready: Routed = [*self._scatter.flush()] if self._scatter is not None else []
        order, ends = take_order(targets, self._targets)
        sorted_batch = pa.RecordBatch.from_arrays([take_rows(column, order) for column in batch.columns], schema=batch.schema)
        # ``take_rows`` has just created the columns of ``sorted_batch``, so their buffers contain only the rows of this batch.
        row_bytes = sorted_batch.get_total_buffer_size() / sorted_batch.num_rows
        begin = 0
        for target, end in enumerate(ends):
            ready += self._slices.add(target, sorted_batch.slice(begin, int(end) - begin), row_bytes)
            begin = int(end)
        return ready

    def flush(self) -> Routed:
        """Return all pending batches. Only one of ``_small``, ``_slices`` and ``_scatter`` has pending rows at a time, so the order
        of the records is kept."""
        ready: Routed = []
        if small := self._take_small():
            batch = small[0] if len(small) == 1 else pa.concat_batches(small)
            if self._format is not None and not any(column.null_count for column in batch.columns):
                return [*pack_by_target(self._format, batch, self._choose_targets(batch), self._targets)]
            ready = self._route(batch)
        return ready + self._slices.flush() + ([] if self._scatter is None else self._scatter.flush())

    @property
    def pending_rows(self) -> int:
        return self._small_rows + self._slices.rows + (self._scatter.rows if self._scatter is not None else 0)


def make_partitioner(
    partitioning: Partitioning,
    schema: pa.Schema,
    key: Sequence[str],
    targets: int,
    max_parallelism: int,
    source_index: int,
    batch_rows: int,
    rows_sent: int = 0,
) -> Partitioner:
    """Make the partitioner that one sending subtask uses for one edge. ``max_parallelism`` is the maximum parallelism of the
    receiving operator. ``rows_sent`` is the number of rows that the sending subtask has sent on this edge before."""
    match partitioning:
        case Partitioning.FORWARD:
            return SingleTargetPartitioner(source_index)
        case Partitioning.BROADCAST:
            return BroadcastPartitioner(targets)
        case Partitioning.REBALANCE if targets > 1:
            # The senders begin with different targets. Otherwise, the first row of each sender would go to the same target.
            return RowPartitioner(schema, RoundRobinTargets(targets, source_index + rows_sent), targets, batch_rows)
        case Partitioning.HASH if targets > 1:
            return RowPartitioner(schema, KeyGroupTargets(key, targets, max_parallelism), targets, batch_rows)
    return SingleTargetPartitioner(0)
