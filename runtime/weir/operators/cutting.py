"""Batches are bounded in rows and in bytes: what is larger is cut, without a copy where the columns allow it."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

BATCH_BYTES = 8 * 1024 * 1024
"""Twice a channel's window. 65,536 rows of up to 128 bytes are never cut."""
_WHOLE = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
"""A slice of views keeps, and would send, the memory of all that it is a slice of, until it is written as these once."""
_VIEW_BYTES_MORE = 8
"""A row of views takes up so much more than one of these: 16 bytes instead of an offset of 8."""


def cut(batch: pa.RecordBatch, bytes_max: int = BATCH_BYTES) -> Iterator[pa.RecordBatch]:
    """Pieces of at most ``bytes_max``, in order; a row that is larger alone makes one of its own. An empty batch gives nothing.

    Depends on the records alone. Costs less than a microsecond for a batch that is small enough.
    """
    if batch.num_rows == 0:
        return
    # All of the memory that is referred to: at least what the rows take up, and far cheaper to find out.
    if batch.get_total_buffer_size() <= bytes_max or batch.num_rows == 1 or batch.nbytes <= bytes_max:
        yield batch
        return
    if not has_views(batch.schema):
        yield from _parts(batch, bytes_max)
        return
    first = 0
    more = _VIEW_BYTES_MORE * sum(field.type in _WHOLE for field in batch.schema)
    for measured in _parts(_cast(batch, _without_views(batch.schema)), bytes_max, more):
        yield compact(batch.slice(first, measured.num_rows))
        first += measured.num_rows


def pieces(batch: pa.RecordBatch, rows_max: int, bytes_max: int = BATCH_BYTES) -> Iterator[pa.RecordBatch]:
    """Slices of at most ``rows_max`` rows, each cut to ``bytes_max``; nothing for an empty batch."""
    for first in range(0, batch.num_rows, rows_max):
        yield from cut(batch if batch.num_rows <= rows_max else batch.slice(first, rows_max), bytes_max)


def has_views(schema: pa.Schema) -> bool:
    return any(field.type in _WHOLE for field in schema)


def compact(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows; columns of views refer to no more than their own memory."""
    return _cast(_cast(batch, _without_views(batch.schema)), batch.schema)


def _without_views(schema: pa.Schema) -> pa.Schema:
    return pa.schema([field.with_type(_WHOLE.get(field.type, field.type)) for field in schema], schema.metadata)


def _parts(batch: pa.RecordBatch, bytes_max: int, row_bytes_more: int = 0) -> Iterator[pa.RecordBatch]:
    """Rows differ in size: parts of equal rows first, then again those that are still too large.

    ``row_bytes_more``: what each row will take up beyond what it does in ``batch``.
    """

    def held_by(part: pa.RecordBatch) -> int:
        return int(part.nbytes) + row_bytes_more * int(part.num_rows)

    held = held_by(batch)
    if held <= bytes_max or batch.num_rows == 1:
        yield batch
        return
    rows = max(1, batch.num_rows // -(-held // bytes_max))
    slices = [batch.slice(first, rows) for first in range(0, batch.num_rows, rows)]
    if min(held_by(piece) for piece in slices if piece.num_rows == rows) > 0.75 * held:
        # Dictionaries and nested views are shared by all slices: cutting would only make more batches of the same size.
        yield batch
        return
    for piece in slices:
        yield from _parts(piece, bytes_max, row_bytes_more)


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    arrays = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(batch.columns, schema, strict=True)
    ]  # fmt: skip
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
