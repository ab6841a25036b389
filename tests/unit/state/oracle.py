"""The oracle of the backend tests: computes aggregations with a dict of Python values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from weir.state.backend import AggregateFunction, AggregateSpec, Emit

Key = tuple[Any, ...]


@dataclass
class Oracle:
    key: tuple[str, ...]
    aggregates: tuple[AggregateSpec, ...]
    emit: Emit
    values: dict[Key, dict[str, list[Any]]] = field(default_factory=dict)
    """All non-null values so far, for each key and aggregate."""

    def update(self, batch: pa.RecordBatch) -> list[tuple[Any, ...]]:
        records = batch.to_pylist()
        results: list[tuple[Any, ...]] = []
        touched: dict[Key, None] = {}
        for record in records:
            key = tuple(record[name] for name in self.key)
            touched[key] = None
            lists = self.values.setdefault(key, {spec.output: [] for spec in self.aggregates})
            for spec in self.aggregates:
                value = 1 if spec.column is None else record[spec.column]
                if value is not None:
                    lists[spec.output].append(value)
            if self.emit is Emit.EACH:
                results.append((*key, *self.row(key)))
        if self.emit is Emit.BATCH:
            results = [(*key, *self.row(key)) for key in touched]
        return results

    def row(self, key: Key) -> tuple[Any, ...]:
        return tuple(fold(spec.accumulator, self.values[key][spec.output]) for spec in self.aggregates)

    def table(self) -> dict[Key, tuple[Any, ...]]:
        return {key: self.row(key) for key in self.values}


def fold(accumulator: AggregateFunction, values: list[Any]) -> Any:
    if accumulator is AggregateFunction.COUNT:
        return len(values)
    if not values:
        return None
    match accumulator:
        case AggregateFunction.SUM:
            return sum(values)
        case AggregateFunction.MEAN:
            return sum(values) / len(values)
        case AggregateFunction.MIN:
            return min(values)
        case _:
            return max(values)


def to_rows(batch: pa.RecordBatch) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in batch.to_pylist()]


def same(left: Sequence[tuple[Any, ...]], right: Sequence[tuple[Any, ...]]) -> bool:
    """Return whether the rows are equal. Floats can differ by rounding."""
    return len(left) == len(right) and all(
        len(one) == len(other) and all(_same_value(a, b) for a, b in zip(one, other, strict=True))
        for one, other in zip(left, right, strict=True)
    )


def _same_value(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, int | float):
        return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-9)
    return bool(left == right)
