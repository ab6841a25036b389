"""map, flat_map and filter_rows: results and errors of user functions."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.operators.operator_harness import context, process, rows, sizes

from weir.errors import UserCodeError
from weir.operators.base import Operator
from weir.operators.row_conversion import to_rows
from weir.operators.row_operators import FilterRowsOperator, FlatMapOperator, MapOperator

no_deadline = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


WHERE = "map 'm' (at job.py:3)"
SCHEMA = pa.schema([("word", pa.string()), ("n", pa.int64())])
some_rows = st.lists(
    st.fixed_dictionaries(
        {"word": st.none() | st.text(alphabet="aäß\n", max_size=5), "n": st.none() | st.integers(-(2**63), 2**63 - 1)}
    ),
    max_size=40,
)


def batch_of(given_rows: list[dict[str, Any]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(given_rows, schema=SCHEMA)


def length(row: dict[str, Any]) -> dict[str, Any]:
    return {"word": row["word"], "n": len(row["word"] or "")}


def repeated(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for index in range((row["n"] or 0) % 5):
        yield {"word": row["word"], "n": index}


def is_even(row: dict[str, Any]) -> bool:
    return row["n"] is not None and row["n"] % 2 == 0


@no_deadline
@given(some_rows, st.integers(1, 7))
def test_map_gives_the_same_rows_as_a_python_loop(given_rows: list[dict[str, Any]], batch_rows: int) -> None:
    results = process(MapOperator(length, SCHEMA, WHERE), batch_of(given_rows), batch_rows=batch_rows)
    assert rows(results) == [length(row) for row in given_rows]
    assert all(0 < size <= batch_rows for size in sizes(results))
    assert all(batch.schema == SCHEMA for batch in results)


@no_deadline
@given(some_rows, st.integers(1, 7))
def test_flat_map_gives_the_same_rows_as_a_nested_python_loop(given_rows: list[dict[str, Any]], batch_rows: int) -> None:
    results = process(FlatMapOperator(repeated, SCHEMA, WHERE), batch_of(given_rows), batch_rows=batch_rows)
    assert rows(results) == [result for row in given_rows for result in repeated(row)]
    assert all(size == batch_rows for size in sizes(results)[:-1])


@no_deadline
@given(some_rows, st.integers(1, 7))
def test_a_row_filter_keeps_the_same_rows_as_a_python_filter(given_rows: list[dict[str, Any]], batch_rows: int) -> None:
    results = process(FilterRowsOperator(is_even, WHERE), batch_of(given_rows), batch_rows=batch_rows)
    assert rows(results) == [row for row in given_rows if is_even(row)]
    assert all(0 < size <= batch_rows for size in sizes(results))


def test_an_endless_result_of_a_row_is_emitted_in_batches_of_limited_size() -> None:
    def endless(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for n in itertools.count():
            assert n < 40, "the operator pulled more results than three batches need"
            yield {"word": "x", "n": n}

    operator = FlatMapOperator(endless, SCHEMA, WHERE)
    operator.open(context(batch_rows=10))
    step = operator.process(batch_of([{"word": "a", "n": 1}]), 0)
    assert [batch.num_rows for batch in itertools.islice(step, 3) if batch is not None] == [10, 10, 10]


def test_a_row_is_a_dict_with_a_python_value_for_each_type() -> None:
    row = {
        "i": 1, "f": 1.5, "s": "ä", "b": True, "y": b"\x00", "d": datetime.date(2024, 2, 29),
        "t": datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC), "m": Decimal("1.20"), "l": [1, None], "o": {"x": 1}, "z": None,
    }  # fmt: skip
    schema = pa.schema(
        [("i", pa.int8()), ("f", pa.float64()), ("s", pa.string()), ("b", pa.bool_()), ("y", pa.binary()), ("d", pa.date32()),
         ("t", pa.timestamp("us", "UTC")), ("m", pa.decimal128(5, 2)), ("l", pa.list_(pa.int64())),
         ("o", pa.struct([("x", pa.int64())])), ("z", pa.int32())]
    )  # fmt: skip
    batch = pa.RecordBatch.from_pylist([row], schema=schema)
    assert to_rows(batch) == [row]
    (results,) = process(MapOperator(lambda given: given, schema, WHERE), batch)
    assert results.equals(batch)


def test_the_rows_of_a_batch_without_columns_are_empty_dicts() -> None:
    assert to_rows(pa.RecordBatch.from_pylist([{"a": 1}, {"a": 2}]).select([])) == [{}, {}]


def fails(operator: MapOperator | FlatMapOperator | FilterRowsOperator, message: str, *, n: int = 3) -> UserCodeError:
    with pytest.raises(UserCodeError, match=message) as raised:
        process(operator, batch_of([{"word": f"w{index}", "n": index} for index in range(n)]))
    assert WHERE in str(raised.value)
    return raised.value


def test_the_error_for_a_failed_function_names_the_operator_and_the_function_and_the_line_and_the_row() -> None:
    def parse(row: dict[str, Any]) -> dict[str, Any]:
        row["word"] = "overwritten"
        return {"word": "x", "n": 1 // (row["n"] - 2)}

    error = fails(
        MapOperator(parse, SCHEMA, WHERE),
        "parse .* raised ZeroDivisionError: .*; the argument was the row {'word': 'w2', 'n': 2}",
    )
    assert isinstance(error.__cause__, ZeroDivisionError)
    assert "test_row_operators.py:" in str(error)


def test_the_error_for_a_failed_generator_function_shows_the_row() -> None:
    def split(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        yield row
        if row["n"] == 1:
            raise KeyError("missing")

    fails(
        FlatMapOperator(split, SCHEMA, WHERE),
        "split .* raised KeyError: 'missing'; the argument was the row {'word': 'w1', 'n': 1}",
    )


def test_the_error_message_is_short_even_if_the_repr_of_the_row_is_long_or_fails() -> None:
    error = fails(
        MapOperator(lambda row: {"word": Unprintable(), "n": 1}, SCHEMA, WHERE), "column 'word' is string .* repr raised"
    )
    assert len(str(error)) < 500
    long = batch_of([{"word": "x" * 100_000, "n": 1}])
    with pytest.raises(UserCodeError) as raised:
        process(MapOperator(lambda row: row["no"], SCHEMA, WHERE), long)
    assert len(str(raised.value)) < 500


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ({"word": "x"}, "a returned row has no column 'n'"),
        ({"wrod": "x", "n": 1}, "has no column 'word'; did you mean 'wrod'?"),
        ({"word": "x", "n": 1, "more": 2}, "has column 'more', which is not in the schema"),
        (None, "returned None of type NoneType. Return a dict with the columns word, n"),
        (["x", 1], "of type list. Return a dict"),
        ({"word": 7, "n": 1}, "column 'word' is string in the schema, but the function returned 7 of type int"),
        ({"word": "x", "n": "1"}, "column 'n' is int64 in the schema, but the function returned '1' of type str"),
        ({"word": "x", "n": 1.7}, "column 'n' is int64 .* returned 1.7 of type float .* Round the value"),
        ({"word": "x", "n": 2**70}, "column 'n' is int64"),
        ({"word": "x", "n": True}, "column 'n' is int64 .* returned True of type bool"),
    ],
)
def test_the_error_for_a_row_that_does_not_match_the_schema_names_column_and_value(returned: object, message: str) -> None:
    fails(MapOperator(lambda row: returned, SCHEMA, WHERE), message)
    if isinstance(returned, dict):
        fails(FlatMapOperator(lambda row: [returned], SCHEMA, WHERE), message)


def test_the_value_none_is_refused_in_a_column_that_is_not_nullable() -> None:
    schema = pa.schema([pa.field("word", pa.string(), nullable=False)])
    fails(MapOperator(lambda row: {"word": None}, schema, WHERE), "column 'word' must not be null")


@pytest.mark.parametrize("returned", [None, "word", {"word": "x", "n": 1}, 5])
def test_flat_map_requires_an_iterable_of_dicts(returned: object) -> None:
    fails(FlatMapOperator(lambda row: returned, SCHEMA, WHERE), "Return an iterable of dicts")


@pytest.mark.parametrize("returned", [None, 1, "yes"])
def test_filter_rows_requires_a_function_that_returns_true_or_false(returned: object) -> None:
    fails(FilterRowsOperator(lambda row: returned, WHERE), "Return True or False")


@pytest.mark.parametrize("make", [
    lambda function: FilterRowsOperator(lambda row: function(), "filter_rows 'f'"),
    lambda function: FlatMapOperator(lambda row: [] if not function() else [row], pa.schema([("n", pa.int64())]), "flat_map 'f'"),
])  # fmt: skip
def test_an_operator_with_a_slow_function_returns_control_to_the_loop_even_without_output_rows(
    make: Callable[[Callable[[], bool]], Operator], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 10**15, 10**9))  # the clock advances by one second at each reading
    monkeypatch.setattr("weir.operators.row_operators.time.perf_counter_ns", lambda: next(clock))
    operator = make(lambda: False)
    operator.open(context())
    results = list(operator.process(pa.record_batch({"n": list(range(40))}), 0))
    assert len(results) >= 24, "the first slice has 16 rows, and each later slice has one row"
    assert all(batch is not None and batch.num_rows == 0 for batch in results)
