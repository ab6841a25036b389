"""Kernels that apply values to accumulators, and kernels that read results from rows.

Values are words in which each null is replaced by the neutral element of its accumulator (0 for sums, the largest value for
minima), so the loops need not check for nulls. A bit of the row's ``meta`` (``mark_seen``) records whether an accumulator has seen
a value. These bits are maintained only after the first null.
"""

from __future__ import annotations

from weir.state.numba_support import Words, kernel, load8, load64, load_f64, store8, store64, store_f64
from weir.state.row_chunks import SEEN_SHIFT

# Kinds of accumulators.
COUNT_ROWS = 0
SUM_INT = 1
SUM_FLOAT = 2
MIN_INT = 3
MAX_INT = 4
MIN_FLOAT = 5
MAX_FLOAT = 6
MEAN = 7
"""Two words: sum (float64), number of values."""

# Columns of the array of aggregates. Row 0 holds flags (FLAG_OVERFLOW); row 1 + a describes aggregate a.
KIND = 0
OFFSET = 1
"""Bytes from the beginning of the row."""
INPUT = 2
"""The address of the values' words, or 0 for COUNT_ROWS."""
VALID = 3
"""For MEAN, the address of words that are 1 for a value and 0 for a null. The address is 0 if the batch has no nulls."""
OUTPUT = 4
"""The address to which running results are written, one word per record. It is 0 if there is no output."""
AGGREGATE_WORDS = 5
FLAG_OVERFLOW = 0

# Columns of the array of seen columns. A seen column is an input column for which each row records whether it has seen a value.
SEEN_BIT = 0
SEEN_NULLS = 1
"""The address of one byte per record, which is 1 for a null. The address is 0 if the batch has no nulls."""
SEEN_OUTPUT = 2
"""The address to which one byte per record is written: whether the key has seen a value so far. It is 0 if there is no output."""
SEEN_WORDS = 3


@kernel
def mark_seen(begin: int, count: int, addresses: Words, seen: Words) -> None:
    for column in range(len(seen)):
        bit = seen[column, SEEN_BIT] + SEEN_SHIFT
        nulls, output = seen[column, SEEN_NULLS], seen[column, SEEN_OUTPUT]
        for i in range(count):
            meta = load64(addresses[i])
            if nulls == 0 or load8(nulls + begin + i) == 0:
                meta |= 1 << bit
                store64(addresses[i], meta)
            if output != 0:
                store8(output + begin + i, (meta >> bit) & 1)


@kernel
def accumulate(begin: int, count: int, addresses: Words, aggregates: Words) -> None:
    for a in range(1, len(aggregates)):
        kind, offset, valid = aggregates[a, KIND], aggregates[a, OFFSET], aggregates[a, VALID]
        source = aggregates[a, INPUT] + 8 * begin
        output = aggregates[a, OUTPUT]
        emit = output != 0
        output += 8 * begin
        if kind == COUNT_ROWS:
            for i in range(count):
                at = addresses[i] + offset
                result = load64(at) + 1
                store64(at, result)
                if emit:
                    store64(output + 8 * i, result)
        elif kind == SUM_INT:
            overflow = 0
            for i in range(count):
                at = addresses[i] + offset
                before, value = load64(at), load64(source + 8 * i)
                result = before + value
                overflow |= (before ^ result) & (value ^ result)
                store64(at, result)
                if emit:
                    store64(output + 8 * i, result)
            if overflow < 0:
                aggregates[0, FLAG_OVERFLOW] = a
        elif kind == SUM_FLOAT:
            for i in range(count):
                at = addresses[i] + offset
                total = load_f64(at) + load_f64(source + 8 * i)
                store_f64(at, total)
                if emit:
                    store_f64(output + 8 * i, total)
        elif kind == MIN_INT:
            for i in range(count):
                at = addresses[i] + offset
                result = min(load64(at), load64(source + 8 * i))
                store64(at, result)
                if emit:
                    store64(output + 8 * i, result)
        elif kind == MAX_INT:
            for i in range(count):
                at = addresses[i] + offset
                result = max(load64(at), load64(source + 8 * i))
                store64(at, result)
                if emit:
                    store64(output + 8 * i, result)
        elif kind in (MIN_FLOAT, MAX_FLOAT):
            accumulate_float_extreme(count, addresses, offset, source, output, emit, kind == MIN_FLOAT)
        else:
            for i in range(count):
                at = addresses[i] + offset
                total = load_f64(at) + load_f64(source + 8 * i)
                values = load64(at + 8) + (load64(valid + 8 * (begin + i)) if valid != 0 else 1)
                store_f64(at, total)
                store64(at + 8, values)
                if emit:
                    store_f64(output + 8 * i, total / values if values != 0 else 0.0)


@kernel
def accumulate_float_extreme(count: int, addresses: Words, offset: int, source: int, output: int, emit: bool,
                             lowest: bool) -> None:  # fmt: skip
    """NaN is larger than every number, as in Spark: it never replaces a minimum and always a maximum."""
    for i in range(count):
        at = addresses[i] + offset
        best, value = load_f64(at), load_f64(source + 8 * i)
        if lowest:
            if value < best or best != best:
                best = value
        elif value > best or value != value:
            best = value
        store_f64(at, best)
        if emit:
            store_f64(output + 8 * i, best)


@kernel
def read_words(count: int, addresses: Words, offset: int, output: int) -> None:
    """Read the word at ``offset`` bytes of each row."""
    for i in range(count):
        store64(output + 8 * i, load64(addresses[i] + offset))


@kernel
def read_means(count: int, addresses: Words, offset: int, output: int) -> None:
    for i in range(count):
        values = load64(addresses[i] + offset + 8)
        store_f64(output + 8 * i, load_f64(addresses[i] + offset) / values if values != 0 else 0.0)


@kernel
def read_seen(count: int, addresses: Words, bit: int, output: int) -> None:
    """Write one byte per row: whether it has seen a value in the column of ``bit``."""
    for i in range(count):
        store8(output + i, (load64(addresses[i]) >> (bit + SEEN_SHIFT)) & 1)
