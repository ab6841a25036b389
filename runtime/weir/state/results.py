"""Words of accumulators as Arrow columns of the type that was promised."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from weir.state.memory import Words

SIGN_BIT = np.int64(-(2**63))
"""Flipped in uint64 values, so that comparing them as int64 orders them."""


def allocate_words(rows: int) -> pa.Buffer:
    """From Arrow's pool, which hands freed memory out again without fresh pages."""
    return pa.allocate_buffer(8 * rows)


def column_of(words: pa.Buffer, rows: int, type_: pa.DataType, valid: npt.NDArray[np.uint8] | None = None) -> pa.Array:
    """``rows`` words (of floats: float64) as an array of ``type_``; without a copy where that is 8 bytes wide.

    ``valid``: a byte a row, 0 for null; None: no nulls.
    """
    bitmap, null_count = None, 0
    if valid is not None:
        null_count = rows - int(np.count_nonzero(valid))
        bitmap = pa.py_buffer(np.packbits(valid, bitorder="little")) if null_count else None
    return pa.Array.from_buffers(type_, rows, [bitmap, _narrowed(words, rows, type_)], null_count)


def _narrowed(words: pa.Buffer, rows: int, type_: pa.DataType) -> pa.Buffer:
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
