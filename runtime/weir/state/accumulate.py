"""The loops that fold values into accumulators, and those that read results out of rows.

Values come as words in which a null has been replaced by the neutral element of its accumulator (0 for
sums, the largest value for minima), so the loops know no nulls. Whether an accumulator ever had a
value is a bit of the row's ``meta`` (``mark_seen``), kept only once a null has been met.
"""

from __future__ import annotations

from weir.state.memory import Words, kernel, load8, load64, load_f64, store8, store64, store_f64
from weir.state.rows import SEEN_SHIFT

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

# Columns of the array of aggregates. Its row 0 holds flags (FLAG_OVERFLOW), row 1 + a describes aggregate a.
KIND = 0
OFFSET = 1
"""In bytes from the beginning of the row."""
INPUT = 2
"""Address of the values' words; of COUNT_ROWS: 0."""
VALID = 3
"""Of MEAN: address of words that are 1 for a value and 0 for a null; 0: no nulls."""
OUTPUT = 4
"""Where running results go, a word a record; 0: nowhere."""
AGGREGATE_WORDS = 5
FLAG_OVERFLOW = 0

# Columns of the array of columns of which it is noted whether a key has had a value.
SEEN_BIT = 0
SEEN_NULLS = 1
"""Address of a byte a record, 1: null; 0: this batch has none."""
SEEN_OUTPUT = 2
"""Where to write a byte a record: whether there has been a value up to here; 0: nowhere."""
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
    """NaN is larger than every number, as in Spark: it never displaces a minimum and always a maximum."""
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
    """The word at ``offset`` bytes of each row."""
    for i in range(count):
        store64(output + 8 * i, load64(addresses[i] + offset))


@kernel
def read_means(count: int, addresses: Words, offset: int, output: int) -> None:
    for i in range(count):
        values = load64(addresses[i] + offset + 8)
        store_f64(output + 8 * i, load_f64(addresses[i] + offset) / values if values != 0 else 0.0)


@kernel
def read_seen(count: int, addresses: Words, bit: int, output: int) -> None:
    """One byte a row: whether it has had a value in the column of ``bit``."""
    for i in range(count):
        store8(output + i, (load64(addresses[i]) >> (bit + SEEN_SHIFT)) & 1)
