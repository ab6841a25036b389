"""select, with_columns and filter give the same results as Polars, with the schema that the stream declares."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import polars as pl
import polars.selectors as cs
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.api.job_runner import FLIGHTS, flight, flights, result

from weir.api.rowwise_check import check_rowwise
from weir.api.stream import Stream
from weir.errors import GraphError, SchemaError

no_deadline = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


codes = st.sampled_from(["JFK", "LGA", "ß", "", None])
some_flights = st.lists(
    st.builds(flight, codes, codes, st.none() | st.integers(-100, 100), st.none() | st.floats(-5, 5)), max_size=20
)


@no_deadline
@given(some_flights, st.integers(-100, 100))
def test_filter_gives_the_same_rows_as_a_python_loop(rows: list[dict[str, Any]], least: int) -> None:
    kept = result(rows, lambda stream: stream.filter(pl.col("delay") > least, pl.col("origin") == "JFK"))
    assert kept == [row for row in rows if row["delay"] is not None and row["delay"] > least and row["origin"] == "JFK"]


@no_deadline
@given(some_flights)
def test_computed_columns_have_the_same_values_as_in_a_python_loop(rows: list[dict[str, Any]]) -> None:
    made = result(
        rows,
        lambda stream: stream.with_columns(
            (pl.col("delay") * 2).alias("delay"),
            late=pl.col("delay") > 15,
            route=pl.concat_str("origin", "dest", separator="-"),
            one=1,
        ),
    )
    assert made == [
        {
            **row,
            "delay": None if row["delay"] is None else row["delay"] * 2,
            "late": None if row["delay"] is None else row["delay"] > 15,
            "route": None if None in (row["origin"], row["dest"]) else f"{row['origin']}-{row['dest']}",
            "one": 1,
        }
        for row in rows
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ["dest", "origin"],
        [pl.col("dest"), pl.col("delay").alias("minutes")],
        [pl.all()],
        [cs.numeric()],
        [pl.exclude("delay")],
        [["origin", "dest"], pl.col("delay") + 1],
        [pl.col("^d.*$")],
        [pl.struct(pl.all()).alias("all")],
        [pl.all().name.suffix("_x")],
        [pl.lit("x").alias("x")],
        [pl.lit(datetime.date(2024, 1, 1)).alias("day"), pl.lit(None).cast(pl.Int16).alias("none")],
        [pl.col("origin").cast(pl.Categorical).alias("c"), pl.col("origin").str.split("F").alias("parts")],
        [pl.col("origin").cast(pl.Binary).alias("bytes"), pl.col("delay").cast(pl.Decimal(20, 2)).alias("money")],
        [pl.from_epoch("delay", time_unit="s").dt.replace_time_zone("UTC").alias("at")],
        [cs.numeric() * 2],
        [pl.when(pl.col("delay") > 0).then(pl.lit("late")).otherwise(pl.lit("on time")).alias("verdict")],
    ],
)
def test_select_gives_the_same_result_as_polars(arguments: list[Any]) -> None:
    rows = [flight("JFK", "SFO", 20), flight(None, "LGA", None), flight("EWR", None, -3), flight("", "x", 5), flight("b", "c", 6)]
    expected = pl.DataFrame(rows, schema=pl.DataFrame(FLIGHTS.empty_table()).schema)
    flat = [inner for item in arguments for inner in (item if isinstance(item, list) else [item])]
    # Polars repeats a literal for each row only if a column of the table is also selected.
    whole = expected.select(*flat, pl.col("delay").alias("__rows")).drop("__rows")
    assert result(rows, lambda stream: stream.select(*arguments)) == whole.to_arrow().to_pylist()


def test_computed_strings_have_the_arrow_type_string_even_inside_lists() -> None:
    _, stream = flights([])
    made = stream.select("origin", upper=pl.col("origin").str.to_uppercase(), parts=pl.col("origin").str.split(" ")).schema
    assert made == pa.schema([("origin", pa.string()), ("upper", pa.string()), ("parts", pa.list_(pa.string()))])


def test_a_column_that_no_expression_changes_keeps_its_type() -> None:
    odd = pa.schema([("big", pa.large_string()), ("coded", pa.dictionary(pa.int8(), pa.string())), ("n", pa.int64())])
    _, stream = flights([], odd)
    assert stream.with_columns(m=pl.col("n") + 1).schema == odd.append(pa.field("m", pa.int64()))
    assert stream.select("coded", pl.col("big").alias("large")).schema.types == [odd.field("coded").type, pa.large_string()]
    rows = [{"big": "a", "coded": "x", "n": 1}, {"big": "b", "coded": "y", "n": 2}]
    assert result(rows, lambda stream: stream.with_columns(m=pl.col("coded").cast(pl.String)), schema=odd) == [
        {**row, "m": row["coded"]} for row in rows
    ]


def test_a_column_that_polars_does_not_support_can_only_be_passed_through() -> None:
    odd = pa.schema([("n", pa.int64()), ("huge", pa.decimal256(60, 2)), ("span", pa.month_day_nano_interval())])
    _, stream = flights([], odd)
    assert stream.filter(pl.col("n") > 1).with_columns(m=pl.col("n") + 1).schema.names == ["n", "huge", "span", "m"]
    with pytest.raises(SchemaError, match="polars does not support column 'span'"):
        stream.select(pl.col("span").is_null())


def test_polars_receives_only_the_columns_that_the_expressions_use() -> None:
    job, stream = flights([])
    stream.filter((pl.col("delay") > 1) & (pl.col("delay") < 9))
    stream.with_columns(x=1)
    stream.with_columns(cs.numeric() + 1)
    reads = [node.config["reads"] for node in job._nodes if isinstance(node.config, dict)]
    assert reads == [["delay"], ["delay"], ["origin", "dest", "delay", "distance"]]


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (
            lambda s: s.filter(pl.col("dep_delay") > 1),
            SchemaError,
            "filter at .*py:[0-9]+: no column 'dep_delay'; did you mean 'delay'?",
        ),
        (lambda s: s.select("orign"), SchemaError, "no column 'orign'; did you mean 'origin'?"),
        (lambda s: s.select(pl.col("origin", "zzz")), SchemaError, "no column 'zzz'; valid names: origin, dest, delay, distance"),
        (lambda s: s.filter(pl.col("delay") + 1), SchemaError, "must be boolean, not int64"),
        (lambda s: s.filter("delay"), SchemaError, "must be boolean, not int64"),
        (lambda s: s.filter(pl.col("delay").str.contains("x")), SchemaError, "cannot apply .* to the columns"),
        (lambda s: s.select(pl.col("origin") + pl.col("zz")), SchemaError, "no column 'zz'"),
        (lambda s: s.select("origin", "origin"), SchemaError, "two columns would be named 'origin'"),
        (lambda s: s.with_columns(pl.col("delay") + 1, delay=2), SchemaError, "duplicate columns: delay"),
        (lambda s: s.select(), GraphError, "needs at least one column"),
        (lambda s: s.filter(), GraphError, "needs a condition"),
        (lambda s: s.filter(lambda row: True), GraphError, "a Python function is not an expression. Use .map"),
        (lambda s: s.filter(True), GraphError, "True is not an expression.* Write pl.col"),
        (
            lambda s: s.with_columns(pl.col("delay").map_elements(abs, return_dtype=pl.Int64)),
            GraphError,
            "contains a Python function",
        ),
    ],
)
def test_the_error_for_an_invalid_call_names_the_line_of_user_code(
    build: Callable[[Stream], Stream], error: type[Exception], message: str
) -> None:
    _, stream = flights([])
    with pytest.raises(error, match=message) as raised:
        build(stream)
    assert "test_expression_streams.py:" in str(raised.value)


ROW_BY_ROW = [
    pl.col("a") + 1,
    pl.all() + 1,
    pl.col("^a.*$"),
    pl.lit(3),
    pl.when(pl.col("a") > 1).then(1).otherwise(2),
    pl.struct(pl.all()),
    pl.col("s").str.split(" ").list.len(),
    pl.col("l").list.sum(),
    pl.col("l").list.eval(pl.element() + 1),
    pl.col("a").is_in([1, 2]),
    pl.col("a").fill_null(0),
    pl.col("a").hash(),
    pl.max_horizontal("a", "b"),
    pl.coalesce("a", 1),
    pl.col("s").str.strptime(pl.Date, "%Y"),
    pl.col("s").str.contains("x"),
    pl.format("{}-{}", "a", "s"),
    pl.col("a").is_in(pl.Series([1, 2])),
    pl.col("l").list.contains(pl.col("a")),
    pl.col("l").list.eval(pl.element().is_in(pl.element() + 1)),
    pl.col("l").list.sample(1, seed=3),
    pl.col("a").replace_strict({1: 2}),
    pl.col("a").replace_strict({1: 2}, default=pl.col("b")),
    pl.col("s").str.replace("x", pl.col("t")),
    pl.col("s").cast(pl.Categorical).cat.len_chars(),
    pl.col("s").cast(pl.Enum(["x"])).to_physical(),
    pl.col("a").to_physical(),
]
NOT_ROW_BY_ROW = [
    pl.len(),
    pl.col("a").sum(),
    pl.col("a") - pl.col("a").mean(),
    pl.when(pl.col("a") > 1).then(1).otherwise(pl.col("a").max()),
    pl.all() - pl.all().mean(),
    pl.col("a").cum_sum(),
    pl.col("a").over("s"),
    pl.col("a").sum().over("s"),
    pl.col("a").shift(1),
    pl.col("a").diff(),
    pl.col("a").rank(),
    pl.col("a").sort(),
    pl.col("a").reverse(),
    pl.col("a").unique(),
    pl.col("a").is_duplicated(),
    pl.col("a").is_first_distinct(),
    pl.col("a").sample(1),
    pl.col("a").shuffle(seed=1),
    pl.col("a").fill_null(strategy="forward"),
    pl.col("a").interpolate(),
    pl.int_range(pl.len()),
    pl.col("s").str.split(" ").explode(),
    pl.col("a").filter(pl.col("a") > 1),
    pl.col("a").head(3),
    pl.col("a").drop_nulls(),
    pl.col("s").str.to_datetime(),
    pl.col("a").map_batches(lambda series: series),
    pl.lit(pl.Series([1, 2])),
    pl.col("a").is_in(pl.col("a") + 1),
    pl.lit(1).is_in(pl.all()),
    ~pl.col("a").is_in(pl.col("b")),
    pl.col("a").replace(pl.col("b"), pl.col("c")),
    pl.col("a").replace_strict([1], pl.col("b")),
    pl.col("l").list.sample(1),
    pl.col("s").cast(pl.Categorical).to_physical(),
]


@pytest.mark.parametrize("expression", ROW_BY_ROW, ids=str)
def test_a_row_wise_expression_is_accepted(expression: pl.Expr) -> None:
    check_rowwise(expression)


@pytest.mark.parametrize("expression", NOT_ROW_BY_ROW, ids=str)
def test_an_expression_that_depends_on_batch_boundaries_is_refused(expression: pl.Expr) -> None:
    with pytest.raises(
        GraphError, match="vary between runs|random|codes of categories|number of rows|Python function|literal with several rows"
    ):
        check_rowwise(expression)
