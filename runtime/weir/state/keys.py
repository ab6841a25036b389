"""The key columns of a batch in the form that the fold kernel takes, with strings interned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from weir.state.fold import KEY_COLUMNS, KEY_IDS, KEY_NULLS, KEY_WORDS
from weir.state.layout import RowLayout
from weir.state.memory import Words, address_of
from weir.state.strings import StringInterner
from weir.state.words import Encoding, column_words


@dataclass(frozen=True, slots=True)
class BatchKeys:
    """``words`` is the kernel's argument; ``owners`` keep alive what it points at."""

    words: Words
    owners: tuple[Any, ...]


class KeyEncoder:
    def __init__(self, layout: RowLayout) -> None:
        self._layout = layout
        self.interners = tuple(StringInterner() if encoding is Encoding.BYTES else None for encoding in layout.encodings)
        self.rows_are_ids = layout.encodings == (Encoding.BYTES,)
        """The only key column is a string: its number is the number of the row, and there is nothing else to look up."""

    @property
    def nbytes(self) -> int:
        return sum(interner.nbytes for interner in self.interners if interner is not None)

    def encode(self, columns: list[pa.Array]) -> BatchKeys:
        """``columns``: the key columns of a batch, in the key's order."""
        words: Words = np.zeros(KEY_COLUMNS + self._layout.key_word_count, dtype=np.int64)
        words[KEY_WORDS] = self._layout.key_word_count
        owners: list[Any] = []
        null_bits: npt.NDArray[np.uint16] | None = None
        position = KEY_COLUMNS
        for number, (column, encoding) in enumerate(zip(columns, self._layout.encodings, strict=True)):
            values = column_words(column, encoding)
            interner = self.interners[number]
            if interner is not None:
                # The null string has a number of its own, so it needs no bit.
                ids = interner.intern(values)
                owners.append(ids)
                words[position] = address_of(ids)
                position += 1
                continue
            owners.append(values)
            addresses = values.addresses
            if values.nulls is not None:
                bits = values.nulls.astype(np.uint16) << np.uint16(number)
                null_bits = bits if null_bits is None else null_bits | bits
                masked = [np.where(values.nulls != 0, np.int64(0), array) for array in values.owners[: len(addresses)]]
                owners.extend(masked)
                addresses = tuple(address_of(array) for array in masked)
            for address in addresses:
                words[position] = address
                position += 1
        if null_bits is not None:
            owners.append(null_bits)
            words[KEY_NULLS] = address_of(null_bits)
        if self.rows_are_ids:
            words[KEY_IDS] = words[KEY_COLUMNS]
        return BatchKeys(words, tuple(owners))
