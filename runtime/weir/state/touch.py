"""Noting the first touch of a row: what snapshots that go on beside the loop, and updates per batch, live on.

A row's epoch says when it was last touched while somebody wanted to know. Freezing ends an epoch. The
first touch of a row in a newer epoch copies the old row to the undo log, if a snapshot may not have
gathered that row yet; whoever gathers later puts it back. One log serves all snapshots in progress:
an entry tells from which epoch (in the old row) to which (before the touch) the old row was the truth.
"""

from __future__ import annotations

import numpy as np

from weir.state.memory import Words, kernel, load64, signed, store64
from weir.state.rows import EPOCH_SHIFT

# Fields of the tracking array.
TRACKING = 0
"""0: nobody wants to know (the fields below are not looked at)."""
EPOCH = 1
FROZEN_ROWS = 2
"""Rows that the newest snapshot in progress has; 0: none is in progress."""
FROZEN_EPOCH = 3
"""The epoch that the newest snapshot in progress ended."""
GATHERED = 4
"""All snapshots in progress have gathered the rows below this one."""
UNDO = 5
"""Address of the undo log's open segment: entries of 1 + row words, the first being epoch of the touch << 32 | row."""
UNDO_USED = 6
UNDO_LIMIT = 7
FIRST_ADDRESSES = 8
"""Where to note the address of each row touched first in this epoch, and in FIRST_RECORDS its record; 0: do not."""
FIRST_RECORDS = 9
FIRST_USED = 10
TRACKING_WORDS = 11


@kernel
def touch(begin: int, count: int, rows: Words, addresses: Words, row_words: int, tracking: Words) -> None:
    """Called with the rows of a block before they change."""
    epoch = tracking[EPOCH]
    frozen_rows, frozen_epoch, gathered = tracking[FROZEN_ROWS], tracking[FROZEN_EPOCH], tracking[GATHERED]
    first_addresses, first_records = tracking[FIRST_ADDRESSES], tracking[FIRST_RECORDS]
    used, first_used = tracking[UNDO_USED], tracking[FIRST_USED]
    for i in range(count):
        address = addresses[i]
        meta = load64(address)
        touched = signed(np.uint64(meta) >> EPOCH_SHIFT)
        if touched != epoch:
            row = rows[i]
            if gathered <= row < frozen_rows and touched <= frozen_epoch:
                entry = tracking[UNDO] + used * 8 * (row_words + 1)
                used += 1
                store64(entry, (epoch << 32) | row)
                for word in range(row_words):
                    store64(entry + 8 + 8 * word, load64(address + 8 * word))
            if first_addresses != 0:
                store64(first_addresses + 8 * first_used, address)
                store64(first_records + 8 * first_used, begin + i)
                first_used += 1
            store64(address, (meta & 0xFFFFFFFF) | (epoch << 32))
    tracking[UNDO_USED] = used
    tracking[FIRST_USED] = first_used
