"""map_batches: Arrow and Polars functions, blocking functions, and invalid results."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.unit.operators.operator_harness import context, process, rows, sizes

from weir.errors import UserCodeError
from weir.operators.base import BackgroundCall
from weir.operators.map_batches import BatchForm, MapBatchesOperator
from weir.operators.union import UnionOperator

WHERE = "map_batches 'b'"
SCHEMA = pa.schema([("word", pa.string()), ("n", pa.int64())])
BATCH = pa.RecordBatch.from_pylist([{"word": f"w{n}", "n": n} for n in range(10)], schema=SCHEMA)


def doubled(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.set_column(1, "n", pc.multiply(batch.column("n"), 2))


DOUBLED = [{"word": f"w{n}", "n": 2 * n} for n in range(10)]


def test_an_arrow_function_receives_bounded_batches() -> None:
    seen: list[int] = []

    def function(batch: pa.RecordBatch) -> pa.RecordBatch:
        seen.append(batch.num_rows)
        return doubled(batch)

    results = process(MapBatchesOperator(function, SCHEMA, WHERE), BATCH, batch_rows=4)
    assert rows(results) == DOUBLED
    assert seen == sizes(results) == [4, 4, 2]


@pytest.mark.parametrize(
    "function",
    [
        lambda frame: frame.with_columns(pl.col("n") * 2),
        lambda frame: frame.with_columns(pl.col("n") * 2).select("n", "word"),
        lambda frame: frame.with_columns(pl.col("n") * 2).to_arrow(),
        lambda frame: pa.Table.from_batches([doubled(BATCH)]),
    ],
)
def test_a_polars_function_can_return_polars_or_arrow_data_with_any_column_order(
    function: Callable[[pl.DataFrame], object],
) -> None:
    results = process(MapBatchesOperator(function, SCHEMA, WHERE, form=BatchForm.POLARS), BATCH)
    assert rows(results) == DOUBLED
    assert all(batch.schema == SCHEMA for batch in results)


def test_a_result_with_more_rows_than_the_batch_size_is_sliced() -> None:
    results = process(MapBatchesOperator(lambda batch: pa.Table.from_batches([batch] * 5), SCHEMA, WHERE), BATCH, batch_rows=8)
    assert max(sizes(results)) <= 8
    assert sum(sizes(results)) == 50


def test_an_empty_result_or_batch_gives_no_output() -> None:
    assert process(MapBatchesOperator(lambda batch: batch.slice(0, 0), SCHEMA, WHERE), BATCH) == []
    assert process(MapBatchesOperator(lambda batch: 1 / 0, SCHEMA, WHERE), BATCH.slice(0, 0)) == []


def test_the_operator_yields_no_batch_until_its_blocking_function_returns() -> None:
    waiting: list[tuple[Callable[[], object], Future[object]]] = []

    def run_in_background(work: Callable[[], object]) -> BackgroundCall:
        waiting.append((work, Future()))
        return waiting[-1][1]

    operator = MapBatchesOperator(doubled, SCHEMA, WHERE, blocking=True)
    operator.open(context(batch_rows=5, run_in_background=run_in_background))
    step = operator.process(BATCH, 0)
    results = []
    for _ in range(2):
        assert next(step) is None
        assert next(step) is None
        work, future = waiting[-1]
        future.set_result(work())
        results.append(next(step))
    assert next(step, "end") == "end"
    assert rows([batch for batch in results if batch is not None]) == DOUBLED
    assert len(waiting) == 2


def test_an_error_of_a_blocking_function_is_raised_in_the_thread_of_the_loop() -> None:
    def run_in_background(work: Callable[[], object]) -> BackgroundCall:
        future: Future[object] = Future()
        try:
            future.set_result(work())
        except UserCodeError as error:
            future.set_exception(error)
        return future

    operator = MapBatchesOperator(lambda batch: 1 / 0, SCHEMA, WHERE, blocking=True)
    operator.open(context(run_in_background=run_in_background))
    with pytest.raises(UserCodeError, match="raised ZeroDivisionError"):
        list(operator.process(BATCH, 0))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda batch: 1 / 0, "<lambda> .*raised ZeroDivisionError: .* a batch of 10 rows with columns word, n"),
        (lambda batch: None, "returned None of type NoneType. Return a pyarrow"),
        (lambda batch: batch.select(["word"]), "returned no column 'n'"),
        (lambda batch: batch.rename_columns(["wrod", "n"]), "column 'wrod', which is not in the schema; did you mean 'word'?"),
        (lambda batch: batch.rename_columns(["n", "n"]), "duplicate columns: n"),
        (
            lambda batch: batch.set_column(1, "n", batch.column("n").cast(pa.int32())),
            "'n' is int64 in the schema, .* returned int32. Cast",
        ),
    ],
)
def test_the_error_for_an_invalid_result_names_the_operator(function: Callable[[pa.RecordBatch], object], message: str) -> None:
    with pytest.raises(UserCodeError, match=message) as raised:
        process(MapBatchesOperator(function, SCHEMA, WHERE), BATCH)
    assert str(raised.value).startswith(WHERE)


def test_a_null_in_a_column_that_is_not_nullable_is_refused() -> None:
    schema = pa.schema([pa.field("n", pa.int64(), nullable=False)])
    with pytest.raises(UserCodeError, match="column 'n' must not be null"):
        process(
            MapBatchesOperator(
                lambda batch: pa.RecordBatch.from_pydict({"n": [None]}, schema=pa.schema([("n", pa.int64())])), schema, WHERE
            ),
            BATCH,
        )


def test_a_union_casts_batches_only_if_their_arrow_layout_differs_from_its_schema() -> None:
    wide = BATCH.cast(pa.schema([("word", pa.large_string()), ("n", pa.int64())]))
    results = process(UnionOperator(SCHEMA), BATCH, wide, BATCH.slice(0, 0))
    assert [batch.schema == SCHEMA for batch in results] == [True, True]
    assert rows(results) == rows([BATCH]) * 2
