"""The kernel that folds records into the rows of their keys, a block of a few hundred records at a time.

For each block, the kernel first hashes the keys, and finds or adds the row of each key. The lookups of a block are independent,
so their cache misses overlap. Next, the kernel records which rows change, if a snapshot or the caller needs this information.
Then one loop per aggregate updates the rows and writes the running results. The loops find the rows in the CPU cache, because
the lookups of the keys have already loaded the rows. The kernel reads the properties of a schema from small arrays once per
block. Therefore one kernel serves all schemas, and a job with a new schema needs no compilation.
"""

from __future__ import annotations

import numpy as np

from weir.state.accumulators import accumulate, mark_seen
from weir.state.change_tracker import TRACKING, UNDO_LIMIT, UNDO_USED, track_changes
from weir.state.hash_index import MASK, OLD_MASK, OLD_SLOTS, ROW_LIMIT, ROW_MASK, ROWS, SLOTS, TAG_SHIFT
from weir.state.hashing import SEED, fmix64
from weir.state.numba_support import Words, kernel, load8, load16, load64, signed, store64
from weir.state.row_chunks import CHUNK_MASK, CHUNK_SHIFT

BLOCK = 256

# The fields of ``keys``, the array that describes the keys of a batch.
KEY_WORDS = 0
"""The number of words per key. ``keys[KEY_COLUMNS + w]`` is the address of an array that contains word w of each key."""
KEY_NULLS = 1
"""The address of an array with one uint16 per record. Bit c of the uint16 is 1 if key column c of the record is null. KEY_NULLS
is 0 if there are no nulls."""
KEY_IDS = 2
"""The address of an array with the row number (int64) of each record, if the caller already knows the rows of the keys. The
caller must number the rows of new keys consecutively, in the order of their first records. If KEY_IDS is 0, the kernel looks up
the rows of the keys."""
KEY_COLUMNS = 3

_NULL_MIX = np.uint64(0xE7037ED1A0B428DB)
_TAG_MASK = np.uint64(0xFFFFFFFF)
_KEY_NULLS_MASK = 0xFFFF


@kernel
def same_key(address: int, keys: Words, record: int, nulls: int) -> bool:
    """Return whether the row at ``address`` has the key of ``record``."""
    if load64(address) & _KEY_NULLS_MASK != nulls:
        return False
    for word in range(keys[KEY_WORDS]):
        if load64(address + 8 + 8 * word) != load64(keys[KEY_COLUMNS + word] + 8 * record):
            return False
    return True


@kernel
def new_row(address: int, keys: Words, record: int, nulls: int, template: Words) -> None:
    for word in range(len(template)):
        store64(address + 8 * word, template[word])
    store64(address, template[0] | nulls)
    for word in range(keys[KEY_WORDS]):
        store64(address + 8 + 8 * word, load64(keys[KEY_COLUMNS + word] + 8 * record))


@kernel
def find_or_add(tag: np.uint64, control: Words, chunks: Words, row_bytes: int, keys: Words, record: int, nulls: int,
                template: Words) -> int:  # fmt: skip
    """Return the row number of a key that the fast search in ``locate`` has not found. Searches the new table of the index, and
    then the old table that is being copied. If neither table has the key, adds a row."""
    slots, mask = control[SLOTS], control[MASK]
    position = signed(tag) & mask
    while True:
        slot = np.uint64(load64(slots + 8 * position))
        if slot == 0:
            break
        if slot >> TAG_SHIFT == tag:
            row = signed(slot & ROW_MASK) - 1
            if same_key(chunks[row >> CHUNK_SHIFT] + (row & CHUNK_MASK) * row_bytes, keys, record, nulls):
                return row
        position = (position + 1) & mask
    if control[OLD_SLOTS] != 0:
        old = signed(tag) & control[OLD_MASK]
        while True:
            slot = np.uint64(load64(control[OLD_SLOTS] + 8 * old))
            if slot == 0:
                break
            if slot >> TAG_SHIFT == tag:
                row = signed(slot & ROW_MASK) - 1
                if same_key(chunks[row >> CHUNK_SHIFT] + (row & CHUNK_MASK) * row_bytes, keys, record, nulls):
                    store64(slots + 8 * position, signed(slot))
                    return row
            old = (old + 1) & control[OLD_MASK]
    row = signed(control[ROWS])
    control[ROWS] = row + 1
    store64(slots + 8 * position, signed((tag << TAG_SHIFT) | np.uint64(row + 1)))
    new_row(chunks[row >> CHUNK_SHIFT] + (row & CHUNK_MASK) * row_bytes, keys, record, nulls, template)
    return row


@kernel
def hash_keys(begin: int, count: int, keys: Words, tags: Words) -> None:
    """Hash the keys of the records from ``begin`` to ``begin + count``, and write the tags of the keys to ``tags``."""
    first = keys[KEY_COLUMNS] + 8 * begin
    for i in range(count):
        hashed = fmix64(SEED ^ np.uint64(load64(first + 8 * i)))
        tags[i] = signed(hashed)
    for word in range(1, keys[KEY_WORDS]):
        column = keys[KEY_COLUMNS + word] + 8 * begin
        for i in range(count):
            tags[i] = signed(fmix64(np.uint64(tags[i]) ^ np.uint64(load64(column + 8 * i))))
    if keys[KEY_NULLS] != 0:
        for i in range(count):
            tags[i] ^= signed(np.uint64(load16(keys[KEY_NULLS] + 2 * (begin + i))) * _NULL_MIX)
    for i in range(count):
        tags[i] = signed(np.uint64(tags[i]) & _TAG_MASK)


@kernel
def locate(begin: int, count: int, control: Words, chunks: Words, keys: Words, template: Words, rows: Words,
           addresses: Words, tags: Words) -> None:  # fmt: skip
    """For each record from ``begin`` to ``begin + count``, find or add the row of the record's key. Write the row's number to
    ``rows``, and the row's address to ``addresses``."""
    row_bytes = 8 * len(template)
    slots, mask = control[SLOTS], control[MASK]
    first = keys[KEY_COLUMNS] + 8 * begin
    hash_keys(begin, count, keys, tags)
    # Most keys are in the first or the second slot of their probe sequence. So load both slots, and select one without a branch. With
    # a branch, the CPU would guess the result while it waits for memory, and a wrong guess takes long to correct. ``rows`` contains
    # the selected slots until the row numbers are known.
    for i in range(count):
        position = tags[i] & mask
        first_slot, second_slot = load64(slots + 8 * position), load64(slots + 8 * ((position + 1) & mask))
        rows[i] = second_slot if np.uint64(second_slot) >> TAG_SHIFT == np.uint64(tags[i]) else first_slot
    for i in range(count):
        tag, slot = np.uint64(tags[i]), np.uint64(rows[i])
        position = tags[i] & mask
        while slot != 0 and slot >> TAG_SHIFT != tag:
            position = (position + 1) & mask
            slot = np.uint64(load64(slots + 8 * position))
        row = signed(slot & ROW_MASK) - 1
        rows[i] = row
        if row >= 0:
            addresses[i] = chunks[row >> CHUNK_SHIFT] + (row & CHUNK_MASK) * row_bytes
        else:
            addresses[i] = 0
    # Use ``signed(0)``, because numba would compile the called functions a second time for the literal 0.
    nulls = signed(0)
    if keys[KEY_WORDS] == 1 and keys[KEY_NULLS] == 0:
        for i in range(count):
            address = addresses[i]
            if address == 0 or load64(address + 8) != load64(first + 8 * i) or load64(address) & _KEY_NULLS_MASK != 0:
                row = find_or_add(np.uint64(tags[i]), control, chunks, row_bytes, keys, begin + i, nulls, template)
                rows[i] = row
                addresses[i] = chunks[row >> CHUNK_SHIFT] + (row & CHUNK_MASK) * row_bytes
        return
    for i in range(count):
        nulls = signed(0)
        if keys[KEY_NULLS] != 0:
            nulls = signed(load16(keys[KEY_NULLS] + 2 * (begin + i)))
        if addresses[i] == 0 or not same_key(addresses[i], keys, begin + i, nulls):
            row = find_or_add(np.uint64(tags[i]), control, chunks, row_bytes, keys, begin + i, nulls, template)
            rows[i] = row
            addresses[i] = chunks[row >> CHUNK_SHIFT] + (row & CHUNK_MASK) * row_bytes


@kernel
def locate_ids(begin: int, count: int, control: Words, chunks: Words, keys: Words, template: Words, rows: Words,
               addresses: Words) -> None:  # fmt: skip
    """Do the same as ``locate``, but without a search, because the ids of the keys are row numbers."""
    row_bytes = 8 * len(template)
    for i in range(count):
        row = load64(keys[KEY_IDS] + 8 * (begin + i))
        address = chunks[row >> CHUNK_SHIFT] + (row & CHUNK_MASK) * row_bytes
        if row == control[ROWS]:
            control[ROWS] = row + 1
            new_row(address, keys, begin + i, signed(0), template)
        rows[i] = row
        addresses[i] = address


@kernel
def fold(begin: int, end: int, control: Words, chunks: Words, keys: Words, template: Words, aggregates: Words, seen: Words,
         tracking: Words, scratch: Words) -> int:  # fmt: skip
    """Fold records ``begin`` to ``end``. Returns the number of the first record that is not folded. The kernel stops before
    ``end`` if there is no room for the new rows or the undo entries of the next block. If a sum of integers exceeds the range of
    int64, the kernel sets ``aggregates[0, 0]`` to the number of the aggregate (from 1)."""
    rows, addresses, tags = scratch[0], scratch[1], scratch[2]
    position = begin
    while position < end:
        count = min(BLOCK, end - position)
        if control[ROWS] + count > control[ROW_LIMIT]:
            break
        if tracking[TRACKING] != 0 and tracking[UNDO_USED] + count > tracking[UNDO_LIMIT]:
            break
        if keys[KEY_IDS] != 0:
            locate_ids(position, count, control, chunks, keys, template, rows, addresses)
        else:
            locate(position, count, control, chunks, keys, template, rows, addresses, tags)
        if tracking[TRACKING] != 0:
            track_changes(position, count, rows, addresses, len(template), tracking)
        if len(seen) != 0:
            mark_seen(position, count, addresses, seen)
        accumulate(position, count, addresses, aggregates)
        position += count
    return position


# ``append_rows`` takes the arrays ``columns`` and ``seen``, which describe restored values. Each row of these arrays has the
# fields TARGET and VALUES.
TARGET = 0
"""In ``columns``, TARGET is the position of the written word in the row. In ``seen``, TARGET is the number of the written bit in
``meta``."""
VALUES = 1
"""The address of the values: one word per row, or one byte per row for seen bits."""


@kernel
def append_rows(first: int, count: int, chunks: Words, keys: Words, template: Words, columns: Words, seen: Words) -> None:
    """Write ``count`` restored rows. The first row gets the number ``first``, and the numbers of the rows are consecutive."""
    for i in range(count):
        row = first + i
        address = chunks[row >> CHUNK_SHIFT] + (row & CHUNK_MASK) * 8 * len(template)
        nulls = signed(0)
        if keys[KEY_NULLS] != 0:
            nulls = signed(load16(keys[KEY_NULLS] + 2 * i))
        new_row(address, keys, i, nulls, template)
        for column in range(len(columns)):
            store64(address + 8 * columns[column, TARGET], load64(columns[column, VALUES] + 8 * i))
        meta = load64(address)
        for column in range(len(seen)):
            bit = 1 << seen[column, TARGET]
            meta = meta | bit if load8(seen[column, VALUES] + i) else meta & ~bit
        store64(address, meta)


@kernel
def index_rows(first: int, count: int, control: Words, chunks: Words, row_bytes: int, keys: Words, scratch: Words) -> bool:
    """Add ``count`` restored rows to the index, from row ``first`` on. Returns False if two rows have the same key. The index
    must have room for the rows, and must not be moving slots from an old table. If the ids of the keys serve as row numbers,
    the kernel does not use the index. Instead, the kernel checks that the id of each key equals the key's row number.

    The kernel processes the rows in blocks. For each block, the kernel first loads the slots at which probing begins. The loads
    of slots are independent, so their cache misses overlap.
    """
    if keys[KEY_IDS] != 0:
        for i in range(count):
            if load64(keys[KEY_IDS] + 8 * i) != first + i:
                return False
        return True
    slots, mask = control[SLOTS], control[MASK]
    loaded, tags = scratch[0], scratch[2]
    for begin in range(0, count, BLOCK):
        block = min(BLOCK, count - begin)
        hash_keys(begin, block, keys, tags)
        for i in range(block):
            loaded[i] = load64(slots + 8 * (tags[i] & mask))
        for i in range(block):
            tag, position, number = np.uint64(tags[i]), tags[i] & mask, first + begin + i
            while True:
                slot = np.uint64(load64(slots + 8 * position))
                if slot == 0:
                    break
                if slot >> TAG_SHIFT == tag:
                    row = signed(slot & ROW_MASK) - 1
                    nulls = load64(chunks[number >> CHUNK_SHIFT] + (number & CHUNK_MASK) * row_bytes) & _KEY_NULLS_MASK
                    if same_key(chunks[row >> CHUNK_SHIFT] + (row & CHUNK_MASK) * row_bytes, keys, begin + i, nulls):
                        return False
                position = (position + 1) & mask
            store64(slots + 8 * position, signed((tag << TAG_SHIFT) | np.uint64(number + 1)))
    return True
