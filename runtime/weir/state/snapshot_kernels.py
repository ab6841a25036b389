"""Kernels that the snapshot thread runs on copied rows. These kernels release the GIL."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from weir.state.numba_support import Words, kernel, load64, signed, store64
from weir.state.row_chunks import CHUNK_MASK, CHUNK_SHIFT, EPOCH_SHIFT


@kernel
def apply_undo_entries(segment: Words, begin: int, end: int, epoch: int, rows: int, row_words: int, buffers: Words) -> None:
    """If a copied row changed after the end of ``epoch``, overwrite the copy with the old row from the undo entry."""
    entry_words = row_words + 1
    for number in range(begin, end):
        entry = number * entry_words
        head = np.uint64(segment[entry])
        changed = signed(head >> EPOCH_SHIFT)
        row = signed(head & np.uint64(0xFFFFFFFF))
        valid_since = signed(np.uint64(segment[entry + 1]) >> EPOCH_SHIFT)
        if row < rows and valid_since <= epoch < changed:
            target = buffers[row >> CHUNK_SHIFT] + (row & CHUNK_MASK) * row_words * 8
            for word in range(row_words):
                store64(target + 8 * word, segment[entry + 1 + word])


@kernel
def extract_words(buffers: Words, row_bytes: int, begin: int, words: Words) -> None:
    """Copy word w of row ``begin`` + i to ``words[w, i]``."""
    for i in range(words.shape[1]):
        row = begin + i
        address = buffers[row >> CHUNK_SHIFT] + (row & CHUNK_MASK) * row_bytes
        for word in range(words.shape[0]):
            words[word, i] = load64(address + 8 * word)


@kernel
def extract_bits(words: Words, bit: int, flipped: int, bits: npt.NDArray[np.uint8]) -> int:
    """Write bit ``bit`` of each word to ``bits`` as a byte, inverted if ``flipped`` is 1. Returns the number of ones in
    ``bits``."""
    ones = 0
    for i in range(len(words)):
        value = ((words[i] >> bit) & 1) ^ flipped
        bits[i] = np.uint8(value)
        ones += value
    return ones
