"""Batches of a few rows, packed row by row into one buffer.

A small Arrow batch costs far more than its rows: each column needs an array and a buffer, and each message needs metadata. The
rows of a packed batch follow each other without gaps, so many small batches can be joined with one copy. Only columns of fixed
width without nulls can be packed, and only types for which every bit pattern is a valid value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Self, TypeAlias

import numpy as np
import pyarrow as pa

Bytes: TypeAlias = bytes | memoryview | pa.Buffer


@dataclass(frozen=True, slots=True)
class RowFormat:
    """The layout of a packed row: the values of the columns, in order and without padding, in the byte order of the machine."""

    schema: pa.Schema
    rows: np.dtype[np.void]
    row_bytes: int

    @classmethod
    @lru_cache(maxsize=256)
    def of(cls, schema: pa.Schema) -> Self | None:
        """Return the layout of the rows of ``schema``, or None if its rows cannot be packed."""
        if not len(schema) or not all(_is_packable(field.type) for field in schema):
            return None
        rows = np.dtype([(str(column), f"u{field.type.bit_width // 8}") for column, field in enumerate(schema)])
        return cls(schema, rows, rows.itemsize)


def _is_packable(type_: pa.DataType) -> bool:
    kinds = pa.types
    fixed = kinds.is_integer(type_) or kinds.is_floating(type_) or kinds.is_timestamp(type_) or kinds.is_duration(type_)
    return bool(fixed or kinds.is_date32(type_))


@dataclass(frozen=True, slots=True)
class PackedBatch:
    """Rows in the layout of ``format``. ``data`` contains whole rows, and must not change."""

    format: RowFormat
    data: Bytes
    num_rows: int
    nbytes: int

    @classmethod
    def of(cls, row_format: RowFormat, data: Bytes) -> Self:
        nbytes = len(data)
        return cls(row_format, data, nbytes // row_format.row_bytes, nbytes)

    def parts(self, bytes_max: int) -> list[PackedBatch]:
        """Return batches of at most ``bytes_max`` bytes, but at least one row each."""
        step = max(1, bytes_max // self.format.row_bytes) * self.format.row_bytes
        data = memoryview(self.data)
        return [PackedBatch.of(self.format, data[first : first + step]) for first in range(0, len(data), step)]


def unpack(batches: Sequence[PackedBatch]) -> pa.RecordBatch:
    """Return one record batch with the rows of all batches, which have the same format, in order."""
    row_format = batches[0].format
    data = batches[0].data if len(batches) == 1 else b"".join(batch.data for batch in batches)
    rows = np.frombuffer(data, row_format.rows)
    arrays = [
        pa.Array.from_buffers(field.type, len(rows), [None, pa.py_buffer(np.ascontiguousarray(rows[str(column)]))], 0)
        for column, field in enumerate(row_format.schema)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=row_format.schema)
