"""Slices record batches into parts with limited numbers of rows and bytes. The parts share the memory of the batch, except that
view columns (string_view, binary_view) are copied."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

BATCH_BYTES = 8 * 1024 * 1024
"""The maximum size of a batch in bytes, which is twice the credit of a channel. A batch of 131,072 rows with up to 64 bytes each
does not exceed this size."""
_NON_VIEW = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
"""Maps each view type to the corresponding type without views. A slice of a view column references the memory of the whole
column, but casting the slice to the type without views copies only the rows of the slice."""
_VIEW_BYTES_EXTRA = 8
"""The additional bytes per row of a view column, compared with a large_string or large_binary column. A view takes 16 bytes per
row, and an offset takes 8 bytes per row."""


def slice_by_bytes(batch: pa.RecordBatch, bytes_max: int = BATCH_BYTES) -> Iterator[pa.RecordBatch]:
    """Slice a batch into batches of at most ``bytes_max`` bytes, and keep the order of the rows. A row that is larger than
    ``bytes_max`` becomes a batch by itself.

    The slices depend only on the records. An empty batch gives no result. For a batch that needs no slicing, the call takes less
    than a microsecond.
    """
    if batch.num_rows == 0:
        return
    # First check the size of all memory that the batch references. This size is an upper bound for the size of the rows, and is
    # faster to compute than ``nbytes``.
    if batch.get_total_buffer_size() <= bytes_max or batch.num_rows == 1 or batch.nbytes <= bytes_max:
        yield batch
        return
    if not has_view_columns(batch.schema):
        yield from _parts(batch, bytes_max)
        return
    first = 0
    extra = _VIEW_BYTES_EXTRA * sum(field.type in _NON_VIEW for field in batch.schema)
    for measured in _parts(_cast(batch, _without_views(batch.schema)), bytes_max, extra):
        yield compact_views(batch.slice(first, measured.num_rows))
        first += measured.num_rows


def slice_batch(batch: pa.RecordBatch, rows_max: int, bytes_max: int = BATCH_BYTES) -> Iterator[pa.RecordBatch]:
    """Slice a batch into batches of at most ``rows_max`` rows and ``bytes_max`` bytes. An empty batch gives no result."""
    for first in range(0, batch.num_rows, rows_max):
        yield from slice_by_bytes(batch if batch.num_rows <= rows_max else batch.slice(first, rows_max), bytes_max)


class AdaptiveSlices:
    """Slices batches for a user function, so that one call of a slow function takes about ``target_ns``.

    Between two calls, the loop can process barriers and run other subtasks, so a slow function does not make the slot stuck.
    The first slice has at most ``rows_first`` rows, because the speed of the function is not known yet. Later slices have at
    most ``rows_max`` rows. The operator calls ``took`` after each call of the function.
    """

    def __init__(self, *, rows_max: int, rows_first: int, target_ns: int) -> None:
        self._rows_max = rows_max
        self._target_ns = target_ns
        self._rows = min(rows_first, rows_max)
        self.slow = False
        """True if the last call took at least half of ``target_ns``. If ``slow`` is True, the operator should return control to
        the loop."""

    def of(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Return the slices of a batch. An empty batch gives no result."""
        first = 0
        while first < batch.num_rows:
            rows = self._rows
            is_whole = first == 0 and batch.num_rows <= rows
            yield from slice_by_bytes(batch if is_whole else batch.slice(first, rows))
            first += rows

    def took(self, rows: int, duration_ns: int) -> None:
        """Adapt the number of rows of the next slices. ``duration_ns`` is the duration of a call with ``rows`` rows."""
        self.slow = 2 * duration_ns >= self._target_ns
        if 2 * rows >= self._rows or duration_ns > self._target_ns:
            fitting = rows * self._target_ns // max(1, duration_ns)
            self._rows = max(1, min(self._rows_max, 8 * self._rows, fitting))


def has_view_columns(schema: pa.Schema) -> bool:
    return any(field.type in _NON_VIEW for field in schema)


def compact_views(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Copy the view columns of a batch. The copied columns refer only to data of the batch's rows, so they do not keep the data
    of other rows in memory."""
    return _cast(_cast(batch, _without_views(batch.schema)), batch.schema)


def _without_views(schema: pa.Schema) -> pa.Schema:
    return pa.schema([field.with_type(_NON_VIEW.get(field.type, field.type)) for field in schema], schema.metadata)


def _parts(batch: pa.RecordBatch, bytes_max: int, row_bytes_extra: int = 0) -> Iterator[pa.RecordBatch]:
    """Slice a batch into parts with equal numbers of rows. Rows differ in size, so slice a part again if the part is still too
    large.

    ``row_bytes_extra`` is a number of bytes to add to the size of each row in ``batch``.
    """

    def size_of(part: pa.RecordBatch) -> int:
        return int(part.nbytes) + row_bytes_extra * int(part.num_rows)

    size = size_of(batch)
    if size <= bytes_max or batch.num_rows == 1:
        yield batch
        return
    rows = max(1, batch.num_rows // -(-size // bytes_max))
    slices = [batch.slice(first, rows) for first in range(0, batch.num_rows, rows)]
    if min(size_of(part) for part in slices if part.num_rows == rows) > 0.75 * size:
        # Each slice is almost as large as the batch, because the size of each slice includes memory that all slices share.
        # Slices share, for example, a dictionary or the data of a string_view inside a struct. Therefore, slicing the batch
        # would not reduce the size.
        yield batch
        return
    for part in slices:
        yield from _parts(part, bytes_max, row_bytes_extra)


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    arrays = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(batch.columns, schema, strict=True)
    ]  # fmt: skip
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
