"""The layout of a row of one keyed aggregation, and the schema of its results.

Counts, and sums of integers and booleans, have the type int64. If a sum of integers exceeds the range of int64, the job fails.
Sums of floats, and means, have the type float64. Minima and maxima have the type of their column. Aggregates of a column ignore
nulls. If a key has no values in the column, its sum, minimum, maximum and mean are null.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from weir.errors import SchemaError
from weir.graph.schema import near_miss
from weir.state.accumulators import COUNT_ROWS, MAX_FLOAT, MAX_INT, MEAN, MIN_FLOAT, MIN_INT, SUM_FLOAT, SUM_INT
from weir.state.arrow_columns import Encoding, encoding_of, value_type
from weir.state.backend import AggregateFunction, AggregateSpec
from weir.state.numba_support import Words
from weir.state.row_chunks import KEY, KEY_NULL_BITS, META, SEEN_BITS, SEEN_SHIFT, padded_words

_INT64 = np.iinfo(np.int64)
_NEUTRAL = {
    MIN_INT: int(_INT64.max),
    MAX_INT: int(_INT64.min),
    MIN_FLOAT: int(np.float64("nan").view(np.int64)),
    MAX_FLOAT: int(np.float64("-inf").view(np.int64)),
}
KEY_GROUP_COLUMN = "__key_group"


@dataclass(frozen=True, slots=True)
class AccumulatorLayout:
    """The accumulator of one aggregate in a row. ``word`` is the position of the accumulator's first word in the row.

    ``seen_bit`` is the number of a bit in ``meta``. The bit is 1 if the key has had a non-null value in the input column of the
    aggregate. ``seen_bit`` is None for an aggregate whose result is never null.
    """

    spec: AggregateSpec
    kind: int
    word: int
    column: int | None
    type: pa.DataType
    seen_bit: int | None

    @property
    def words(self) -> int:
        return 2 if self.kind == MEAN else 1

    @property
    def neutral(self) -> int:
        """The initial value of the accumulator's first word, before any value is folded."""
        return _NEUTRAL.get(self.kind, 0)


@dataclass(frozen=True, slots=True)
class RowLayout:
    """The layout of a row. ``key_words[k]`` is the position of the first word of key column k in the row. ``seen_columns[bit]``
    is the input column to which seen bit ``bit`` belongs."""

    key: tuple[str, ...]
    key_columns: tuple[int, ...]
    key_types: tuple[pa.DataType, ...]
    encodings: tuple[Encoding, ...]
    key_words: tuple[int, ...]
    slots: tuple[AccumulatorLayout, ...]
    seen_columns: tuple[int, ...]
    row_words: int

    @property
    def key_word_count(self) -> int:
        return sum(words_of(encoding) for encoding in self.encodings)

    def template(self, *, all_seen: bool) -> Words:
        """Return the words of a new row. If ``all_seen`` is True, all seen bits of the new row are 1. The caller passes
        ``all_seen=True`` until an aggregated column contains its first null."""
        words = np.zeros(self.row_words, dtype=np.int64)
        if all_seen:
            words[META] = ((1 << len(self.seen_columns)) - 1) << SEEN_SHIFT
        for slot in self.slots:
            words[slot.word] = slot.neutral
        return words

    def state_schema(self) -> pa.Schema:
        """Return the schema of a state file: key columns, key group, accumulators."""
        fields = [pa.field(name, type_) for name, type_ in zip(self.key, self.key_types, strict=True)]
        fields.append(pa.field(KEY_GROUP_COLUMN, pa.uint16(), nullable=False))
        for slot in self.slots:
            if slot.kind == MEAN:
                fields.append(pa.field(f"{slot.spec.output}.sum", pa.float64(), nullable=False))
                fields.append(pa.field(f"{slot.spec.output}.count", pa.int64(), nullable=False))
            else:
                fields.append(pa.field(slot.spec.output, slot.type))
        return pa.schema(fields)


def words_of(encoding: Encoding) -> int:
    return 2 if encoding is Encoding.DECIMAL else 1


def layout_of(input_schema: pa.Schema, key: Sequence[str], aggregates: Sequence[AggregateSpec]) -> RowLayout:
    """Compute the layout. Raises SchemaError for unknown columns, duplicate names, and columns that cannot be a key or cannot be
    aggregated."""
    if not key:
        raise SchemaError("an aggregation needs at least one key column. Name the key columns in key_by(...).")
    if not aggregates:
        raise SchemaError("an aggregation needs at least one aggregate, for example agg.count().")
    if len(key) > KEY_NULL_BITS:
        raise SchemaError(f"{len(key)} key columns are too many. The maximum is {KEY_NULL_BITS}. Combine some columns into one.")
    names = [*key, *(spec.output for spec in aggregates)]
    for name in names:
        if names.count(name) > 1:
            raise SchemaError(f"column {name!r} would appear twice in the result of the aggregation. Rename the aggregate.")
        if name == KEY_GROUP_COLUMN:
            raise SchemaError(f"column name {name!r} is reserved for state files. Rename the column.")
    key_columns = tuple(_position(input_schema, name, "key") for name in key)
    key_fields = [input_schema.field(position) for position in key_columns]
    encodings = tuple(encoding_of(field.name, field.type) for field in key_fields)
    word = KEY
    key_words = []
    for encoding in encodings:
        key_words.append(word)
        word += words_of(encoding)
    slots: list[AccumulatorLayout] = []
    seen_columns: list[int] = []
    for spec in aggregates:
        slot = _slot(spec, input_schema, word, seen_columns)
        slots.append(slot)
        word += slot.words
    if len(seen_columns) > SEEN_BITS:
        raise SchemaError(
            f"{len(seen_columns)} different columns are aggregated, but the maximum in one aggregate(...) is {SEEN_BITS}. "
            "Use several aggregations."
        )
    return RowLayout(
        key=tuple(key),
        key_columns=key_columns,
        key_types=tuple(value_type(field.type) for field in key_fields),
        encodings=encodings,
        key_words=tuple(key_words),
        slots=tuple(slots),
        seen_columns=tuple(seen_columns),
        row_words=padded_words(word),
    )


def output_schema(input_schema: pa.Schema, key: Sequence[str], aggregates: Sequence[AggregateSpec]) -> pa.Schema:
    """Return the schema of the results: the key columns of the input, then one column per aggregate. Raises SchemaError in the
    same cases as ``layout_of``."""
    layout = layout_of(input_schema, key, aggregates)
    fields = [input_schema.field(position) for position in layout.key_columns]
    for slot in layout.slots:
        fields.append(pa.field(slot.spec.output, slot.type, nullable=slot.spec.accumulator is not AggregateFunction.COUNT))
    return pa.schema(fields)


def _slot(spec: AggregateSpec, schema: pa.Schema, word: int, seen_columns: list[int]) -> AccumulatorLayout:
    if spec.column is None:
        if spec.accumulator is not AggregateFunction.COUNT:
            example = f"agg.{spec.accumulator}('amount')"
            raise SchemaError(f"aggregate {spec.output!r}: {spec.accumulator} needs a column, for example {example}.")
        return AccumulatorLayout(spec, COUNT_ROWS, word, None, pa.int64(), None)
    position = _position(schema, spec.column, f"aggregate {spec.output!r}")
    type_ = schema.field(position).type
    if spec.accumulator is AggregateFunction.COUNT:
        return AccumulatorLayout(spec, SUM_INT, word, position, pa.int64(), None)
    kind, result = _kind(spec, type_)
    if position not in seen_columns:
        seen_columns.append(position)
    return AccumulatorLayout(spec, kind, word, position, result, seen_columns.index(position))


def _kind(spec: AggregateSpec, type_: pa.DataType) -> tuple[int, pa.DataType]:
    kinds = pa.types
    floating = kinds.is_floating(type_)
    number = floating or kinds.is_integer(type_) or kinds.is_boolean(type_)
    ordered = number or kinds.is_date(type_) or kinds.is_timestamp(type_) or kinds.is_time(type_) or kinds.is_duration(type_)
    match spec.accumulator:
        case AggregateFunction.SUM if floating:
            return SUM_FLOAT, pa.float64()
        case AggregateFunction.SUM if number and type_ != pa.uint64():
            return SUM_INT, pa.int64()
        case AggregateFunction.MEAN if number:
            return MEAN, pa.float64()
        case AggregateFunction.MIN if ordered:
            return MIN_FLOAT if floating else MIN_INT, type_
        case AggregateFunction.MAX if ordered:
            return MAX_FLOAT if floating else MAX_INT, type_
    raise SchemaError(
        f"aggregate {spec.output!r}: cannot compute the {spec.accumulator} of column {spec.column!r} of type {type_}. "
        "Cast the column to int64 or float64."
    )


def _position(schema: pa.Schema, name: str, where: str) -> int:
    positions = schema.get_all_field_indices(name)
    if len(positions) == 1:
        return int(positions[0])
    if positions:
        raise SchemaError(f"{where}: there are {len(positions)} columns named {name!r}. Rename all but one.")
    raise SchemaError(f"{where}: no column {name!r}{near_miss(name, schema.names)}")
