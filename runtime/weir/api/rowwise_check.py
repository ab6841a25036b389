"""Checks that polars expressions are row-wise. Batch boundaries vary between runs, so results must not depend on them."""

from __future__ import annotations

import io
import json
import warnings
from typing import Any

import polars as pl

from weir.errors import GraphError


def check_rowwise(expression: pl.Expr) -> None:
    """Raise GraphError if ``expression`` contains aggregates, windows, shifts, sorts, explodes, random numbers, Python functions,
    or functions such as ``is_in`` that look up values in a column."""
    if "python_udf" in str(expression):
        raise GraphError(f"{expression} contains a Python function. Use .map(...) for rows or .map_batches(...) for batches.")
    if expression.meta.has_multiple_outputs():
        expression = _replace_selectors(expression)
    meta = expression.meta
    _check_functions(_tree(expression), expression)
    if meta.is_literal() and not _quietly(meta.is_scalar):
        raise GraphError(f"{expression} is a literal with several rows, but batches vary in length. Use a single value.")
    _check(expression)


def _check(expression: pl.Expr) -> None:
    meta = expression.meta
    if meta.is_literal() or meta.is_column():
        return
    try:
        separable, same_length, scalar = map(_quietly, (meta.is_row_separable, meta.is_length_preserving, meta.is_scalar))
    except pl.exceptions.PolarsError:
        # Accept expressions that polars cannot check because it has not resolved their types yet, such as list.eval.
        separable, same_length, scalar = True, True, False
    if not separable:
        raise GraphError(
            f"{expression} depends on other rows, so its result depends on the batch boundaries, which vary between runs. "
            "Use a row-wise expression, or aggregate with .key_by(...).aggregate(...)."
        )
    if not same_length and not scalar:
        raise GraphError(f"{expression} changes the number of rows. Use .filter(...), .flat_map(...) or .map_batches(...).")
    # polars checks only the outermost call of an expression and would accept `a - a.mean()`, so check every inner call too.
    for part in meta.pop():
        _check(part)


def _replace_selectors(expression: pl.Expr) -> pl.Expr:
    """Replace each selector by a placeholder column, because polars cannot check ``pl.all() + 1`` without the input's columns."""
    if expression.meta.is_column_selection():
        return pl.col("any")
    replaced = json.dumps(_replaced(_tree(expression))).encode()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pl.Expr.deserialize(io.BytesIO(replaced), format="json")


def _tree(expression: pl.Expr) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the JSON format of polars is not stable, but our tests cover the parts that we read
        return json.loads(expression.meta.serialize(format="json"))


def _check_functions(tree: Any, expression: pl.Expr) -> None:
    """Raise GraphError for functions that polars reports as row-wise although they read a whole column or random numbers."""
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
    # The inputs of ``is_in`` are a value and the values to look up. The inputs of ``replace`` are a value, the old values, the
    # new values, and in some cases a default. The values to look up, and the old and new values, must not depend
    # on columns.
    match function:
        case {"Boolean": {"IsIn": _}}:
            lookup_values = inputs[1:2]
        case "Replace" | {"ReplaceStrict": _}:
            lookup_values = inputs[1:3]
        case {"ListExpr": {"Sample": {"seed": None}}}:
            raise GraphError(f"{expression} is random, so a replay would give different results. Set a seed.")
        case "ToPhysical" if _mentions(inputs, ("Categorical",)):
            raise GraphError(f"{expression} uses the codes of categories, which depend on the order of the input. Use pl.Enum.")
        case _:
            return
    if _mentions(lookup_values, ("Column", "Selector")):
        raise GraphError(
            f"{expression} looks up values in a column, so its result depends on the batch boundaries, which vary between runs. "
            'Pass the values themselves. For a column of lists, use pl.col("lists").list.contains(...).'
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


def _quietly(check: Any) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # polars marks these checks as unstable, but our tests cover their results
        return bool(check())
