"""The stable hash of a key, which is the same on every host, in every version, and for every physical encoding of the key.

The hash determines the key group of a key, so the hash must never change. Tests compare the hash with fixed vectors. A key is a
sequence of columns, and the value of a column is one or more 64-bit words. The hash starts with SEED. For each word of each
column, in order, the hash becomes ``fmix64(hash ^ word)``. The function ``fmix64`` is the finaliser of MurmurHash3, which is a
bijection. The words of a value depend on its type.

- Integers of any width, booleans, dates, times and timestamps have one word: the value, extended to 64 bits. So int32 7 and int64
  7 have the same hash. A timestamp is in the unit of its type, so the same time in another unit has another hash.
- A decimal128 has two words: the low word and the high word of the unscaled value.
- A string or binary value has one word: the hash of its bytes (``hash_bytes``). The word does not depend on the offset width, and
  is the same for views and dictionary-encoded columns.
- A null has the word ``NULL_WORD``, regardless of the contents of the buffer.

Floats cannot be keys, because NaNs, rounding, and the two zeros (-0.0 and 0.0) make the equality of floats unreliable.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from weir.state.arrow_columns import Encoding, column_words, encoding_of
from weir.state.numba_support import address_of, kernel, load8, load16, load32, load64

SEED = np.uint64(0x9E3779B97F4A7C15)
NULL_WORD = np.uint64(0xA0761D6478BD642F)
_MIX_1 = np.uint64(0xFF51AFD7ED558CCD)
_MIX_2 = np.uint64(0xC4CEB9FE1A85EC53)
_SHIFT = np.uint64(33)
_HALF = np.uint64(32)

Hashes = npt.NDArray[np.uint64]


@kernel
def fmix64(word: np.uint64) -> np.uint64:
    word ^= word >> _SHIFT
    word *= _MIX_1
    word ^= word >> _SHIFT
    word *= _MIX_2
    word ^= word >> _SHIFT
    return word


@kernel
def hash_bytes(address: int, length: int) -> np.uint64:
    """Hash eight bytes per round (little-endian), then the remaining 1 to 7 bytes if there are any, and then the length."""
    hashed = SEED
    end = address + (length & -8)
    while address < end:
        hashed = fmix64(hashed ^ np.uint64(load64(address)))
        address += 8
    rest = length & 7
    if rest:
        tail = np.uint64(0)
        shift = np.uint64(0)
        if rest & 4:
            tail = np.uint64(load32(address)) & np.uint64(0xFFFFFFFF)
            address += 4
            shift = _HALF
        if rest & 2:
            tail |= np.uint64(load16(address)) << shift
            address += 2
            shift += np.uint64(16)
        if rest & 1:
            tail |= np.uint64(load8(address)) << shift
        hashed = fmix64(hashed ^ tail)
    return fmix64(hashed ^ np.uint64(length))


@kernel
def hash_word_column(words: int, nulls: int, rows: int, hashes: Hashes) -> None:
    """Mix the next word of each row into the hash of the row. ``nulls`` is the address of an array with one byte per row (1 for
    a null, 0 for a value). ``nulls`` is 0 if there are no nulls."""
    if nulls == 0:
        for row in range(rows):
            hashes[row] = fmix64(hashes[row] ^ np.uint64(load64(words + 8 * row)))
    else:
        for row in range(rows):
            word = np.uint64(load64(words + 8 * row))
            if load8(nulls + row):
                word = NULL_WORD
            hashes[row] = fmix64(hashes[row] ^ word)


@kernel
def hash_bytes_column(starts: int, data: int, nulls: int, rows: int, hashes: Hashes) -> None:
    """Mix the string (or binary value) of each row into the hash of the row. ``starts`` is the address of rows + 1 offsets
    (int64) into ``data``."""
    for row in range(rows):
        begin = load64(starts + 8 * row)
        word = hash_bytes(data + begin, load64(starts + 8 * row + 8) - begin)
        if nulls != 0 and load8(nulls + row):
            word = NULL_WORD
        hashes[row] = fmix64(hashes[row] ^ word)


@kernel
def choose_groups(hashes: Hashes, count: np.uint64, groups: npt.NDArray[np.uint16]) -> None:
    if count & (count - np.uint64(1)) == 0:
        for row in range(len(hashes)):
            groups[row] = np.uint16((hashes[row] >> _HALF) & (count - np.uint64(1)))
    else:
        for row in range(len(hashes)):
            groups[row] = np.uint16((hashes[row] >> _HALF) % count)


def hash_columns(columns: Sequence[pa.Array], names: Sequence[str] | None = None) -> Hashes:
    """Return one hash per row of ``columns``, which have equal lengths. Raises SchemaError if a column cannot be a key."""
    rows = len(columns[0])
    hashes = np.full(rows, SEED, dtype=np.uint64)
    for position, column in enumerate(columns):
        name = names[position] if names is not None else str(position)
        encoding = encoding_of(name, column.type)
        words = column_words(column, encoding)
        nulls = 0 if words.nulls is None else address_of(words.nulls)
        if encoding is Encoding.BYTES:
            hash_bytes_column(words.addresses[0], words.addresses[1], nulls, rows, hashes)
        else:
            for address in words.addresses:
                hash_word_column(address, nulls, rows, hashes)
    return hashes


def key_groups_of(hashes: Hashes, max_parallelism: int) -> npt.NDArray[np.uint16]:
    """Return the key groups. The high bits of a hash select the key group, and the subtask's hash index uses the low bits."""
    groups = np.empty(len(hashes), dtype=np.uint16)
    choose_groups(hashes, np.uint64(max_parallelism), groups)
    return groups
