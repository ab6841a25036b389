"""Stores the rows of keyed state. Rows have a fixed width, and are stored in chunks whose addresses never change.

A row is a sequence of 64-bit words: ``meta``, the words of the key, and the words of the accumulators. All words of a row are
adjacent, so folding a record into its row costs one cache miss. The low 16 bits of ``meta`` mark null key columns. The next 16
bits are the seen bits of the aggregated columns. The high 32 bits contain the epoch of the last tracked change. Row ``n`` is in
chunk ``n >> 16``. To grow, the table adds a chunk and copies no rows.
"""

from __future__ import annotations

import numpy as np

from weir.state.numba_support import Words, address_of, kernel, load64, store64

CHUNK_SHIFT = 16
CHUNK_ROWS = 1 << CHUNK_SHIFT
CHUNK_MASK = CHUNK_ROWS - 1
CACHE_LINE_WORDS = 8
RESERVED_BYTES = 64 << 20
"""``reserve`` allocates chunks together, in blocks of at most this size."""

KEY_NULL_BITS = 16
SEEN_BITS = 16
SEEN_SHIFT = 16
EPOCH_SHIFT = np.uint64(32)
META = 0
KEY = 1
"""The position of the key's first word in a row."""


def padded_words(words: int) -> int:
    """Return the number of words in a padded row whose contents take ``words`` words. With the padding, no row of up to 64 bytes
    crosses a cache line."""
    if words <= CACHE_LINE_WORDS:
        return 1 << (words - 1).bit_length()
    return -(-words // 4) * 4


@kernel
def clear_epochs(chunks: Words, rows: int, row_words: int) -> None:
    for row in range(rows):
        address = chunks[row >> CHUNK_SHIFT] + (row & CHUNK_MASK) * row_words * 8
        store64(address, load64(address) & 0xFFFFFFFF)


class RowChunks:
    """The chunks of one table. ``addresses[c]`` is the address of chunk c, aligned to a cache line."""

    def __init__(self, row_words: int) -> None:
        self.row_words = row_words
        self.addresses: Words = np.zeros(0, dtype=np.int64)
        self._chunks: list[Words] = []

    @property
    def capacity(self) -> int:
        return len(self._chunks) << CHUNK_SHIFT

    def add_chunk(self) -> None:
        """Make room for 65,536 more rows. The system allocates the pages of the chunk when they are first written."""
        self._add_chunks(1)

    def reserve(self, rows: int) -> None:
        """Make room for ``rows`` rows in total. The operating system can use huge pages for blocks of many megabytes. The first
        writes to huge pages are several times as fast as the first writes to normal pages."""
        at_once = max(RESERVED_BYTES // (8 * CHUNK_ROWS * self.row_words), 1)
        while self.capacity < rows:
            self._add_chunks(min(at_once, -(-(rows - self.capacity) // CHUNK_ROWS)))

    def _add_chunks(self, count: int) -> None:
        words = CHUNK_ROWS * self.row_words
        block = aligned_words(count * words)
        self._chunks.extend(block[number * words : (number + 1) * words] for number in range(count))
        self.addresses = np.append(self.addresses, np.int64(address_of(block)) + 8 * words * np.arange(count, dtype=np.int64))

    def read(self, begin: int, end: int) -> Words:
        """Return rows ``begin`` to ``end``, which must be in one chunk, as a view of shape (rows, row_words)."""
        assert begin >> CHUNK_SHIFT == (end - 1) >> CHUNK_SHIFT
        rows = self._chunks[begin >> CHUNK_SHIFT].reshape(CHUNK_ROWS, self.row_words)
        first = begin & CHUNK_MASK
        return rows[first : first + end - begin]


def aligned_words(words: int) -> Words:
    """Return an array of ``words`` uninitialised words, aligned to a cache line."""
    raw = np.empty(words + CACHE_LINE_WORDS, dtype=np.int64)
    skip = (-address_of(raw) % (8 * CACHE_LINE_WORDS)) // 8
    return raw[skip : skip + words]
