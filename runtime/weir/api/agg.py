"""Aggregates for ``KeyedStream.aggregate``, for example ``flights=agg.count(), delay=agg.mean("dep_delay")``. As in polars,
``agg.count().alias("flights")`` also names the output column.

All aggregates of a column ignore nulls. ``count()`` without a column counts rows. Sums of integers are int64, and means are
float64. Minima and maxima have the type of their column.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from weir.state.backend import AggregateFunction


@dataclass(frozen=True, slots=True)
class Aggregate:
    accumulator: AggregateFunction
    column: str | None = None
    name: str | None = None
    """The name of the output column, or None if a keyword argument of ``aggregate`` names it."""

    def alias(self, name: str) -> Aggregate:
        """Return this aggregate with the output column ``name``, which can be any name, such as ``uid``."""
        return replace(self, name=name)


def count(column: str | None = None) -> Aggregate:
    """Count rows, or rows in which ``column`` is not null."""
    return Aggregate(AggregateFunction.COUNT, column)


def sum(column: str) -> Aggregate:  # this name hides the built-in sum, so that job authors can write agg.sum
    return Aggregate(AggregateFunction.SUM, column)


def min(column: str) -> Aggregate:
    return Aggregate(AggregateFunction.MIN, column)


def max(column: str) -> Aggregate:
    return Aggregate(AggregateFunction.MAX, column)


def mean(column: str) -> Aggregate:
    return Aggregate(AggregateFunction.MEAN, column)
