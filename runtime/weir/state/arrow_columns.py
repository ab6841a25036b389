"""Converts Arrow columns to the 64-bit words that kernels use for keys and values, and converts words to Arrow columns.

A column of an eight-byte type is not copied, even if the column is a slice. The values of narrower types are widened into a new
array. The words of nulls are undefined, so callers must not use these words.
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
from weir.state.numba_support import Words, address_of


class Encoding(Enum):
    """The encoding of the values of a key column."""

    WORD = "word"
    DECIMAL = "decimal"
    """Two words per value: the low and the high half of the unscaled 128-bit value."""
    BYTES = "bytes"
    """The bytes of all values, and an array of int64 offsets into these bytes. The array of offsets has one more element than
    the column has rows."""


@dataclass(frozen=True, slots=True)
class ColumnWords:
    """An encoded key column. ``addresses`` contains one address for the encoding WORD, two addresses (low and high halves) for
    DECIMAL, and two addresses (offsets and bytes) for BYTES.

    ``nulls`` has one byte per row (1 for a null, 0 for a value). ``nulls`` is None if there are no nulls. ``owners`` contains
    references to the objects that own the memory at ``addresses``. For WORD and DECIMAL, ``owners[i]`` is the NumPy array whose
    memory begins at ``addresses[i]``.
    """

    rows: int
    addresses: tuple[int, ...]
    nulls: npt.NDArray[np.uint8] | None
    owners: tuple[Any, ...] = field(repr=False)


def value_type(type_: pa.DataType) -> pa.DataType:
    """Return the type of the values if ``type_`` is a dictionary type, else ``type_`` itself."""
    return type_.value_type if pa.types.is_dictionary(type_) else type_


def encoding_of(name: str, type_: pa.DataType) -> Encoding:
    """Return the encoding of a key column. Raises SchemaError if values of ``type_`` cannot be keys."""
    type_ = value_type(type_)
    kinds = pa.types
    integral = kinds.is_integer(type_) or kinds.is_boolean(type_)
    if integral or kinds.is_date(type_) or kinds.is_timestamp(type_) or kinds.is_time(type_):
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
        advice = "Cast the column to an integer, a decimal or a string, because rounding and NaN make floats bad keys."
    else:
        advice = "Cast the column to an integer, string, date, timestamp, boolean or decimal."
    raise SchemaError(f"column {name!r} of type {type_} cannot be a key. {advice}")


def column_words(column: pa.Array, encoding: Encoding) -> ColumnWords:
    """Encode the values of ``column`` with ``encoding``. If the column is dictionary-encoded, the function decodes it first."""
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
    """Return one byte per row (1 for a null, 0 for a value), or None if the column has no nulls."""
    if column.null_count == 0:
        return None
    bitmap = column.buffers()[0]
    if bitmap is None:
        return np.ones(len(column), dtype=np.uint8)
    valid = _bits(bitmap, column.offset, len(column))
    return np.asarray(1 - valid, dtype=np.uint8)


def integer_words(column: pa.Array) -> npt.NDArray[np.int64]:
    """Return integers, booleans, dates, times and timestamps as int64. A uint64 value keeps its 64 bits, which are reinterpreted
    as int64. Columns of eight-byte types are not copied."""
    type_ = column.type
    if pa.types.is_boolean(type_):
        return _bits(column.buffers()[1], column.offset, len(column)).astype(np.int64)
    if type_.bit_width == 64:
        return _fixed(column, np.dtype(np.int64))
    prefix = "u" if pa.types.is_unsigned_integer(type_) else "i"
    return _fixed(column, np.dtype(f"{prefix}{type_.bit_width // 8}")).astype(np.int64)


def float_words(column: pa.Array) -> npt.NDArray[np.float64]:
    """Return numbers and booleans as float64. A float64 column is not copied."""
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


SIGN_BIT = np.int64(-(2**63))
"""The sign bit of a word. The sign bit is flipped in uint64 values, so that a comparison as int64 orders them correctly."""


def allocate_words(rows: int) -> pa.Buffer:
    """Allocate ``rows`` uninitialised words from Arrow's memory pool, which reuses freed pages."""
    return pa.allocate_buffer(8 * rows)


def column_from_words(words: pa.Buffer, rows: int, type_: pa.DataType, valid: npt.NDArray[np.uint8] | None = None) -> pa.Array:
    """Convert ``rows`` words to an array of ``type_``. For float types, each word contains a float64. Words of eight-byte types
    are not copied, except for uint64.

    ``valid`` has one byte per row (0 for a null, 1 for a value). ``valid`` is None if there are no nulls.
    """
    bitmap, null_count = None, 0
    if valid is not None:
        null_count = rows - int(np.count_nonzero(valid))
        bitmap = pa.py_buffer(np.packbits(valid, bitorder="little")) if null_count else None
    return pa.Array.from_buffers(type_, rows, [bitmap, _narrow(words, rows, type_)], null_count)


def _narrow(words: pa.Buffer, rows: int, type_: pa.DataType) -> pa.Buffer:
    values: Words = np.frombuffer(words, np.int64, rows)
    if pa.types.is_boolean(type_):
        return pa.py_buffer(np.packbits(values != 0, bitorder="little"))
    if type_ == pa.uint64():
        return pa.py_buffer(values ^ SIGN_BIT)
    if type_.bit_width == 64:
        return words
    width = type_.bit_width // 8
    if pa.types.is_floating(type_):
        with np.errstate(over="ignore"):
            return pa.py_buffer(values.view(np.float64).astype(f"f{width}"))
    target: np.dtype[Any] = np.dtype(f"{'u' if pa.types.is_unsigned_integer(type_) else 'i'}{width}")
    return pa.py_buffer(values.astype(target))


_TAKEABLE_TYPES = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}


def take_rows(column: pa.Array, rows: Words) -> pa.Array:
    """Return ``column.take(rows)``. The function also supports view types, which Arrow's ``take`` does not support."""
    takeable_type = _TAKEABLE_TYPES.get(column.type)
    if takeable_type is not None:
        return column.cast(takeable_type).take(pa.array(rows)).cast(column.type)
    return column.take(pa.array(rows))
