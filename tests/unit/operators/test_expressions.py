"""The operators of select, with_columns and filter. The tests in ``tests/unit/api`` check the results of expressions."""

from __future__ import annotations

import polars as pl
import pyarrow as pa
import pytest
from tests.unit.operators.operator_harness import process, rows, sizes

from weir.errors import UserCodeError
from weir.operators.expressions import FilterOperator, OutputColumn, ProjectOperator

WHERE = "select 's' (at job.py:9)"
SCHEMA = pa.schema([("word", pa.string()), ("n", pa.int64())])
BATCH = pa.RecordBatch.from_pylist([{"word": f"{n}", "n": n} for n in range(100)], schema=SCHEMA)


def test_a_column_that_no_expression_changes_keeps_its_buffer() -> None:
    schema = pa.schema([("word", pa.string()), ("twice", pa.int64())])
    columns = [OutputColumn("word", "word"), OutputColumn("twice", None)]
    operator = ProjectOperator(columns, [(pl.col("n") * 2).alias("twice")], reads=["n"], schema=schema, where=WHERE)
    (made,) = process(operator, BATCH)
    assert rows([made]) == [{"word": f"{n}", "twice": 2 * n} for n in range(100)]
    assert made.column("word").buffers()[2].address == BATCH.column("word").buffers()[2].address


def test_the_error_for_an_expression_that_fails_shows_the_row() -> None:
    for bad in (0, 1, 49, 50, 98, 99):
        words = [f"{n}" for n in range(100)]
        words[bad] = "seven"
        batch = pa.RecordBatch.from_pydict({"word": words, "n": list(range(100))}, schema=SCHEMA)
        expression = pl.col("word").cast(pl.Int64).alias("i")
        operator = ProjectOperator(
            [OutputColumn("i", None)], [expression], reads=["word"], schema=pa.schema([("i", pa.int64())]), where=WHERE
        )
        with pytest.raises(UserCodeError, match="the row was {'word': 'seven'}") as raised:
            process(operator, batch)
        assert str(raised.value).startswith(WHERE)


def test_a_filter_returns_a_batch_without_a_copy_if_all_rows_match() -> None:
    keeps_all = FilterOperator(pl.col("n") >= 0, reads=["n"], where=WHERE)
    (made,) = process(keeps_all, BATCH)
    assert made is BATCH
    assert process(FilterOperator(pl.col("n") < 0, reads=["n"], where=WHERE), BATCH) == []


def test_a_filter_drops_rows_for_which_the_condition_is_null_or_false() -> None:
    batch = pa.RecordBatch.from_pydict({"word": ["a", "b", "c", "d"], "n": [1, None, 3, -1]}, schema=SCHEMA)
    made = process(FilterOperator(pl.col("n") > 0, reads=["n"], where=WHERE), batch, batch_rows=1)
    assert rows(made) == [{"word": "a", "n": 1}, {"word": "c", "n": 3}]
    assert sizes(made) == [1, 1]
