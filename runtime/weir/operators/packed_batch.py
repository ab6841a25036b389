"""Batches of a few rows, packed row by row into one buffer.

A small Arrow batch costs far more than its rows: each column needs an array and a buffer, and each message needs metadata. The
rows of a packed batch follow each other without gaps, so many small batches can be joined with one copy. Only columns of fixed
width without nulls can be packed, and only types for which every bit pattern is a valid value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Self, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from weir.state.numba_support import (
    Words,
    address_of,
    kernel,
    load8,
    load16,
    load32,
    load64,
    signed,
    store8,
    store16,
    store32,
    store64,
)

Bytes: TypeAlias = bytes | memoryview | pa.Buffer
_ALIGNMENT = 64
"""The columns of an unpacked batch begin at multiples of this number of bytes, as Arrow recommends."""


@dataclass(frozen=True, slots=True)
class RowFormat:
    """The layout of a packed row: the values of the columns, in order and without padding, in the byte order of the machine."""

    schema: pa.Schema
    types: tuple[pa.DataType, ...]
    widths: Words = field(compare=False)
    """The size of one value of each column, in bytes."""
    row_bytes: int

    @classmethod
    @lru_cache(maxsize=256)
    def of(cls, schema: pa.Schema) -> Self | None:
        """Return the layout of the rows of ``schema``, or None if its rows cannot be packed."""
        if not len(schema) or not all(_is_packable(column.type) for column in schema):
            return None
        widths = [column.type.bit_width // 8 for column in schema]
        return cls(schema, tuple(schema.types), np.array(widths, np.int64), sum(widths))


def _is_packable(type_: pa.DataType) -> bool:
    kinds = pa.types
    fixed = kinds.is_integer(type_) or kinds.is_floating(type_) or kinds.is_timestamp(type_) or kinds.is_duration(type_)
    return bool(fixed or kinds.is_date32(type_))


class PackedBatch(msgspec.Struct, frozen=True, gc=False):
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


@kernel
def pack_rows(targets: npt.NDArray[np.int32], sources: Words, widths: Words, counts: Words, offsets: Words, out: int) -> None:
    """Pack rows to the address ``out``, sorted by target. The rows of a target keep their order.

    ``sources`` contains the address of the first value of each column. The kernel sets ``counts[target]`` to the number of rows
    of the target. ``offsets`` has room for one word per row.
    """
    counts[:] = 0
    for row in range(len(targets)):
        counts[signed(targets[row])] += 1
    row_bytes = widths.sum()
    ends = np.cumsum(counts)
    for target in range(len(counts)):
        ends[target] = (ends[target] - counts[target]) * row_bytes
    for row in range(len(targets)):
        target = signed(targets[row])
        offsets[row] = out + ends[target]
        ends[target] += row_bytes
    begin = 0
    for column in range(len(widths)):
        source = sources[column]
        width = widths[column]
        if width == 8:
            for row in range(len(targets)):
                store64(offsets[row] + begin, load64(source + 8 * row))
        elif width == 4:
            for row in range(len(targets)):
                store32(offsets[row] + begin, load32(source + 4 * row))
        elif width == 2:
            for row in range(len(targets)):
                store16(offsets[row] + begin, np.int16(load16(source + 2 * row)))
        else:
            for row in range(len(targets)):
                store8(offsets[row] + begin, np.int8(load8(source + row)))
        begin += width


@kernel
def unpack_rows(data: int, rows: int, widths: Words, begins: Words, out: int) -> None:
    """Write the values of each column to the address ``out + begins[column]``. ``data`` is the address of the packed rows."""
    row_bytes = widths.sum()
    for column in range(len(widths)):
        to = out + begins[column]
        width = widths[column]
        if width == 8:
            for row in range(rows):
                store64(to + 8 * row, load64(data + row * row_bytes))
        elif width == 4:
            for row in range(rows):
                store32(to + 4 * row, load32(data + row * row_bytes))
        elif width == 2:
            for row in range(rows):
                store16(to + 2 * row, np.int16(load16(data + row * row_bytes)))
        else:
            for row in range(rows):
                store8(to + row, np.int8(load8(data + row * row_bytes)))
        data += width


def pack_by_target(
    row_format: RowFormat, batch: pa.RecordBatch, targets: npt.NDArray[np.int32], count: int
) -> list[tuple[int, PackedBatch]]:
    """Divide ``batch`` among ``count`` targets. Return a pair (target, packed batch) for each target that receives rows.

    ``targets`` contains the target of each row. ``batch`` must not contain nulls."""
    rows, row_bytes, widths = batch.num_rows, row_format.row_bytes, row_format.widths
    columns = batch.columns
    sources = np.array(
        [column.buffers()[1].address + column.offset * width for column, width in zip(columns, widths.tolist(), strict=True)],
        np.int64,
    )
    counts: Words = np.empty(count, np.int64)
    packed = np.empty(rows * row_bytes, np.uint8)
    pack_rows(targets, sources, widths, counts, np.empty(rows, np.int64), address_of(packed))
    data, begin = packed.data, 0
    routed = []
    for target, rows_of_target in enumerate(counts.tolist()):
        if rows_of_target:
            nbytes = rows_of_target * row_bytes
            routed.append((target, PackedBatch(row_format, data[begin : begin + nbytes], rows_of_target, nbytes)))
            begin += nbytes
    return routed


def unpack(batches: Sequence[PackedBatch]) -> pa.RecordBatch:
    """Return one record batch with the rows of all batches, which have the same format, in order."""
    row_format = batches[0].format
    data = pa.py_buffer(batches[0].data if len(batches) == 1 else b"".join([batch.data for batch in batches]))
    rows = data.size // row_format.row_bytes
    begins = []
    end = 0
    sizes = [rows * width for width in row_format.widths.tolist()]
    for size in sizes:
        begins.append(end)
        end += -(-size // _ALIGNMENT) * _ALIGNMENT
    out = pa.allocate_buffer(end)
    unpack_rows(data.address, rows, row_format.widths, np.array(begins, np.int64), out.address)
    arrays = [
        pa.Array.from_buffers(type_, rows, [None, out.slice(begin, size)], 0)
        for type_, begin, size in zip(row_format.types, begins, sizes, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=row_format.schema)
