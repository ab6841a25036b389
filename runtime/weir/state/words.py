"""Arrow columns as 64-bit words: the form in which the kernels take keys and values.

Eight-byte columns without nulls go in as they are, at any offset; everything else is widened into a
fresh array. What lies beneath a null is unspecified in the words and is never looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from weir.errors import SchemaError
from weir.state.memory import address_of


class Encoding(Enum):
    """How many words a key value has, and what they are."""

    WORD = "word"
    DECIMAL = "decimal"
    """Low and high word of the unscaled 128-bit value."""
    BYTES = "bytes"
    """Offsets (int64, rows + 1) and bytes."""


@dataclass(frozen=True, slots=True)
class ColumnWords:
    """``addresses``: WORD one, DECIMAL two (low, high), BYTES two (offsets, data).

    ``nulls``: a byte a row, 1 for null; None: no nulls. ``owners`` begin with the arrays that are pointed at.
    """

    rows: int
    addresses: tuple[int, ...]
    nulls: npt.NDArray[np.uint8] | None
    owners: tuple[Any, ...] = field(repr=False)


def value_type(type_: pa.DataType) -> pa.DataType:
    """The type behind a dictionary encoding."""
    return type_.value_type if pa.types.is_dictionary(type_) else type_


def encoding_of(name: str, type_: pa.DataType) -> Encoding:
    """Raises SchemaError when values of ``type_`` cannot be keys."""
    type_ = value_type(type_)
    kinds = pa.types
    whole = kinds.is_integer(type_) or kinds.is_boolean(type_)
    if whole or kinds.is_date(type_) or kinds.is_timestamp(type_) or kinds.is_time(type_):
        return Encoding.WORD
    if kinds.is_decimal128(type_):
        return Encoding.DECIMAL
    if (
        kinds.is_string(type_)
        or kinds.is_large_string(type_)
        or kinds.is_string_view(type_)
        or kinds.is_binary(type_)
        or kinds.is_large_binary(type_)
        or kinds.is_binary_view(type_)
    ):
        return Encoding.BYTES
    if kinds.is_floating(type_):
        way_out = "cast it to an integer, a decimal or a string first (rounding and NaN make floats bad keys)"
    else:
        way_out = "cast it to an integer, string, date, timestamp, boolean or decimal first"
    raise SchemaError(f"column {name!r} of type {type_} cannot be a key: {way_out}")


def column_words(column: pa.Array, encoding: Encoding) -> ColumnWords:
    """``column`` as the words of its ``encoding``; dictionaries are decoded."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    nulls = null_bytes(column)
    if encoding is Encoding.WORD:
        words = integer_words(column)
        return ColumnWords(len(column), (address_of(words),), nulls, (words, column))
    if encoding is Encoding.DECIMAL:
        pairs = _fixed(column, np.dtype(np.int64), per_row=2)
        low, high = np.ascontiguousarray(pairs[0::2]), np.ascontiguousarray(pairs[1::2])
        return ColumnWords(len(column), (address_of(low), address_of(high)), nulls, (low, high))
    return _bytes_words(column, nulls)


def null_bytes(column: pa.Array) -> npt.NDArray[np.uint8] | None:
    """One byte a row, 1 where the value is null; None if there is no null."""
    if column.null_count == 0:
        return None
    bitmap = column.buffers()[0]
    if bitmap is None:
        return np.ones(len(column), dtype=np.uint8)
    valid = _bits(bitmap, column.offset, len(column))
    return np.asarray(1 - valid, dtype=np.uint8)


def integer_words(column: pa.Array) -> npt.NDArray[np.int64]:
    """Integers, booleans, dates, times and timestamps as int64 (uint64 keeps its bits); no copy where it is 8 bytes wide."""
    type_ = column.type
    if pa.types.is_boolean(type_):
        return _bits(column.buffers()[1], column.offset, len(column)).astype(np.int64)
    if type_.bit_width == 64:
        return _fixed(column, np.dtype(np.int64))
    prefix = "u" if pa.types.is_unsigned_integer(type_) else "i"
    return _fixed(column, np.dtype(f"{prefix}{type_.bit_width // 8}")).astype(np.int64)


def float_words(column: pa.Array) -> npt.NDArray[np.float64]:
    """Any number or boolean as float64; without a copy where it is that already."""
    type_ = column.type
    if pa.types.is_float64(type_):
        return _fixed(column, np.dtype(np.float64))
    if pa.types.is_float32(type_):
        return _fixed(column, np.dtype(np.float32)).astype(np.float64)
    if pa.types.is_float16(type_):
        return _fixed(column, np.dtype(np.float16)).astype(np.float64)
    words = integer_words(column)
    return words.view(np.uint64).astype(np.float64) if type_ == pa.uint64() else words.astype(np.float64)


def _fixed(column: pa.Array, dtype: np.dtype[Any], per_row: int = 1) -> npt.NDArray[Any]:
    buffer = column.buffers()[1]
    if len(column) == 0 or buffer is None:
        return np.zeros(len(column) * per_row, dtype=dtype)
    return np.frombuffer(buffer, dtype, len(column) * per_row, column.offset * per_row * dtype.itemsize)


def _bits(buffer: pa.Buffer | None, offset: int, rows: int) -> npt.NDArray[np.uint8]:
    if rows == 0 or buffer is None:
        return np.zeros(rows, dtype=np.uint8)
    first = offset >> 3
    packed = np.frombuffer(buffer, np.uint8, ((offset + rows + 7) >> 3) - first, first)
    return np.unpackbits(packed, bitorder="little")[offset - 8 * first :][:rows]


def _bytes_words(column: pa.Array, nulls: npt.NDArray[np.uint8] | None) -> ColumnWords:
    type_ = column.type
    if pa.types.is_string_view(type_) or pa.types.is_binary_view(type_):
        column = pc.cast(column, pa.large_string() if pa.types.is_string_view(type_) else pa.large_binary())
        type_ = column.type
    wide = pa.types.is_large_string(type_) or pa.types.is_large_binary(type_)
    _, offsets_buffer, data = column.buffers()
    if len(column) == 0 or offsets_buffer is None:
        offsets = np.zeros(len(column) + 1, dtype=np.int64)
    else:
        width = np.dtype(np.int64 if wide else np.int32)
        narrow = np.frombuffer(offsets_buffer, width, len(column) + 1, column.offset * width.itemsize)
        offsets = narrow.astype(np.int64, copy=False)
    return ColumnWords(len(column), (address_of(offsets), 0 if data is None else data.address), nulls, (offsets, column))
