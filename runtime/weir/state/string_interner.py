"""Interns strings: assigns consecutive integer ids to the distinct values of a string (or binary) key column. An id never
changes.

An entry is a row of four words: the hash, the address of the bytes, the length (-1 for null), and the first eight bytes. The
arena is the memory that contains the bytes of all strings. Comparing strings of at most eight bytes does not read the arena,
because the entry contains these bytes. An existing entry and its bytes never change or move, so a snapshot copies neither the
entries nor the arena.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from weir.state.arrow_columns import ColumnWords
from weir.state.hash_index import MASK, OLD_MASK, OLD_SLOTS, ROW_LIMIT, ROW_MASK, ROWS, SLOTS, TAG_SHIFT, HashIndex
from weir.state.hashing import hash_bytes
from weir.state.numba_support import Words, address_of, kernel, load8, load16, load32, load64, signed, store8, store64
from weir.state.row_chunks import CHUNK_MASK, CHUNK_SHIFT, RowChunks

ENTRY_WORDS = 4
ENTRY_BYTES = 8 * ENTRY_WORDS
SEGMENT_BYTES = 1 << 20
NULL_LENGTH = -1
ARENA_NEXT = 0
ARENA_END = 1
ARENA_TOUCHED = 2
"""``intern`` loads slots before it needs them. It combines the loaded slots in ARENA_TOUCHED, so that the compiler does not
remove these early loads."""
ARENA_WORDS = 3
TOUCHED_SLOTS_MIN = 1 << 14
"""``intern`` loads slots early only if the table has at least this number of slots. A smaller table fits into the CPU cache."""
BLOCK = 256
_TAG_MASK = np.uint64(0xFFFFFFFF)
_LOW_HALF = 0xFFFFFFFF


@kernel
def first_bytes(address: int, length: int) -> int:
    """Return the first eight bytes of a string as a little-endian word, padded with zeros."""
    if length >= 8:
        return signed(load64(address))
    prefix = signed(0)
    shift = 0
    if length & 4:
        prefix = signed(load32(address)) & _LOW_HALF
        address += 4
        shift = 32
    if length & 2:
        prefix |= signed(load16(address)) << shift
        address += 2
        shift += 16
    if length & 1:
        prefix |= signed(load8(address)) << shift
    return prefix


@kernel
def same_bytes(left: int, right: int, length: int) -> bool:
    end = left + length
    while left + 8 <= end:
        if load64(left) != load64(right):
            return False
        left += 8
        right += 8
    while left < end:
        if load8(left) != load8(right):
            return False
        left += 1
        right += 1
    return True


@kernel
def copy_bytes(source: int, target: int, length: int) -> None:
    end = source + length
    while source + 8 <= end:
        store64(target, load64(source))
        source += 8
        target += 8
    while source < end:
        store8(target, load8(source))
        source += 1
        target += 1


@kernel
def find_string(slots: int, mask: int, hashed: int, address: int, length: int, prefix: int, entries: Words) -> int:
    """Return the id of the string. If the string has no id, return ``-1 - p``, where p is the position of the empty slot for the
    string."""
    tag = np.uint64(hashed) & _TAG_MASK
    position = signed(tag) & mask
    while True:
        slot = np.uint64(load64(slots + 8 * position))
        if slot == 0:
            return -position - 1
        if slot >> TAG_SHIFT == tag:
            number = signed(slot & ROW_MASK) - 1
            entry = entries[number >> CHUNK_SHIFT] + (number & CHUNK_MASK) * ENTRY_BYTES
            if (
                load64(entry) == hashed
                and load64(entry + 16) == length
                and load64(entry + 24) == prefix
                and (length <= 8 or same_bytes(load64(entry + 8), address, length))
            ):
                return number
        position = (position + 1) & mask


@kernel
def intern(begin: int, end: int, starts: int, data: int, nulls: int, control: Words, entries: Words, arena: Words,
           ids: Words) -> int:  # fmt: skip
    """Write the ids of values ``begin`` to ``end`` into ``ids``. If the index, the entries or the arena is full, returns the
    position of the first value without an id. Otherwise returns ``end``.

    For each block, the kernel first hashes the strings and loads the slots at which probing begins. The loads of slots are
    independent, so their cache misses overlap.
    """
    for block in range(begin, end, BLOCK):
        block_end = min(block + BLOCK, end)
        touched = signed(0)
        for record in range(block, block_end):
            hashed = signed(0)
            if nulls == 0 or load8(nulls + record) == 0:
                start = load64(starts + 8 * record)
                hashed = signed(hash_bytes(data + start, load64(starts + 8 * record + 8) - start))
            ids[record] = hashed
        if control[MASK] >= TOUCHED_SLOTS_MIN:
            for record in range(block, block_end):
                touched |= load64(control[SLOTS] + 8 * (signed(np.uint64(ids[record]) & _TAG_MASK) & control[MASK]))
            arena[ARENA_TOUCHED] = touched
        for record in range(block, block_end):
            hashed = ids[record]
            address = data + load64(starts + 8 * record)
            length = load64(starts + 8 * record + 8) - load64(starts + 8 * record)
            prefix = signed(0)
            if nulls != 0 and load8(nulls + record):
                length = NULL_LENGTH
            else:
                prefix = first_bytes(address, length)
            number = find_string(control[SLOTS], control[MASK], hashed, address, length, prefix, entries)
            if number < 0:
                slot_address = control[SLOTS] + 8 * (-number - 1)
                if control[OLD_SLOTS] != 0:
                    number = find_string(control[OLD_SLOTS], control[OLD_MASK], hashed, address, length, prefix, entries)
                if number < 0:
                    if control[ROWS] >= control[ROW_LIMIT] or arena[ARENA_NEXT] + length > arena[ARENA_END]:
                        return record
                    number = control[ROWS]
                    control[ROWS] = number + 1
                    entry = entries[number >> CHUNK_SHIFT] + (number & CHUNK_MASK) * ENTRY_BYTES
                    store64(entry, hashed)
                    store64(entry + 8, arena[ARENA_NEXT])
                    store64(entry + 16, length)
                    store64(entry + 24, prefix)
                    if length > 0:
                        copy_bytes(address, arena[ARENA_NEXT], length)
                        arena[ARENA_NEXT] += length
                store64(slot_address, signed(((np.uint64(hashed) & _TAG_MASK) << TAG_SHIFT) | np.uint64(number + 1)))
            ids[record] = number
    return end


@kernel
def measure_strings(ids: Words, entries: Words, offsets: Words, valid: npt.NDArray[np.uint8]) -> int:
    """Compute the Arrow offsets and the validity of the strings with the given ids. ``offsets`` has one element more than
    ``ids``, and ``valid`` has one byte per id. Returns the number of nulls."""
    nulls = 0
    total = 0
    for i in range(len(ids)):
        offsets[i] = total
        length = load64(entries[ids[i] >> CHUNK_SHIFT] + (ids[i] & CHUNK_MASK) * ENTRY_BYTES + 16)
        valid[i] = length >= 0
        if length >= 0:
            total += length
        else:
            nulls += 1
    offsets[len(ids)] = total
    return nulls


@kernel
def copy_strings(ids: Words, entries: Words, offsets: Words, data: int) -> None:
    for i in range(len(ids)):
        entry = entries[ids[i] >> CHUNK_SHIFT] + (ids[i] & CHUNK_MASK) * ENTRY_BYTES
        copy_bytes(load64(entry + 8), data + offsets[i], offsets[i + 1] - offsets[i])


class StringInterner:
    def __init__(self) -> None:
        self.index = HashIndex()
        self._entries = RowChunks(ENTRY_WORDS)
        self._arena: Words = np.zeros(ARENA_WORDS, dtype=np.int64)
        self._segments: list[npt.NDArray[np.uint8]] = []
        self._arena_bytes = 0

    @property
    def nbytes(self) -> int:
        return self.index.nbytes + self.index.rows * ENTRY_BYTES + self._arena_bytes

    def intern(self, values: ColumnWords) -> Words:
        """Return the id of each string. New strings get the next free ids, in the order of their first appearance."""
        starts, data = values.addresses
        nulls = 0 if values.nulls is None else address_of(values.nulls)
        ids = np.empty(values.rows, dtype=np.int64)
        control = self.index.control
        position = 0
        while True:
            control[ROW_LIMIT] = min(self.index.limit, self._entries.capacity)
            position = intern(
                position, values.rows, starts, data, nulls, control, self._entries.addresses, self._arena, ids
            )  # fmt: skip
            if position == values.rows:
                break
            if self.index.rows >= self._entries.capacity:
                self._entries.add_chunk()
            elif self.index.rows >= self.index.limit:
                self.index.grow()
            else:
                offsets: npt.NDArray[np.int64] = values.owners[0]
                self._add_segment(int(offsets[position + 1] - offsets[position]))
        self.index.advance(values.rows)
        return ids

    def reserve(self, strings: int) -> None:
        """Make room for ``strings`` strings in total."""
        self.index.reserve(strings)
        self._entries.reserve(strings)

    def entries(self) -> Words:
        """Return the addresses of the chunks that contain the entries. The addresses stay valid for all current entries while
        another thread adds entries."""
        return self._entries.addresses

    def _add_segment(self, bytes_min: int) -> None:
        segment = np.empty(max(SEGMENT_BYTES, bytes_min), dtype=np.uint8)
        self._segments.append(segment)
        self._arena_bytes += segment.nbytes
        self._arena[ARENA_NEXT] = address_of(segment)
        self._arena[ARENA_END] = address_of(segment) + segment.nbytes


def strings_from_ids(ids: Words, entries: Words, type_: pa.DataType) -> pa.Array:
    """Return the strings with the given ids as an array of ``type_``. The caller must hold a reference to the interner, because
    ``entries`` contains addresses in the interner's memory."""
    wide = np.empty(len(ids) + 1, dtype=np.int64)
    valid = np.empty(len(ids), dtype=np.uint8)
    null_count = measure_strings(ids, entries, wide, valid)
    data = pa.allocate_buffer(int(wide[-1]))
    copy_strings(ids, entries, wide, data.address)
    binary = pa.types.is_binary(type_) or pa.types.is_large_binary(type_) or pa.types.is_binary_view(type_)
    bitmap = pa.py_buffer(np.packbits(valid, bitorder="little")) if null_count else None
    built: Any = pa.large_binary() if binary else pa.large_string()
    array = pa.Array.from_buffers(built, len(ids), [bitmap, pa.py_buffer(wide), data], null_count)
    return array if built == type_ else array.cast(type_)
