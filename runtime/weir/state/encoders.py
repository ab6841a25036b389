"""Encodes the columns of a batch for the fold kernel. Nulls in aggregated columns are replaced by neutral values, which do not
change an accumulator. Strings in key columns are replaced by ids from an interner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from weir.state.accumulators import (
    AGGREGATE_WORDS,
    COUNT_ROWS,
    INPUT,
    KIND,
    MAX_FLOAT,
    MEAN,
    MIN_FLOAT,
    OFFSET,
    OUTPUT,
    SEEN_BIT,
    SEEN_NULLS,
    SEEN_OUTPUT,
    SEEN_WORDS,
    SUM_FLOAT,
    SUM_INT,
    VALID,
)
from weir.state.arrow_columns import SIGN_BIT, Encoding, column_words, float_words, integer_words, null_bytes
from weir.state.backend import AggregateFunction
from weir.state.fold_kernel import KEY_COLUMNS, KEY_IDS, KEY_NULLS, KEY_WORDS
from weir.state.hash_index import HashIndex
from weir.state.numba_support import Words, address_of
from weir.state.row_layout import AccumulatorLayout, RowLayout
from weir.state.string_interner import StringInterner

NullBytes = npt.NDArray[np.uint8]


class ValueEncoder:
    def __init__(self, layout: RowLayout) -> None:
        self._layout = layout
        self._aggregates: Words = np.zeros((1 + len(layout.slots), AGGREGATE_WORDS), dtype=np.int64)
        for number, slot in enumerate(layout.slots, start=1):
            self._aggregates[number, KIND], self._aggregates[number, OFFSET] = slot.kind, 8 * slot.word
        self._no_seen: Words = np.zeros((0, SEEN_WORDS), dtype=np.int64)
        self.partial = False
        """True after the first null in an aggregated column. A seen bit records whether a key has had a value in a column. The
        kernels update the seen bits only if ``partial`` is True."""

    def encode(
        self, columns: Sequence[pa.Array], outputs: Sequence[int], seen_outputs: Sequence[int]
    ) -> tuple[Words, Words, list[Any]]:
        """Return the arguments ``aggregates`` and ``seen`` of the fold kernel, and the objects that own the memory to which
        these arguments refer.

        Each item of ``outputs`` and ``seen_outputs`` is an address to which the kernel writes results, or 0 if the results are
        not needed."""
        nulls: dict[int, NullBytes | None] = {}
        owners: list[Any] = []
        aggregates = self._aggregates.copy()
        aggregates[1:, OUTPUT] = outputs
        for number, slot in enumerate(self._layout.slots, start=1):
            if slot.column is None:
                continue
            if slot.column not in nulls:
                nulls[slot.column] = null_bytes(columns[slot.column])
            self._encode_slot(slot, columns[slot.column], nulls[slot.column], aggregates[number], owners)
        owners.extend(nulls.values())
        return aggregates, self._seen(nulls, seen_outputs), owners

    def will_be_partial(self, columns: Sequence[pa.Array]) -> bool:
        """Update and return ``partial``. Call this method before adding rows, because the template of new rows depends on
        ``partial``."""
        self.partial = self.partial or any(columns[column].null_count for column in self._layout.seen_columns)
        return self.partial

    def _seen(self, nulls: dict[int, NullBytes | None], outputs: Sequence[int]) -> Words:
        if not self.partial:
            return self._no_seen
        seen: Words = np.zeros((len(self._layout.seen_columns), SEEN_WORDS), dtype=np.int64)
        for bit, column in enumerate(self._layout.seen_columns):
            bytes_ = nulls[column]
            seen[bit, SEEN_BIT] = bit
            seen[bit, SEEN_NULLS] = 0 if bytes_ is None else address_of(bytes_)
            seen[bit, SEEN_OUTPUT] = outputs[bit]
        return seen

    def _encode_slot(self, slot: AccumulatorLayout, column: pa.Array, nulls: NullBytes | None, row: Words,
                     owners: list[Any]) -> None:  # fmt: skip
        if slot.spec.accumulator is AggregateFunction.COUNT:
            if nulls is None:
                row[KIND] = COUNT_ROWS
                return
            values: npt.NDArray[Any] = (1 - nulls).astype(np.int64)
        elif slot.kind in (SUM_FLOAT, MIN_FLOAT, MAX_FLOAT, MEAN):
            values = float_words(column)
            if nulls is not None:
                neutral = np.int64(slot.neutral).view(np.float64)
                values = np.where(nulls != 0, neutral, values)
            if slot.kind == MEAN and nulls is not None:
                valid = (1 - nulls).astype(np.int64)
                owners.append(valid)
                row[VALID] = address_of(valid)
        else:
            values = integer_words(column)
            if slot.kind != SUM_INT and slot.type == pa.uint64():
                values = values ^ SIGN_BIT
            if nulls is not None:
                values = np.where(nulls != 0, np.int64(slot.neutral), values)
        owners.append(values)
        row[INPUT] = address_of(values)


@dataclass(frozen=True, slots=True)
class BatchKeys:
    """The encoded keys of a batch. ``words`` is the argument ``keys`` of the fold kernel. ``owners`` contains the objects that
    own the memory at the addresses in ``words``."""

    words: Words
    owners: tuple[Any, ...]


class KeyEncoder:
    def __init__(self, layout: RowLayout) -> None:
        self._layout = layout
        self.interners = tuple(StringInterner() if encoding is Encoding.BYTES else None for encoding in layout.encodings)
        self.rows_are_ids = layout.encodings == (Encoding.BYTES,)
        """True if the key is one string column. If the key is one string column, the id of a string is also the number of the
        key's row, so the kernel does not need the hash index."""

    @property
    def nbytes(self) -> int:
        return sum(interner.nbytes for interner in self.interners if interner is not None)

    def reserve(self, index: HashIndex, rows: int) -> None:
        """Make room for ``rows`` keys in ``index``. If the key is one string column, make room in the interner of the column
        instead."""
        interner = self.interners[0] if self.rows_are_ids else None
        (interner or index).reserve(rows)

    def encode(self, columns: list[pa.Array]) -> BatchKeys:
        """Encode the key columns of a batch. The caller passes the columns in the order of the key."""
        words: Words = np.zeros(KEY_COLUMNS + self._layout.key_word_count, dtype=np.int64)
        words[KEY_WORDS] = self._layout.key_word_count
        owners: list[Any] = []
        null_bits: npt.NDArray[np.uint16] | None = None
        position = KEY_COLUMNS
        for number, (column, encoding) in enumerate(zip(columns, self._layout.encodings, strict=True)):
            values = column_words(column, encoding)
            interner = self.interners[number]
            if interner is not None:
                # The interner also assigns an id to null, so a string column needs no null bits.
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
