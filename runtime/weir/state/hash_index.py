"""The open-addressing index: maps the hash of a key to the dense, stable number of its row.

A slot is one word, ``tag << 32 | row + 1``; 0 is empty. The tag is the low half of the key's hash, and probing begins at the tag's
position. So the table can grow by reading its slots alone, without the keys. Entries are never deleted. A matching tag is only a
candidate: the lookup compares the key itself.

Growth is incremental. A new table of twice the size becomes the front table, and the old one stays readable. Every batch moves
some slots. A key that is not in the front table is searched in the old one before it counts as new. A slot is the same word in
both tables, so moving it twice is detected.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from weir.state.numba_support import Words, address_of, kernel, load64, signed, store64

# Fields of the control array, which the kernels of an index share.
SLOTS = 0
MASK = 1
OLD_SLOTS = 2
"""Address of the old table; 0: none."""
OLD_MASK = 3
ROWS = 4
"""Number of rows, which is also the number of the next new row."""
ROW_LIMIT = 5
"""Maximum number of rows before the caller has to make room."""
CONTROL_WORDS = 6

ROW_MASK = np.uint64(0xFFFFFFFF)
TAG_SHIFT = np.uint64(32)
SLOTS_MIN = 1 << 10
MOVED_PER_ROW = 4
"""Old slots to move per folded record, so that the old table is empty long before the new one is half full."""


@kernel
def move_slots(control: Words, begin: int, end: int) -> None:
    """Copy old slots ``begin`` to ``end`` to the front table, except those that it already contains."""
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
    """Owns the slot tables. Kernels read ``control`` and insert new keys themselves."""

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
        """Number of rows that fit without growing: the table stays at most half full."""
        return len(self._slots) // 2

    @property
    def nbytes(self) -> int:
        return self._slots.nbytes + (0 if self._old is None else self._old.nbytes)

    def grow(self) -> None:
        """Double the size. Growing is cheap, because the pages are allocated later, when slots are moved."""
        self.advance(len(self._slots))
        old = self._slots
        self._install(2 * len(old))
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
