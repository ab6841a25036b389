"""Evaluates integer arithmetic of polars expressions with numpy.

For a batch of a few rows, numpy is about a hundred times as fast as polars. Polars also uses more CPU time for large batches,
because it passes them to its own threads. With numpy, the benchmark abs6 reads a sixth more records per second.

This module evaluates expressions of int64 columns, integers, ``+``, ``-``, ``*`` and ``//`` with a positive integer. numpy and
polars give the same results for these operations: both wrap around, and both round down. Polars evaluates all other expressions.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

if TYPE_CHECKING:
    import polars as pl

Integers: TypeAlias = npt.NDArray[np.int64]
_Node: TypeAlias = Callable[[Mapping[str, Integers]], Any]
_LITERAL_MAX = 2**31
_INT64 = pa.int64()
_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {"Plus": operator.add, "Minus": operator.sub, "Multiply": operator.mul}


class IntegerArithmetic:
    """Evaluates several expressions. ``of`` returns None if any of the expressions needs polars."""

    def __init__(self, columns: Sequence[str], nodes: Mapping[str, _Node]) -> None:
        self._columns = tuple(columns)
        self._nodes = dict(nodes)

    @classmethod
    def of(cls, expressions: Sequence[pl.Expr]) -> IntegerArithmetic | None:
        columns: set[str] = set()
        nodes = {}
        for expression in expressions:
            try:
                # The format of the JSON text is not stable. Polars evaluates every expression that this module does not know.
                tree = json.loads(expression.meta.serialize(format="json"))
                nodes[expression.meta.output_name()] = _compile_column(tree, columns)
            except (ValueError, TypeError, KeyError, AttributeError):
                return None
        return cls(sorted(columns), nodes)

    def evaluate(self, batch: pa.RecordBatch) -> dict[str, pa.Array] | None:
        """Return the computed columns by name. Return None if polars must evaluate the expressions, because a
        column has another type or contains nulls."""
        values: dict[str, Integers] = {}
        for name in self._columns:
            column = batch.column(name)
            if column.type != _INT64 or column.null_count:
                return None
            values[name] = column.to_numpy()
        return {name: _column(node(values)) for name, node in self._nodes.items()}


def _column(values: Integers) -> pa.Array:
    return pa.Array.from_buffers(_INT64, len(values), [None, pa.py_buffer(values)], 0)  # half of the time of ``pa.array``


def _reads_column(tree: Any) -> bool:
    return '"Column"' in json.dumps(tree)


def _compile_column(tree: Any, columns: set[str]) -> _Node:
    """Compile an expression whose value is a column, not a single number. Raises ValueError, TypeError or KeyError for an unknown
    expression."""
    if not _reads_column(tree):
        raise ValueError("the value is not a column")
    return _compile(tree, columns)


def _compile(tree: Any, columns: set[str]) -> _Node:
    match tree:
        case {"Column": str(name)}:
            columns.add(name)
            return lambda values: values[name]
        case {"Literal": {"Dyn": {"Int": int(number)}}} if abs(number) < _LITERAL_MAX:
            return lambda values: np.int64(number)
        case {"Alias": [inner, str()]}:
            return _compile(inner, columns)
        case {"BinaryExpr": {"left": left, "op": "FloorDivide", "right": {"Literal": {"Dyn": {"Int": int(divisor)}}}}}:
            if not 0 < divisor < _LITERAL_MAX:
                raise ValueError("not a positive divisor")
            dividend = _compile_column(left, columns)
            return lambda values: dividend(values) // divisor
        case {"BinaryExpr": {"left": left, "op": str(name), "right": right}} if _reads_column(tree):
            operation = _OPERATIONS[name]
            first, second = _compile(left, columns), _compile(right, columns)
            return lambda values: operation(first(values), second(values))
    raise ValueError("an unknown expression")
