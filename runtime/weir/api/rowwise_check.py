"""Is a polars expression row by row? Where a batch ends is chance, so an expression must not notice."""

from __future__ import annotations

import io
import json
import warnings
from typing import Any

import polars as pl

from weir.errors import GraphError


def check_rowwise(expression: pl.Expr) -> None:
    """Raises GraphError for aggregates, windows, shifts, sorts, explodes, lookups in a column, chance and Python functions inside
    ``expression``."""
    if "python_udf" in str(expression):
        raise GraphError(f"{expression} has a Python function inside: use .map(...) for rows or .map_batches(...) for batches")
    if expression.meta.has_multiple_outputs():
        expression = _with_a_column_for_selectors(expression)
    meta = expression.meta
    _check_functions(_tree(expression), expression)
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
    replaced = json.dumps(_replaced(_tree(expression))).encode()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pl.Expr.deserialize(io.BytesIO(replaced), format="json")


def _tree(expression: pl.Expr) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the form is not promised to be stable; tests of ours pin what is read of it
        return json.loads(expression.meta.serialize(format="json"))


def _check_functions(tree: Any, expression: pl.Expr) -> None:
    """What polars calls row by row and is not: functions that look at a whole column of an argument, or at chance."""
    if isinstance(tree, list):
        for part in tree:
            _check_functions(part, expression)
    if not isinstance(tree, dict):
        return
    call = tree.get("Function")
    if isinstance(call, dict):
        _check_call(call["function"], call["input"], expression)
    for part in tree.values():
        _check_functions(part, expression)


def _check_call(function: Any, inputs: Any, expression: pl.Expr) -> None:
    # The first input is what is looked up. A default comes after the two tables of a replacement and goes row by row.
    match function:
        case {"Boolean": {"IsIn": _}}:
            tables = inputs[1:2]
        case "Replace" | {"ReplaceStrict": _}:
            tables = inputs[1:3]
        case {"ListExpr": {"Sample": {"seed": None}}}:
            raise GraphError(f"{expression} is chance: a replay would draw something else; give it a seed")
        case "ToPhysical" if _mentions(inputs, ("Categorical",)):
            raise GraphError(
                f"{expression} takes codes of categories, and in which order a process met these is chance: use pl.Enum"
            )
        case _:
            return
    if _mentions(tables, ("Column", "Selector")):
        raise GraphError(
            f"{expression} looks values up in a whole column, and which rows share a batch is chance: "
            'give the values themselves; for a column of lists use pl.col("lists").list.contains(...)'
        )


def _mentions(tree: Any, names: tuple[str, ...]) -> bool:
    if isinstance(tree, dict):
        return any(key in names or _mentions(value, names) for key, value in tree.items())
    return isinstance(tree, list) and any(_mentions(value, names) for value in tree)


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
