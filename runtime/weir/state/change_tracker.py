"""Tracks which rows of a keyed table change. Snapshots in progress and the emit mode BATCH need this information.

The epochs of a tracker are not the epochs between barriers. An epoch of a tracker ends when a snapshot starts and, if
``firsts`` is True, also when a batch starts. Each row contains the epoch of its last tracked change.

The loop copies the rows of a snapshot in small steps while updates continue. If a snapshot in progress may not have copied a row
yet, the kernel saves the old row in the undo log before the row changes for the first time in an epoch. Some rows change after
the end of the snapshot's epoch, but before the loop copies them. When the loop has copied all rows, the snapshot thread replaces
the copies of changed rows with the old rows from the undo log.

All snapshots share one undo log. The snapshot of epoch e uses an undo entry under two conditions. The entry was saved after
epoch e, and its old row was last changed in epoch e or earlier.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from weir.state.numba_support import Words, address_of, kernel, load64, signed, store64
from weir.state.row_chunks import CHUNK_MASK, CHUNK_ROWS, EPOCH_SHIFT, RowChunks, aligned_words, clear_epochs

# The fields of ``tracking``, the array through which the tracker and the kernel exchange data.
TRACKING = 0
"""If TRACKING is 0, the kernel does not track changes and does not read the other fields."""
EPOCH = 1
FROZEN_ROWS = 2
"""The number of rows of the newest snapshot in progress, or 0 if no snapshot is in progress."""
FROZEN_EPOCH = 3
"""The epoch that ended when the newest snapshot in progress started."""
COPIED = 4
"""All snapshots in progress have already copied rows 0 to COPIED - 1."""
UNDO = 5
"""The address of the segment of the undo log to which the kernel adds entries. The first word of an undo entry contains the epoch
of the change and the number of the row (``epoch << 32 | row``). The words of the old row follow the first word."""
UNDO_USED = 6
UNDO_LIMIT = 7
FIRST_ADDRESSES = 8
"""The address of an array to which the kernel adds the address of each row that changes for the first time in this epoch.
FIRST_RECORDS is the address of a parallel array, which contains the number of the record that changes each row. FIRST_ADDRESSES
is 0 if the tracker does not list changed rows."""
FIRST_RECORDS = 9
FIRST_USED = 10
TRACKING_WORDS = 11

COPY_BYTES = 2 << 20
"""The number of bytes that one step copies into a reused buffer. Copying these bytes takes a few tenths of a millisecond. A step
copies at most one chunk."""
COPY_BYTES_FRESH = 1 << 18
"""The number of bytes that one step copies into a new buffer. Copying into a new buffer is many times slower per byte, because
the system must allocate pages."""
UNDO_ENTRIES = 1 << 16
NO_LIMIT = 1 << 62
EPOCHS = 1 << 31
"""When the number of the current epoch has reached EPOCHS and no copy is in progress, the epoch numbers restart at 1."""


@kernel
def track_changes(begin: int, count: int, rows: Words, addresses: Words, row_words: int, tracking: Words) -> None:
    """Record that the rows of a block are about to change. This kernel saves the old rows, so the caller must not change the
    rows before this call."""
    epoch = tracking[EPOCH]
    frozen_rows, frozen_epoch, copied = tracking[FROZEN_ROWS], tracking[FROZEN_EPOCH], tracking[COPIED]
    first_addresses, first_records = tracking[FIRST_ADDRESSES], tracking[FIRST_RECORDS]
    used, first_used = tracking[UNDO_USED], tracking[FIRST_USED]
    for i in range(count):
        address = addresses[i]
        meta = load64(address)
        changed = signed(np.uint64(meta) >> EPOCH_SHIFT)
        if changed != epoch:
            row = rows[i]
            if copied <= row < frozen_rows and changed <= frozen_epoch:
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


@dataclass(frozen=True, slots=True)
class UndoRange:
    """Entries ``begin`` to ``end`` of a segment of the undo log."""

    segment: Words
    begin: int
    end: int


@dataclass(slots=True, eq=False)
class RowCopy:
    """A copy of a table for a snapshot. The copy contains rows 0 to ``rows`` - 1 as they were at the end of ``epoch``.

    ``buffers[c]`` receives chunk c. Some rows change before the loop copies them. From the undo entries in ``undo``, the
    snapshot thread restores the rows that changed before the loop copied them.
    """

    epoch: int
    rows: int
    row_words: int
    first_segment: int
    first_entry: int
    copied: int = 0
    fresh: bool = False
    """True if the buffer of the current chunk is new and not reused."""
    buffers: list[Words] = field(default_factory=list)
    undo: list[UndoRange] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        return self.copied == self.rows


class ChangeTracker:
    """The epochs, undo log and row copies of one keyed table. Only the loop calls the methods of a tracker, with one exception:
    the snapshot thread calls ``recycle`` too."""

    def __init__(self, row_words: int, *, firsts: bool) -> None:
        """If ``firsts`` is True, the tracker lists the rows that each batch changes, sorted by the first record that changed each
        row."""
        self.words: Words = aligned_words(TRACKING_WORDS)
        self.words[:] = 0
        self.words[EPOCH] = 1
        self._row_words = row_words
        self._firsts = firsts
        self._active: list[RowCopy] = []
        self._segments: list[Words] = []
        """The segments of the undo log, oldest first. The kernel adds entries to the last segment."""
        self._lengths: list[int] = []
        """The number of entries in each segment of the undo log, except the last segment."""
        self._retired: list[Words] = []
        self._unwritten: list[RowCopy] = []
        """Row copies that are complete, but that the snapshot thread may not have written yet. Until a copy is written, the
        tracker keeps the undo entries of the copy."""
        self._free: list[Words] = []
        self._first_rows: tuple[Words, Words] | None = None
        self._refresh()

    def begin_batch(self, records: int) -> None:
        """Prepare the tracker for a batch. The caller calls this method before every batch. If ``firsts`` is True, the method
        starts a new epoch for the batch."""
        if self._firsts:
            self.track_firsts(records)

    def track_firsts(self, records: int) -> None:
        if self._first_rows is None or len(self._first_rows[0]) < records:
            self._first_rows = aligned_words(records), aligned_words(records)
        self.words[EPOCH] += 1
        self.words[FIRST_ADDRESSES] = address_of(self._first_rows[0])
        self.words[FIRST_RECORDS] = address_of(self._first_rows[1])
        self.words[FIRST_USED] = 0
        self.words[TRACKING] = 1

    def firsts(self) -> tuple[Words, Words]:
        """Return two arrays about the rows that have changed since the last call of ``track_firsts``: the address of each row,
        and the number of the first record that changed the row.

        The arrays are valid until the next call of ``track_firsts``."""
        assert self._first_rows is not None
        used = int(self.words[FIRST_USED])
        return self._first_rows[0][:used], self._first_rows[1][:used]

    def stop_tracking_firsts(self) -> None:
        self.words[FIRST_ADDRESSES] = 0
        self._refresh()

    def renumber(self, chunks: RowChunks, rows: int) -> None:
        """If the epoch numbers have reached EPOCHS and no copy is in progress, restart the epoch numbers at 1. The restart writes
        to every row, but is needed only once in several years."""
        if self.words[EPOCH] >= EPOCHS and not self._active:
            clear_epochs(chunks.addresses, rows, self._row_words)
            self.words[EPOCH] = 1

    def add_undo_segment(self) -> None:
        if self._segments:
            self._lengths.append(int(self.words[UNDO_USED]))
        segment = self._undo_segment()
        self._segments.append(segment)
        self.words[UNDO] = address_of(segment)
        self.words[UNDO_USED] = 0
        self.words[UNDO_LIMIT] = UNDO_ENTRIES

    def freeze(self, rows: int) -> RowCopy:
        """End the epoch and start a copy of the rows. ``freeze`` itself copies no rows, so its duration does not depend on the
        number of rows."""
        copy = RowCopy(
            epoch=int(self.words[EPOCH]),
            rows=rows,
            row_words=self._row_words,
            first_segment=max(len(self._segments) - 1, 0),
            first_entry=int(self.words[UNDO_USED]) if self._segments else 0,
        )
        self.words[EPOCH] += 1
        if not copy.complete:
            self._active.append(copy)
            self._refresh()
        return copy

    def copy_rows(self, copy: RowCopy, chunks: RowChunks) -> bool:
        """Copy the next rows into ``copy``. Returns whether the copy is complete."""
        if copy.complete:
            return True
        begin = copy.copied
        if begin & CHUNK_MASK == 0:
            copy.fresh = not self._free
            copy.buffers.append(self._buffer())
        step = max((COPY_BYTES_FRESH if copy.fresh else COPY_BYTES) // (8 * self._row_words), 1)
        end = min(begin + step, (begin | CHUNK_MASK) + 1, copy.rows)
        target = copy.buffers[-1].reshape(CHUNK_ROWS, self._row_words)
        target[begin & CHUNK_MASK : (begin & CHUNK_MASK) + end - begin] = chunks.read(begin, end)
        copy.copied = end
        if copy.complete:
            copy.undo = self._undo_since(copy)
            self._unwritten = [other for other in self._unwritten if other.buffers] + [copy]
            self._active.remove(copy)
        self._refresh()
        return copy.complete

    def cancel(self, copy: RowCopy) -> None:
        if copy in self._active:
            self._active.remove(copy)
            self._refresh()
        self.recycle(copy)

    def recycle(self, copy: RowCopy) -> None:
        """Keep the buffers of ``copy`` for the next snapshot. Any thread may call this method, once per copy."""
        buffers, copy.buffers = copy.buffers, []
        copy.undo = []
        self._free.extend(buffers)

    def trim(self, chunks: int) -> None:
        """Keep the reusable buffers and undo segments that a snapshot of ``chunks`` chunks needs, and free the others."""
        del self._free[chunks:]
        del self._retired[2 * chunks :]

    @property
    def nbytes(self) -> int:
        buffers = len(self._free) + sum(len(copy.buffers) for copy in [*self._active, *self._unwritten])
        undo = len(self._segments) + len(self._retired)
        return 8 * (buffers * CHUNK_ROWS * self._row_words + undo * UNDO_ENTRIES * (self._row_words + 1))

    def _buffer(self) -> Words:
        try:
            return self._free.pop()
        except IndexError:
            return aligned_words(CHUNK_ROWS * self._row_words)

    def _undo_segment(self) -> Words:
        """Return an unused segment for the undo log: a retired segment whose entries no snapshot needs, or a new segment."""
        needed = {id(undo.segment) for copy in self._unwritten for undo in copy.undo}
        for number, segment in enumerate(self._retired):
            if id(segment) not in needed:
                return self._retired.pop(number)
        return aligned_words(UNDO_ENTRIES * (self._row_words + 1))

    def _undo_since(self, copy: RowCopy) -> list[UndoRange]:
        ranges = []
        for number in range(copy.first_segment, len(self._segments)):
            segment = self._segments[number]
            begin = copy.first_entry if number == copy.first_segment else 0
            is_open = number == len(self._segments) - 1
            end = int(self.words[UNDO_USED]) if is_open else self._lengths[number]
            if end > begin:
                ranges.append(UndoRange(segment, begin, end))
        return ranges

    def _refresh(self) -> None:
        """Recompute the tracking fields that the kernel reads, after a copy has started, advanced or ended."""
        if self._active:
            self.words[FROZEN_ROWS] = max(copy.rows for copy in self._active)
            self.words[FROZEN_EPOCH] = max(copy.epoch for copy in self._active)
            self.words[COPIED] = min(copy.copied for copy in self._active)
            if not self._segments:
                self.words[UNDO_USED] = self.words[UNDO_LIMIT] = 0
        else:
            self.words[FROZEN_ROWS] = 0
            self._retired.extend(self._segments)
            self._segments.clear()
            self._lengths.clear()
            self.words[UNDO] = self.words[UNDO_USED] = 0
            self.words[UNDO_LIMIT] = NO_LIMIT
        self.words[TRACKING] = 1 if self._active or self._firsts else 0
