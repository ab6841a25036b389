"""What a row of one keyed aggregation looks like, and what comes out of it.

Types of results: counts are int64; sums of integers and booleans int64 (leaving its range fails the
job instead of wrapping), of floats float64; means float64; minima and maxima have the type of their
column. Nulls in a column are left out; a sum, minimum, maximum or mean without any value is null.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from weir.errors import SchemaError
from weir.state.accumulate import COUNT_ROWS, MAX_FLOAT, MAX_INT, MEAN, MIN_FLOAT, MIN_INT, SUM_FLOAT, SUM_INT
from weir.state.base import Accumulator, AggregateSpec
from weir.state.memory import Words
from weir.state.rows import KEY, KEY_NULL_BITS, META, SEEN_BITS, SEEN_SHIFT, padded_words
from weir.state.words import Encoding, encoding_of, value_type

_INT64 = np.iinfo(np.int64)
_NEUTRAL = {
    MIN_INT: int(_INT64.max),
    MAX_INT: int(_INT64.min),
    MIN_FLOAT: int(np.float64("nan").view(np.int64)),
    MAX_FLOAT: int(np.float64("-inf").view(np.int64)),
}
KEY_GROUP_COLUMN = "__key_group"


@dataclass(frozen=True, slots=True)
class AccumulatorSlot:
    """One aggregate in the row. ``word``: where it begins; ``seen_bit``: of its column, None if its result is never null."""

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
        """The word that stands for "no value yet"."""
        return _NEUTRAL.get(self.kind, 0)


@dataclass(frozen=True, slots=True)
class RowLayout:
    """``key_words[k]``: where in the row key column k begins. ``seen_columns[bit]``: the input column of a seen bit."""

    key: tuple[str, ...]
    key_columns: tuple[int, ...]
    key_types: tuple[pa.DataType, ...]
    encodings: tuple[Encoding, ...]
    key_words: tuple[int, ...]
    slots: tuple[AccumulatorSlot, ...]
    seen_columns: tuple[int, ...]
    row_words: int

    @property
    def key_word_count(self) -> int:
        return sum(words_of(encoding) for encoding in self.encodings)

    def template(self, *, all_seen: bool) -> Words:
        """A new row. ``all_seen``: no column has had a null yet, so whoever has a row has a value in each."""
        words = np.zeros(self.row_words, dtype=np.int64)
        if all_seen:
            words[META] = ((1 << len(self.seen_columns)) - 1) << SEEN_SHIFT
        for slot in self.slots:
            words[slot.word] = slot.neutral
        return words

    def state_schema(self) -> pa.Schema:
        """Of a state file: key columns, key group, accumulators."""
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
    """Raises SchemaError: a column that does not exist, a type that cannot be a key or be aggregated, a name given twice."""
    if not key:
        raise SchemaError("an aggregation needs at least one key column: name it in key_by(...)")
    if not aggregates:
        raise SchemaError("an aggregation needs at least one aggregate, for example agg.count()")
    if len(key) > KEY_NULL_BITS:
        raise SchemaError(f"{len(key)} key columns are too many: at most {KEY_NULL_BITS}; combine some into one first")
    names = [*key, *(spec.output for spec in aggregates)]
    for name in names:
        if names.count(name) > 1:
            raise SchemaError(f"column {name!r} would appear twice in the result of the aggregation: rename the aggregate")
        if name == KEY_GROUP_COLUMN:
            raise SchemaError(f"column name {name!r} is reserved for state files: rename it")
    key_columns = tuple(_position(input_schema, name, "key") for name in key)
    key_fields = [input_schema.field(position) for position in key_columns]
    encodings = tuple(encoding_of(field.name, field.type) for field in key_fields)
    word = KEY
    key_words = []
    for encoding in encodings:
        key_words.append(word)
        word += words_of(encoding)
    slots: list[AccumulatorSlot] = []
    seen_columns: list[int] = []
    for spec in aggregates:
        slot = _slot(spec, input_schema, word, seen_columns)
        slots.append(slot)
        word += slot.words
    if len(seen_columns) > SEEN_BITS:
        raise SchemaError(f"{len(seen_columns)} different columns are aggregated: at most {SEEN_BITS} in one aggregate(...)")
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
    """Key columns as they came, then one column an aggregate. Raises SchemaError as ``layout_of`` does."""
    layout = layout_of(input_schema, key, aggregates)
    fields = [input_schema.field(position) for position in layout.key_columns]
    for slot in layout.slots:
        fields.append(pa.field(slot.spec.output, slot.type, nullable=slot.spec.accumulator is not Accumulator.COUNT))
    return pa.schema(fields)


def _slot(spec: AggregateSpec, schema: pa.Schema, word: int, seen_columns: list[int]) -> AccumulatorSlot:
    if spec.column is None:
        if spec.accumulator is not Accumulator.COUNT:
            example = f"agg.{spec.accumulator}('amount')"
            raise SchemaError(f"aggregate {spec.output!r}: {spec.accumulator} needs a column, for example {example}")
        return AccumulatorSlot(spec, COUNT_ROWS, word, None, pa.int64(), None)
    position = _position(schema, spec.column, f"aggregate {spec.output!r}")
    type_ = schema.field(position).type
    if spec.accumulator is Accumulator.COUNT:
        return AccumulatorSlot(spec, SUM_INT, word, position, pa.int64(), None)
    kind, result = _kind(spec, type_)
    if position not in seen_columns:
        seen_columns.append(position)
    return AccumulatorSlot(spec, kind, word, position, result, seen_columns.index(position))


def _kind(spec: AggregateSpec, type_: pa.DataType) -> tuple[int, pa.DataType]:
    kinds = pa.types
    floating = kinds.is_floating(type_)
    number = floating or kinds.is_integer(type_) or kinds.is_boolean(type_)
    ordered = number or kinds.is_date(type_) or kinds.is_timestamp(type_) or kinds.is_time(type_) or kinds.is_duration(type_)
    match spec.accumulator:
        case Accumulator.SUM if floating:
            return SUM_FLOAT, pa.float64()
        case Accumulator.SUM if number and type_ != pa.uint64():
            return SUM_INT, pa.int64()
        case Accumulator.MEAN if number:
            return MEAN, pa.float64()
        case Accumulator.MIN if ordered:
            return MIN_FLOAT if floating else MIN_INT, type_
        case Accumulator.MAX if ordered:
            return MAX_FLOAT if floating else MAX_INT, type_
    raise SchemaError(
        f"aggregate {spec.output!r}: there is no {spec.accumulator} of column {spec.column!r}, which is of type {type_}; "
        f"cast it to int64 or float64 first"
    )


def _position(schema: pa.Schema, name: str, where: str) -> int:
    positions = schema.get_all_field_indices(name)
    if len(positions) == 1:
        return int(positions[0])
    if positions:
        raise SchemaError(f"{where}: there are {len(positions)} columns named {name!r}; rename all but one")
    near = difflib.get_close_matches(name, schema.names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(schema.names)}"
    raise SchemaError(f"{where}: no column {name!r}; {hint}")
