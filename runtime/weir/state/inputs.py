"""The aggregated columns of a batch in the form that the fold kernel takes: words, nulls made neutral."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from weir.state.accumulate import (
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
from weir.state.base import Accumulator
from weir.state.layout import AccumulatorSlot, RowLayout
from weir.state.memory import Words, address_of
from weir.state.results import SIGN_BIT
from weir.state.words import float_words, integer_words, null_bytes

NullBytes = npt.NDArray[np.uint8]


class ValueEncoder:
    def __init__(self, layout: RowLayout) -> None:
        self._layout = layout
        self.partial = False
        """A null has been met in an aggregated column: from then on it matters which rows have seen a value."""

    def encode(self, batch: pa.RecordBatch, outputs: list[int], seen_outputs: list[int]) -> tuple[Words, Words, list[Any]]:
        """The kernel's ``aggregates`` and ``seen``, and what they point at. ``outputs``, ``seen_outputs``: addresses or 0."""
        nulls: dict[int, NullBytes | None] = {}
        owners: list[Any] = []
        aggregates: Words = np.zeros((1 + len(self._layout.slots), AGGREGATE_WORDS), dtype=np.int64)
        for number, slot in enumerate(self._layout.slots, start=1):
            row = aggregates[number]
            row[KIND], row[OFFSET], row[OUTPUT] = slot.kind, 8 * slot.word, outputs[number - 1]
            if slot.column is None:
                continue
            if slot.column not in nulls:
                nulls[slot.column] = null_bytes(batch.column(slot.column))
            self._encode_slot(slot, batch.column(slot.column), nulls[slot.column], row, owners)
        owners.extend(nulls.values())
        return aggregates, self._seen(nulls, seen_outputs), owners

    def will_be_partial(self, batch: pa.RecordBatch) -> bool:
        """Has to be known before new rows are made."""
        self.partial = self.partial or any(batch.column(column).null_count for column in self._layout.seen_columns)
        return self.partial

    def _seen(self, nulls: dict[int, NullBytes | None], outputs: list[int]) -> Words:
        if not self.partial:
            return np.zeros((0, SEEN_WORDS), dtype=np.int64)
        seen: Words = np.zeros((len(self._layout.seen_columns), SEEN_WORDS), dtype=np.int64)
        for bit, column in enumerate(self._layout.seen_columns):
            bytes_ = nulls[column]
            seen[bit, SEEN_BIT] = bit
            seen[bit, SEEN_NULLS] = 0 if bytes_ is None else address_of(bytes_)
            seen[bit, SEEN_OUTPUT] = outputs[bit]
        return seen

    def _encode_slot(self, slot: AccumulatorSlot, column: pa.Array, nulls: NullBytes | None, row: Words,
                     owners: list[Any]) -> None:  # fmt: skip
        if slot.spec.accumulator is Accumulator.COUNT:
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
