"""A hash index with open addressing. The index maps the hash of a key to the number of the key's row. The number of a row never
changes.

A slot of the table is one word: ``tag << 32 | row + 1``, or 0 if the slot is empty. The tag is the low half of the key's hash,
and determines the slot at which probing begins. Because the slots contain the tags, the index can move the slots to a larger
table without reading the keys. Entries are never deleted. Different keys can have the same tag, so a lookup also compares the
keys.

The index grows incrementally. ``grow`` allocates a new table of twice the size, and every batch copies some slots of the old
table to the new table. Before a kernel adds a key, it searches the new table and then the old table. If the kernel finds the
key only in the old table, the kernel copies the key's slot to the new table. A slot and its copy have the same value, so
``move_slots`` recognises slots that the new table already contains, and does not copy them again.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from weir.state.numba_support import Words, address_of, kernel, load64, signed, store64

# The fields of ``control``, the array through which kernels use the index.
SLOTS = 0
MASK = 1
OLD_SLOTS = 2
"""The address of the old table while its slots are moved to the new table, or 0 if no slots are being moved."""
OLD_MASK = 3
ROWS = 4
"""The number of rows. The next new row gets the number ROWS, because row numbers begin at 0."""
ROW_LIMIT = 5
"""The maximum number of rows. The kernel stops before it exceeds ROW_LIMIT, so that the caller can make room for more rows."""
CONTROL_WORDS = 6

ROW_MASK = np.uint64(0xFFFFFFFF)
TAG_SHIFT = np.uint64(32)
SLOTS_MIN = 1 << 10
MOVED_PER_ROW = 4
"""The number of slots to move from the old table to the new table per folded record. With this value of MOVED_PER_ROW, all
slots are moved long before the new table is half full."""


@kernel
def move_slots(control: Words, begin: int, end: int) -> None:
    """Copy slots ``begin`` to ``end`` of the old table to the new table, except slots that the new table already contains."""
    slots, mask = control[SLOTS], control[MASK]
    for old in range(begin, end):
        slot = load64(control[OLD_SLOTS] + 8 * old)
        if slot != 0:
            position = signed(np.uint64(slot) >> TAG_SHIFT) & mask
            while True:
                other = load64(slots + 8 * position)
                if other == 0:
                    store64(slots + 8 * position, slot)
                    break
                if other == slot:
                    break
                position = (position + 1) & mask


class HashIndex:
    """Owns the tables of the index. Kernels look up and insert keys, and read the addresses of the tables from ``control``."""

    def __init__(self, slots: int = SLOTS_MIN) -> None:
        self.control: Words = np.zeros(CONTROL_WORDS, dtype=np.int64)
        self._slots: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._old: npt.NDArray[np.int64] | None = None
        self._moved = 0
        self._install(slots)

    @property
    def rows(self) -> int:
        return int(self.control[ROWS])

    @property
    def limit(self) -> int:
        """The number of rows that fit before the table must grow. A table is at most half full, so ``limit`` is half the number
        of slots."""
        return len(self._slots) // 2

    @property
    def nbytes(self) -> int:
        return self._slots.nbytes + (0 if self._old is None else self._old.nbytes)

    def grow(self) -> None:
        """Double the size of the table. The call is cheap, because the system allocates the pages later, when slots are moved."""
        self._grow(2 * len(self._slots))

    def reserve(self, rows: int) -> None:
        """Make room for ``rows`` rows in total. Move all slots of the old table at once, so that only the new table remains
        after the call."""
        if rows > self.limit:
            self._grow(1 << (2 * rows - 1).bit_length())
        self.advance(len(self._slots))

    def _grow(self, slots: int) -> None:
        self.advance(len(self._slots))
        old = self._slots
        self._install(slots)
        self._old = old
        self._moved = 0
        self.control[OLD_SLOTS] = address_of(old)
        self.control[OLD_MASK] = len(old) - 1

    def advance(self, rows: int) -> None:
        """Move MOVED_PER_ROW slots of the old table for each of ``rows`` folded records."""
        if self._old is None:
            return
        end = min(self._moved + MOVED_PER_ROW * rows, len(self._old))
        move_slots(self.control, self._moved, end)
        self._moved = end
        if end == len(self._old):
            self._old = None
            self.control[OLD_SLOTS] = 0

    def _install(self, slots: int) -> None:
        assert slots & (slots - 1) == 0
        self._slots = np.zeros(slots, dtype=np.int64)
        self.control[SLOTS] = address_of(self._slots)
        self.control[MASK] = slots - 1
