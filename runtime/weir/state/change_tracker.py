"""Tracks changes of the rows of a keyed table: for snapshots that are copied while updates continue, and for updates per batch.

A row's epoch is the epoch of its last tracked change. Freezing a snapshot ends an epoch. The first change of a row in a newer epoch
saves the old row in the undo log, if a snapshot may not have copied that row yet. After copying, the snapshot applies the undo
entries. One log serves all snapshots in progress, because an entry contains the epochs in which the old row was valid: from
the epoch in the old row until the epoch of the change.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from weir.state.numba_support import Words, address_of, kernel, load64, signed, store64
from weir.state.row_chunks import CHUNK_MASK, CHUNK_ROWS, EPOCH_SHIFT, RowChunks, aligned_words, clear_epochs

# Fields of the tracking array.
TRACKING = 0
"""If 0, changes are not tracked, and the fields below are not read."""
EPOCH = 1
FROZEN_ROWS = 2
"""The number of rows of the newest snapshot in progress, or 0 if no snapshot is in progress."""
FROZEN_EPOCH = 3
"""The epoch that the newest snapshot in progress has ended."""
COPIED = 4
"""All snapshots in progress have copied the rows below this one."""
UNDO = 5
"""Address of the undo log's open segment. An entry is one word, ``epoch of the change << 32 | row``, followed by the words of the old row."""
UNDO_USED = 6
UNDO_LIMIT = 7
FIRST_ADDRESSES = 8
"""Where the kernel writes the addresses of the rows that change for the first time in this epoch. FIRST_RECORDS is where it writes
the numbers of the records that changed them. Both are 0 if they are not needed."""
FIRST_RECORDS = 9
FIRST_USED = 10
TRACKING_WORDS = 11

COPY_BYTES = 2 << 20
"""Bytes per copy step (at most one chunk) into a buffer that was used before: a few tenths of a millisecond."""
COPY_BYTES_FRESH = 1 << 18
"""Bytes per copy step into a fresh buffer, which is many times slower because the system has to allocate its pages."""
UNDO_ENTRIES = 1 << 16
NO_LIMIT = 1 << 62
EPOCHS = 1 << 31
"""After this many epochs, numbering restarts as soon as no copy is in progress."""


@kernel
def track_changes(begin: int, count: int, rows: Words, addresses: Words, row_words: int, tracking: Words) -> None:
    """Call it with the rows of a block before they change."""
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
    """A copy of rows 0 to ``rows`` as of the end of ``epoch``, for a snapshot.

    ``buffers[c]`` receives chunk c. ``undo`` corrects the rows that were copied after a change.
    """

    epoch: int
    rows: int
    row_words: int
    first_segment: int
    first_entry: int
    copied: int = 0
    fresh: bool = False
    """Whether the current buffer is used for the first time."""
    buffers: list[Words] = field(default_factory=list)
    undo: list[UndoRange] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        return self.copied == self.rows


class ChangeTracker:
    """Epochs, the undo log and the row copies in progress of one keyed table. Only the loop uses it."""

    def __init__(self, row_words: int, *, firsts: bool) -> None:
        """``firsts`` is True if every update needs the rows that it changes, in the order of their first change."""
        self.words: Words = aligned_words(TRACKING_WORDS)
        self.words[:] = 0
        self.words[EPOCH] = 1
        self._row_words = row_words
        self._firsts = firsts
        self._active: list[RowCopy] = []
        self._segments: list[Words] = []
        """The segments of the undo log, oldest first. The last segment is open."""
        self._lengths: list[int] = []
        """The number of entries in each closed segment, that is, in all but the last one."""
        self._retired: list[Words] = []
        self._unwritten: list[RowCopy] = []
        """Complete copies whose undo entries may still be needed."""
        self._free: list[Words] = []
        self._first_rows: tuple[Words, Words] | None = None
        self._refresh()

    def begin_batch(self, records: int) -> None:
        """Call before every batch. With ``firsts``, each batch is one epoch."""
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
        """Return the addresses of the rows changed since ``track_firsts``, and for each row the number of the record that changed it first.

        Valid until the next call of ``track_firsts``."""
        assert self._first_rows is not None
        used = int(self.words[FIRST_USED])
        return self._first_rows[0][:used], self._first_rows[1][:used]

    def stop_tracking_firsts(self) -> None:
        self.words[FIRST_ADDRESSES] = 0
        self._refresh()

    def renumber(self, chunks: RowChunks, rows: int) -> None:
        """Restart epochs at 1 when they run out. This takes a pass over all rows, but happens only once in years."""
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
        """End the epoch and start a copy. Copies nothing yet, for any number of rows."""
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
        """Copy some more rows. Returns whether the copy is complete."""
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
        """Reuse the buffers for the next snapshot. Thread-safe, once per copy."""
        buffers, copy.buffers = copy.buffers, []
        copy.undo = []
        self._free.extend(buffers)

    def trim(self, chunks: int) -> None:
        """Free spare memory beyond what a snapshot of ``chunks`` chunks needs."""
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
        """Return a retired segment that no snapshot needs, or a fresh one."""
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
        """Recompute the fields that the numba kernel reads. Call it whenever a copy starts, advances or ends."""
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
