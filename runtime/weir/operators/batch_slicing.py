"""Slices batches to at most a number of rows and bytes, without copies where the columns allow it."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

BATCH_BYTES = 8 * 1024 * 1024
"""Twice the credit of a channel. Batches of 65,536 rows of up to 128 bytes are never sliced."""
_NON_VIEW = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
"""A slice of a view column keeps, and would send, the memory of the whole column until it is cast to one of these types."""
_VIEW_BYTES_EXTRA = 8
"""A row of a view column takes this many bytes more than a row of one of these types: 16 bytes instead of an 8-byte offset."""


def slice_by_bytes(batch: pa.RecordBatch, bytes_max: int = BATCH_BYTES) -> Iterator[pa.RecordBatch]:
    """Slice into batches of at most ``bytes_max``, in order; a larger row becomes a batch alone.

    The result is empty for an empty batch, and depends only on the records. Slicing costs less than a microsecond for a
    batch that is small enough.
    """
    if batch.num_rows == 0:
        return
    # First check the size of all referenced memory: it is at least that of the rows, and far cheaper to compute.
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
    """Slice into batches of at most ``rows_max`` rows and ``bytes_max`` bytes; none for an empty batch."""
    for first in range(0, batch.num_rows, rows_max):
        yield from slice_by_bytes(batch if batch.num_rows <= rows_max else batch.slice(first, rows_max), bytes_max)


def has_view_columns(schema: pa.Schema) -> bool:
    return any(field.type in _NON_VIEW for field in schema)


def compact_views(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the same rows, with view columns that reference only their own memory."""
    return _cast(_cast(batch, _without_views(batch.schema)), batch.schema)


def _without_views(schema: pa.Schema) -> pa.Schema:
    return pa.schema([field.with_type(_NON_VIEW.get(field.type, field.type)) for field in schema], schema.metadata)


def _parts(batch: pa.RecordBatch, bytes_max: int, row_bytes_extra: int = 0) -> Iterator[pa.RecordBatch]:
    """Slice into parts of equal row counts, then slice again those that are still too large, since rows differ in size.

    ``row_bytes_extra``: what each row will take in addition to its size in ``batch``.
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
        # All slices share dictionaries and nested views, so slicing would only create more batches of the same size.
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
