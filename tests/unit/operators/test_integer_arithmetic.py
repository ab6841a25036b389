"""Integer arithmetic without polars gives the results of polars."""

from __future__ import annotations

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weir.operators.integer_arithmetic import IntegerArithmetic

INT64 = st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-20, 20), st.sampled_from([-(2**63), 2**63 - 1]))
LITERALS = st.integers(-(2**31) + 1, 2**31 - 1)
COLUMNS = st.sampled_from([pl.col("a"), pl.col("b")])


def _extended(inner: st.SearchStrategy[pl.Expr]) -> st.SearchStrategy[pl.Expr]:
    operand = st.one_of(inner, LITERALS.map(pl.lit))
    return st.one_of(
        st.tuples(inner, operand, st.sampled_from(["+", "-", "*"])).map(_binary),
        st.tuples(operand, inner, st.sampled_from(["+", "-", "*"])).map(_binary),
        st.tuples(inner, st.integers(1, 2**31 - 1)).map(lambda pair: pair[0] // pair[1]),
    )


def _binary(parts: tuple[pl.Expr, pl.Expr, str]) -> pl.Expr:
    left, right, operation = parts
    return {"+": left + right, "-": left - right, "*": left * right}[operation]


@settings(max_examples=150, deadline=None)
@given(st.recursive(COLUMNS, _extended, max_leaves=5), st.lists(st.tuples(INT64, INT64), min_size=1, max_size=8))
def test_the_results_are_those_of_polars(expression: pl.Expr, rows: list[tuple[int, int]]) -> None:
    batch = pa.record_batch({"a": pa.array([a for a, _ in rows], pa.int64()), "b": pa.array([b for _, b in rows], pa.int64())})
    arithmetic = IntegerArithmetic.of([expression.alias("result")])
    assert arithmetic is not None
    values = arithmetic.evaluate(batch)
    expected = pl.DataFrame(pl.from_arrow(batch)).with_columns(expression.alias("result"))["result"]
    assert values is not None and expected.dtype == pl.Int64
    assert values["result"].to_pylist() == expected.to_list()


@pytest.mark.parametrize(
    "expression",
    [
        pl.col("a") / 2,
        pl.col("a") // 0,
        pl.col("a") // -2,
        pl.col("a") // pl.col("b"),
        pl.col("a") % 3,
        pl.col("a") * 1.5,
        pl.col("a") + 2**40,
        pl.col("a").cast(pl.Int32),
        pl.col("a").sum(),
        pl.col("a") > 3,
        pl.lit(3),
        pl.col("a") + (pl.lit(1) + pl.lit(2)),
        pl.when(pl.col("a") > 0).then(1).otherwise(2),
    ],
)
def test_polars_evaluates_all_other_expressions(expression: pl.Expr) -> None:
    assert IntegerArithmetic.of([expression.alias("result")]) is None
    assert IntegerArithmetic.of([pl.col("a") + 1, expression.alias("result")]) is None


@pytest.mark.parametrize("column", [pa.array([1, None]), pa.array([1, 2], pa.int32()), pa.array([1.0, 2.0])])
def test_polars_evaluates_columns_with_nulls_or_of_other_types(column: pa.Array) -> None:
    arithmetic = IntegerArithmetic.of([pl.col("a") + 1])
    assert arithmetic is not None and arithmetic.evaluate(pa.record_batch({"a": column})) is None
