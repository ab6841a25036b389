"""Kernels that apply values to accumulators, and kernels that read results from rows.

Before these kernels run, the encoder replaces each null by the neutral element of its accumulator, such as 0 for sums and the
largest value for minima. Because the encoder has replaced the nulls, the kernels need not check for nulls.

For each aggregated column, a row has a seen bit. The seen bit is 1 if the key has had a value in the column. Until the first
null in any aggregated column, new rows start with all seen bits set to 1. From the batch of this null on, new rows start with all
seen bits set to 0. ``mark_seen`` sets a seen bit when the key gets its first value in the column.
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
"""The accumulator of a mean has two words: the sum (float64) and the number of values."""

# The columns of ``aggregates``, the array that describes all aggregates to the kernel. In ``aggregates``, row 0 contains flags
# (FLAG_OVERFLOW), and row 1 + a describes aggregate a.
KIND = 0
OFFSET = 1
"""The offset of the accumulator from the beginning of the row, in bytes."""
INPUT = 2
"""The address of the values to fold (one word per record), or 0 for COUNT_ROWS."""
VALID = 3
"""Only for MEAN: the address of an array with one word per record (1 for a value, 0 for a null). VALID is 0 if the column has
no nulls in the batch."""
OUTPUT = 4
"""The address to which the kernel writes running results, one word per record. OUTPUT is 0 if the kernel must not write running
results."""
AGGREGATE_WORDS = 5
FLAG_OVERFLOW = 0

# The columns of ``seen``, an array with one row per seen column. A seen column is an aggregated input column for which each state
# row has a seen bit. The seen bit is 1 if the key has had a value in the column.
SEEN_BIT = 0
SEEN_NULLS = 1
"""The address of an array with one byte per record (1 for a null, 0 for a value). SEEN_NULLS is 0 if the column has no nulls in
the batch."""
SEEN_OUTPUT = 2
"""The address to which the kernel writes one byte per record for the column. The byte is 1 if the record's key has had a value
in the column so far. SEEN_OUTPUT is 0 if the kernel must not write any bytes for the column."""
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
    """Update minima or maxima of floats. As in Spark, NaN is larger than every number."""
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
    """Copy the word at byte ``offset`` of each row to ``output``."""
    for i in range(count):
        store64(output + 8 * i, load64(addresses[i] + offset))


@kernel
def read_means(count: int, addresses: Words, offset: int, output: int) -> None:
    for i in range(count):
        values = load64(addresses[i] + offset + 8)
        store_f64(output + 8 * i, load_f64(addresses[i] + offset) / values if values != 0 else 0.0)


@kernel
def read_seen(count: int, addresses: Words, bit: int, output: int) -> None:
    """For each row, write seen bit ``bit`` as one byte to ``output``. The byte is 1 if the key of the row has had a value in the
    seen column."""
    for i in range(count):
        store8(output + i, (load64(addresses[i]) >> (bit + SEEN_SHIFT)) & 1)
