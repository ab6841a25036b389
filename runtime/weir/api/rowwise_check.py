"""Is a polars expression row by row? Where a batch ends is chance, so an expression must not notice."""

from __future__ import annotations

import io
import json
import warnings
from typing import Any

import polars as pl

from weir.errors import GraphError


def check_rowwise(expression: pl.Expr) -> None:
    """Raises GraphError for aggregates, windows, shifts, sorts, explodes and Python functions inside ``expression``."""
    if "python_udf" in str(expression):
        raise GraphError(f"{expression} has a Python function inside: use .map(...) for rows or .map_batches(...) for batches")
    if expression.meta.has_multiple_outputs():
        expression = _with_a_column_for_selectors(expression)
    meta = expression.meta
    if meta.is_literal() and not _quietly(meta.is_scalar):
        raise GraphError(f"{expression} is a literal of several rows: batches have their own length; use a single value")
    _check(expression)


def _check(expression: pl.Expr) -> None:
    meta = expression.meta
    if meta.is_literal() or meta.is_column():
        return
    try:
        separable, same_length, scalar = map(_quietly, (meta.is_row_separable, meta.is_length_preserving, meta.is_scalar))
    except pl.exceptions.PolarsError:
        # Needs types to be resolved, as a list's eval does: that works on the values of one row.
        separable, same_length, scalar = True, True, False
    if not separable:
        raise GraphError(
            f"{expression} depends on other rows, and which rows share a batch is chance: expressions go row by row; "
            "aggregate with .key_by(...).aggregate(...)"
        )
    if not same_length and not scalar:
        raise GraphError(f"{expression} changes the number of rows: use .filter(...), .flat_map(...) or .map_batches(...)")
    # polars asks only the outermost call, so `a - a.mean()` would pass: ask each.
    for part in meta.pop():
        _check(part)


def _with_a_column_for_selectors(expression: pl.Expr) -> pl.Expr:
    """The same expression over one made-up column: polars tells nothing of ``pl.all() + 1`` before it knows the columns."""
    if expression.meta.is_column_selection():
        return pl.col("any")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the JSON form is not promised to be stable, and need not be: it is read back at once
        tree = json.loads(expression.meta.serialize(format="json"))
        return pl.Expr.deserialize(io.BytesIO(json.dumps(_replaced(tree)).encode()), format="json")


def _replaced(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {"Column": "any"} if set(tree) == {"Selector"} else {key: _replaced(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_replaced(value) for value in tree]
    return tree


def _quietly(question: Any) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # marked unstable in polars; tests of ours pin the answers
        return bool(question())
