"""The open-addressing index: from the hash of a key to the dense, stable number of its row.

A slot is one word, ``tag << 32 | row + 1``, where the tag is the low half of the key's hash and also
says where probing begins; 0 is empty. So the table grows by reading its slots alone, without keys.
Nothing is ever deleted. A tag only proposes a row: whoever looks up compares the key itself.

Growth is incremental. A table of twice the size is put in front and the old one stays readable; every
batch moves some of its slots, and a key that is not found in front is looked for behind before it
counts as new. A slot is the same word in both tables, so moving it a second time is noticed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from weir.state.memory import Words, address_of, kernel, load64, signed, store64

# Fields of the control array that the kernels of an index share.
SLOTS = 0
MASK = 1
OLD_SLOTS = 2
"""Address of the table being left, 0: none."""
OLD_MASK = 3
ROWS = 4
"""Rows there are; the number that the next new key gets."""
ROW_LIMIT = 5
"""Rows there may be before the caller has to make room."""
CONTROL_WORDS = 6

ROW_MASK = np.uint64(0xFFFFFFFF)
TAG_SHIFT = np.uint64(32)
SLOTS_MIN = 1 << 10
MOVED_PER_ROW = 4
"""Old slots moved for each row folded in: the old table is gone long before the new one is half full."""


@kernel
def move_slots(control: Words, begin: int, end: int) -> None:
    """Copy old slots ``begin`` to ``end`` to the table in front, except those that are there already."""
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


class Index:
    """Owns the slot tables. ``control`` is what kernels read; they put new keys into it themselves."""

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
        """Rows that fit without growing: the table is kept at most half full."""
        return len(self._slots) // 2

    @property
    def nbytes(self) -> int:
        return self._slots.nbytes + (0 if self._old is None else self._old.nbytes)

    @property
    def growing(self) -> bool:
        return self._old is not None

    def grow(self) -> None:
        """Double. Costs next to nothing now: fresh pages come with the slots that are moved later."""
        self.advance(len(self._slots))
        old = self._slots
        self._install(2 * len(old))
        self._old = old
        self._moved = 0
        self.control[OLD_SLOTS] = address_of(old)
        self.control[OLD_MASK] = len(old) - 1

    def advance(self, rows: int) -> None:
        """Move as much of the old table as ``rows`` folded rows pay for."""
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
