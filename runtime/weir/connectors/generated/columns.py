"""Declares generated columns (a kind and its parameters), and makes the functions that fill these columns. Imports kernels
lazily."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from weir.errors import ConfigError

_WORD_LETTERS = "etaoinshrdlucmfwypvbgkjqxz"


class ColumnKind(StrEnum):
    UNIFORM_INTS = "uniform_ints"
    INTS = "ints"
    FLOATS = "floats"
    ROW_INDEX = "row_index"
    EVENT_TIME = "event_time"
    ZIPF_WORDS = "zipf_words"
    EMITTED_NS = "emitted_ns"


@dataclass(frozen=True, slots=True)
class GeneratedColumn:
    """A generated column. Functions such as ``ints`` create a column and check its parameters."""

    kind: ColumnKind
    numbers: dict[str, float] = field(default_factory=dict)


def uniform_ints(*, distinct: int, sparse: bool = False) -> GeneratedColumn:
    """An int64 column of uniformly distributed random numbers, with ``distinct`` possible values. The values are 0 to distinct - 1,
    or scattered 64-bit integers if ``sparse`` is True."""
    _check(0 < distinct < 1 << 32, f"sources.uniform_ints: distinct must be between 1 and 2**32 - 1, not {distinct}.")
    return GeneratedColumn(ColumnKind.UNIFORM_INTS, {"distinct": distinct, "sparse": int(sparse)})


def ints(low: int, high: int) -> GeneratedColumn:
    """An int64 column of uniformly distributed random numbers from ``low`` (included) to ``high`` (excluded)."""
    _check(
        0 < high - low < 1 << 32,
        f"sources.ints: high - low must be between 1 and 2**32 - 1, but low is {low} and high is {high}.",
    )
    _check(-(1 << 53) <= low <= 1 << 53, f"sources.ints: low must be between -2**53 and 2**53, not {low}.")
    return GeneratedColumn(ColumnKind.INTS, {"low": low, "high": high})


def floats(low: float = 0.0, high: float = 1.0) -> GeneratedColumn:
    """A float64 column of uniformly distributed random numbers from ``low`` (included) to ``high`` (excluded)."""
    _check(
        high > low and math.isfinite(high - low),
        f"sources.floats: high - low must be positive and finite, but low is {low} and high is {high}.",
    )
    return GeneratedColumn(ColumnKind.FLOATS, {"low": low, "high": high})


def row_index() -> GeneratedColumn:
    """An int64 column with the index of each row (0, 1, 2 ...) over all splits."""
    return GeneratedColumn(ColumnKind.ROW_INDEX)


def event_time(*, start_ms: int = 1_700_000_000_000, rows_per_second: float = 1_000.0, jitter_ms: int = 0) -> GeneratedColumn:
    """A timestamp[us, UTC] column that begins at ``start_ms``. Each second of event time has ``rows_per_second`` rows. The event
    time of each row is moved back by a random duration of at most ``jitter_ms``, so that rows are out of order."""
    _check(
        0 < rows_per_second < math.inf,
        f"sources.event_time: rows_per_second must be positive and finite, not {rows_per_second}.",
    )
    _check(0 <= jitter_ms < 1 << 22, f"sources.event_time: jitter_ms must be between 0 and 2**22 - 1, not {jitter_ms}.")
    return GeneratedColumn(
        ColumnKind.EVENT_TIME, {"start_ms": start_ms, "rows_per_second": rows_per_second, "jitter_ms": jitter_ms}
    )


def zipf_words(*, vocabulary: int = 10_000, exponent: float = 1.0, per_row: int = 1) -> GeneratedColumn:
    """A string column with ``per_row`` words per row, separated by spaces. The word of rank r has a probability proportional to
    1 / r ** exponent."""
    _check(0 < vocabulary <= 10_000_000, f"sources.zipf_words: vocabulary must be between 1 and 10,000,000, not {vocabulary}.")
    _check(0 <= exponent < math.inf, f"sources.zipf_words: exponent must be 0 or more, and finite, not {exponent}.")
    _check(0 < per_row <= 1_000, f"sources.zipf_words: per_row must be between 1 and 1,000, not {per_row}.")
    return GeneratedColumn(ColumnKind.ZIPF_WORDS, {"vocabulary": vocabulary, "exponent": exponent, "per_row": per_row})


def emitted_ns() -> GeneratedColumn:
    """An int64 column with the monotonic time in nanoseconds at which the row is emitted. A replay gives different values. Use
    this column only to measure latency on one host."""
    return GeneratedColumn(ColumnKind.EMITTED_NS)


def column_type(column: GeneratedColumn) -> pa.DataType:
    match column.kind:
        case ColumnKind.FLOATS:
            return pa.float64()
        case ColumnKind.EVENT_TIME:
            return pa.timestamp("us", tz="UTC")
        case ColumnKind.ZIPF_WORDS:
            return pa.string()
        case _:
            return pa.int64()


Fill = Callable[[int, int, int, int], pa.Array]
"""``fill(first, stride, rows, now_ns)`` returns the column for rows ``first, first + stride, ...``."""


def column_filler(name: str, column: GeneratedColumn, seed: int) -> Fill:
    """Return the function that generates the values of ``column``.

    The seed of the column's random stream is derived from the source's seed and the column's name, so columns are
    independent.
    """
    from weir.connectors.generated import kernels

    digest = blake2b(f"{seed}:{name}".encode(), digest_size=8).digest()
    stream = np.uint64(int.from_bytes(digest, "little"))
    numbers = column.numbers

    def sparse(first: int, stride: int, rows: int, now_ns: int) -> pa.Array:
        buffer, out = _int64(rows)
        kernels.sparse_ints(out.view(np.uint64), stream, np.uint64(first), np.uint64(stride), np.uint64(numbers["distinct"]))
        return _array(pa.int64(), rows, buffer)

    def dense(first: int, stride: int, rows: int, now_ns: int) -> pa.Array:
        low = int(numbers.get("low", 0))
        distinct = int(numbers["distinct"]) if "distinct" in numbers else int(numbers["high"]) - low
        buffer, out = _int64(rows)
        kernels.dense_ints(out, stream, np.uint64(first), np.uint64(stride), np.uint64(distinct), np.int64(low))
        return _array(pa.int64(), rows, buffer)

    def uniform_floats(first: int, stride: int, rows: int, now_ns: int) -> pa.Array:
        buffer, out = _int64(rows)
        kernels.floats(
            out.view(np.float64), stream, np.uint64(first), np.uint64(stride), float(numbers["low"]), float(numbers["high"])
        )
        return _array(pa.float64(), rows, buffer)

    def index(first: int, stride: int, rows: int, now_ns: int) -> pa.Array:
        return pa.array(np.arange(first, first + stride * rows, stride, dtype=np.int64))

    def time(first: int, stride: int, rows: int, now_ns: int) -> pa.Array:
        late = np.empty(rows, np.int64)
        jitter_us = np.uint64(int(numbers["jitter_ms"]) * 1000 + 1)
        kernels.dense_ints(late, stream, np.uint64(first), np.uint64(stride), jitter_us, np.int64(0))
        rows_at = np.arange(first, first + stride * rows, stride, dtype=np.int64)
        at_us = int(numbers["start_ms"]) * 1000 + (rows_at * (1e6 / numbers["rows_per_second"])).astype(np.int64)
        return pa.array(at_us - late).cast(pa.timestamp("us", tz="UTC"))

    def words(first: int, stride: int, rows: int, now_ns: int) -> pa.Array:
        vocabulary, threshold, alias = _zipf(int(numbers["vocabulary"]), float(numbers["exponent"]))
        per_row = int(numbers["per_row"])
        chosen = np.empty(rows * per_row, np.int32)
        kernels.alias_choice(chosen, stream, np.uint64(first), np.uint64(stride), np.uint64(per_row), threshold, alias)
        picked = vocabulary.take(pa.array(chosen))
        if per_row == 1:
            return picked
        lists = pa.ListArray.from_arrays(pa.array(np.arange(0, rows * per_row + 1, per_row, dtype=np.int32)), picked)
        return pc.binary_join(lists, " ")

    def clock(first: int, stride: int, rows: int, now_ns: int) -> pa.Array:
        return pa.repeat(pa.scalar(now_ns, pa.int64()), rows)

    match column.kind:
        case ColumnKind.UNIFORM_INTS:
            return sparse if numbers["sparse"] else dense
        case ColumnKind.INTS:
            return dense
        case ColumnKind.FLOATS:
            return uniform_floats
        case ColumnKind.ROW_INDEX:
            return index
        case ColumnKind.EVENT_TIME:
            return time
        case ColumnKind.ZIPF_WORDS:
            return words
        case ColumnKind.EMITTED_NS:
            return clock


def _int64(rows: int) -> tuple[pa.Buffer, npt.NDArray[Any]]:
    """Allocate eight bytes per row from Arrow's memory pool. The pool reuses memory, which avoids page faults."""
    buffer = pa.allocate_buffer(rows * 8)
    return buffer, np.frombuffer(buffer, np.int64)


def _array(kind: pa.DataType, rows: int, buffer: pa.Buffer) -> pa.Array:
    return pa.Array.from_buffers(kind, rows, [None, buffer], null_count=0)


@lru_cache(maxsize=4)
def _zipf(vocabulary: int, exponent: float) -> tuple[pa.StringArray, npt.NDArray[np.uint32], npt.NDArray[np.int32]]:
    """Return the words by rank, and an alias table (Walker, 1977) of the probabilities of the words. The table is built with
    Vose's algorithm."""
    weight = 1.0 / np.arange(1, vocabulary + 1, dtype=np.float64) ** exponent
    scaled = (weight / weight.sum() * vocabulary).tolist()
    threshold = np.full(vocabulary, (1 << 32) - 1, np.uint32)
    alias = np.arange(vocabulary, dtype=np.int32)
    small = [rank for rank, share in enumerate(scaled) if share < 1.0]
    large = [rank for rank, share in enumerate(scaled) if share >= 1.0]
    while small and large:
        less, more = small.pop(), large[-1]
        threshold[less] = min(int(scaled[less] * (1 << 32)), (1 << 32) - 1)
        alias[less] = more
        scaled[more] -= 1.0 - scaled[less]
        if scaled[more] < 1.0:
            small.append(large.pop())
    return pa.array([_word(rank) for rank in range(vocabulary)]), threshold, alias


def _word(rank: int) -> str:
    """Return the word of a rank, by bijective numeration in base 26. Each rank has a different word, and frequent words are
    short."""
    letters = []
    rank += 1
    while rank:
        rank, digit = divmod(rank - 1, 26)
        letters.append(_WORD_LETTERS[digit])
    return "".join(reversed(letters))


def _check(condition: bool, message: str) -> None:
    if not condition:
        raise ConfigError(message)
