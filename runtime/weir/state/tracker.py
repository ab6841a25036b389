"""Epochs, the undo log and the gatherings in progress of one keyed table. Used by the loop alone."""

from __future__ import annotations

from dataclasses import dataclass, field

from weir.state.memory import Words, address_of
from weir.state.rows import CHUNK_MASK, CHUNK_ROWS, RowChunks, aligned_words, clear_epochs
from weir.state.touch import (
    EPOCH,
    FIRST_ADDRESSES,
    FIRST_RECORDS,
    FIRST_USED,
    FROZEN_EPOCH,
    FROZEN_ROWS,
    GATHERED,
    TRACKING,
    TRACKING_WORDS,
    UNDO,
    UNDO_LIMIT,
    UNDO_USED,
)

GATHER_BYTES = 2 << 20
"""Copied in one step (never more than a chunk) into a buffer that was used before: a few tenths of a millisecond."""
GATHER_BYTES_FRESH = 1 << 18
"""The same into a fresh buffer, whose pages the system has yet to find: many times as slow."""
UNDO_ENTRIES = 1 << 16
NO_LIMIT = 1 << 62
EPOCHS = 1 << 31
"""Once that many are used up they are numbered anew, as soon as no gathering is in progress."""


@dataclass(frozen=True, slots=True)
class UndoPiece:
    """Entries ``begin`` to ``end`` of a segment of the log."""

    segment: Words
    begin: int
    end: int


@dataclass(slots=True, eq=False)
class Gathering:
    """Rows 0 to ``rows`` as they were at the end of ``epoch``.

    ``buffers[c]`` receives chunk c; ``undo`` puts right what was gathered too late.
    """

    epoch: int
    rows: int
    row_words: int
    first_segment: int
    first_entry: int
    gathered: int = 0
    fresh: bool = False
    """The buffer being filled was never used before."""
    buffers: list[Words] = field(default_factory=list)
    undo: list[UndoPiece] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        return self.gathered == self.rows


class Tracker:
    def __init__(self, row_words: int, *, firsts: bool) -> None:
        """``firsts``: every update wants to know which rows it touched, in order of their first touch."""
        self.words: Words = aligned_words(TRACKING_WORDS)
        self.words[:] = 0
        self.words[EPOCH] = 1
        self._row_words = row_words
        self._firsts = firsts
        self._active: list[Gathering] = []
        self._segments: list[Words] = []
        """Of the undo log, oldest first; the last one is open. ``_lengths``: entries of those before it."""
        self._lengths: list[int] = []
        self._retired: list[Words] = []
        self._unwritten: list[Gathering] = []
        """Complete gatherings whose undo entries may still be needed."""
        self._free: list[Words] = []
        self._first_rows: tuple[Words, Words] | None = None
        self._refresh()

    def begin_batch(self, records: int) -> None:
        """Before every fold. With ``firsts`` a batch is an epoch of its own."""
        if self._firsts:
            self.note_firsts(records)

    def note_firsts(self, records: int) -> None:
        if self._first_rows is None or len(self._first_rows[0]) < records:
            self._first_rows = aligned_words(records), aligned_words(records)
        self.words[EPOCH] += 1
        self.words[FIRST_ADDRESSES] = address_of(self._first_rows[0])
        self.words[FIRST_RECORDS] = address_of(self._first_rows[1])
        self.words[FIRST_USED] = 0
        self.words[TRACKING] = 1

    def firsts(self) -> tuple[Words, Words]:
        """Addresses of the rows touched since ``note_firsts``, and the record of each one's first touch. Valid until the next call."""
        assert self._first_rows is not None
        used = int(self.words[FIRST_USED])
        return self._first_rows[0][:used], self._first_rows[1][:used]

    def forget_firsts(self) -> None:
        self.words[FIRST_ADDRESSES] = 0
        self._refresh()

    def renumber(self, chunks: RowChunks, rows: int) -> None:
        """Begin epochs at 1 again when they run out; costs a pass over all rows once in years."""
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

    def freeze(self, rows: int) -> Gathering:
        """End the epoch. Nothing is copied, whatever ``rows`` is."""
        gathering = Gathering(
            epoch=int(self.words[EPOCH]),
            rows=rows,
            row_words=self._row_words,
            first_segment=max(len(self._segments) - 1, 0),
            first_entry=int(self.words[UNDO_USED]) if self._segments else 0,
        )
        self.words[EPOCH] += 1
        if not gathering.complete:
            self._active.append(gathering)
            self._refresh()
        return gathering

    def gather(self, gathering: Gathering, chunks: RowChunks) -> bool:
        """Copy some more rows. True: it is complete."""
        if gathering.complete:
            return True
        begin = gathering.gathered
        if begin & CHUNK_MASK == 0:
            gathering.fresh = not self._free
            gathering.buffers.append(self._buffer())
        step = max((GATHER_BYTES_FRESH if gathering.fresh else GATHER_BYTES) // (8 * self._row_words), 1)
        end = min(begin + step, (begin | CHUNK_MASK) + 1, gathering.rows)
        target = gathering.buffers[-1].reshape(CHUNK_ROWS, self._row_words)
        target[begin & CHUNK_MASK : (begin & CHUNK_MASK) + end - begin] = chunks.read(begin, end)
        gathering.gathered = end
        if gathering.complete:
            gathering.undo = self._undo_since(gathering)
            self._unwritten = [other for other in self._unwritten if other.buffers] + [gathering]
            self._active.remove(gathering)
        self._refresh()
        return gathering.complete

    def abandon(self, gathering: Gathering) -> None:
        """No more of it is wanted."""
        if gathering in self._active:
            self._active.remove(gathering)
            self._refresh()
        self.recycle(gathering)

    def recycle(self, gathering: Gathering) -> None:
        """Its buffers serve the next snapshot. Safe from any thread, once a gathering."""
        buffers, gathering.buffers = gathering.buffers, []
        gathering.undo = []
        self._free.extend(buffers)

    def trim(self, chunks: int) -> None:
        """Keep no more spare memory than a snapshot of ``chunks`` chunks needs."""
        del self._free[chunks:]
        del self._retired[2 * chunks :]

    @property
    def nbytes(self) -> int:
        buffers = len(self._free) + sum(len(gathering.buffers) for gathering in [*self._active, *self._unwritten])
        undo = len(self._segments) + len(self._retired)
        return 8 * (buffers * CHUNK_ROWS * self._row_words + undo * UNDO_ENTRIES * (self._row_words + 1))

    def _buffer(self) -> Words:
        try:
            return self._free.pop()
        except IndexError:
            return aligned_words(CHUNK_ROWS * self._row_words)

    def _undo_segment(self) -> Words:
        """One that no snapshot needs any more, or a fresh one."""
        needed = {id(piece.segment) for gathering in self._unwritten for piece in gathering.undo}
        for number, segment in enumerate(self._retired):
            if id(segment) not in needed:
                return self._retired.pop(number)
        return aligned_words(UNDO_ENTRIES * (self._row_words + 1))

    def _undo_since(self, gathering: Gathering) -> list[UndoPiece]:
        pieces = []
        for number in range(gathering.first_segment, len(self._segments)):
            segment = self._segments[number]
            begin = gathering.first_entry if number == gathering.first_segment else 0
            is_open = number == len(self._segments) - 1
            end = int(self.words[UNDO_USED]) if is_open else self._lengths[number]
            if end > begin:
                pieces.append(UndoPiece(segment, begin, end))
        return pieces

    def _refresh(self) -> None:
        """What the kernel has to know now that the gatherings in progress are others, or have got on."""
        if self._active:
            self.words[FROZEN_ROWS] = max(gathering.rows for gathering in self._active)
            self.words[FROZEN_EPOCH] = max(gathering.epoch for gathering in self._active)
            self.words[GATHERED] = min(gathering.gathered for gathering in self._active)
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
