"""Tests functions, keys, aggregates and unions of streams, and the graph of a job."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.api.job_runner import FLIGHTS, flight, flights, result, run

from weir import Job, agg, sinks, sources
from weir.api.stream import Stream
from weir.errors import ConfigError, GraphError, SchemaError
from weir.graph.compile import compile_graph
from weir.graph.logical import LogicalGraph, OperatorKind, Partitioning
from weir.protocol import codec

ROWS = [
    flight("JFK", "SFO", 20, 2.5),
    flight("LGA", "ORD", -3, 1.0),
    flight("JFK", "SFO", None, 0.5),
    flight("JFK", None, 1, None),
]
no_deadline = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
rows_with_keys = st.lists(
    st.builds(flight, st.sampled_from(["JFK", "LGA", "EWR", None]), st.just("x"), st.none() | st.integers(-9, 9), st.just(1.0)),
    min_size=1,
    max_size=30,
)


def lower(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col("origin").str.to_lowercase())


def unannotated(frame):  # type: ignore[no-untyped-def]  # as authors may write it
    return lower(frame)


def lower_column(column: str, frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col(column).str.to_lowercase())


class Lower:
    def __call__(self, batch: pl.DataFrame) -> pl.DataFrame:
        return lower(batch)


@pytest.mark.parametrize(
    ("function", "form"),
    [
        (lower, None),
        (Lower(), None),
        (functools.partial(lower_column, "origin"), None),
        (unannotated, "polars"),
        (lambda batch: lower(pl.DataFrame(batch)), "arrow"),
    ],
)
def test_map_batches_passes_polars_frames_if_the_annotation_or_the_form_argument_requires_them(
    function: Callable[[Any], Any], form: Any
) -> None:
    made = result(ROWS, lambda stream: stream.map_batches(function, form=form))
    assert made == [{**row, "origin": row["origin"].lower()} for row in ROWS]


def test_the_output_of_a_row_function_has_the_declared_schema() -> None:
    made = result(
        ROWS,
        lambda stream: (
            stream.filter_rows(lambda row: row["origin"] == "JFK")
            .map(lambda row: {"o": row["origin"], "n": row["delay"]}, schema={"o": str, "n": "int32"})
            .flat_map(lambda row: [row] * 2, schema=pa.schema([("o", pa.string()), ("n", pa.int32())]))
        ),
    )
    assert made == [{"o": "JFK", "n": n} for n in (20, 20, None, None, 1, 1)]


def last_updates(rows: list[dict[str, Any]]) -> dict[str | None, dict[str, Any]]:
    by_key: dict[str | None, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_key[row["origin"]].append(row)
    last = {}
    for key, group in by_key.items():
        delays = [row["delay"] for row in group if row["delay"] is not None]
        last[key] = {
            "origin": key,
            "n": len(group),
            "known": len(delays),
            "total": sum(delays) if delays else None,
            "least": min(delays, default=None),
            "most": max(delays, default=None),
            "average": sum(delays) / len(delays) if delays else None,
        }
    return last


@no_deadline
@given(rows_with_keys, st.sampled_from(["batch", "each"]))
def test_the_last_update_of_a_key_is_the_aggregate_of_all_its_records(rows: list[dict[str, Any]], emit: Any) -> None:
    made = result(
        rows,
        lambda stream: stream.key_by("origin").aggregate(
            n=agg.count(),
            known=agg.count("delay"),
            total=agg.sum("delay"),
            least=agg.min("delay"),
            most=agg.max("delay"),
            average=agg.mean("delay"),
            emit=emit,
            uid="per-origin",
        ),
    )
    assert {row["origin"]: row for row in made} == last_updates(rows)
    if emit == "each":
        assert made == [last_updates(rows[: end + 1])[rows[end]["origin"]] for end in range(len(rows))]


def test_a_union_of_streams_with_different_arrow_layouts_has_one_schema() -> None:
    job, left = flights(ROWS)
    wide = FLIGHTS.set(0, pa.field("origin", pa.large_string(), nullable=False))
    right = job.read(sources.iterable(pa.Table.from_pylist(ROWS, schema=FLIGHTS).cast(wide)), uid="right")
    united = left.union(right, uid="both")
    assert united.schema == FLIGHTS
    united.write(sinks.console(), uid="out")
    (batches,) = run(job).values()
    assert [row for batch in batches for row in batch.to_pylist()] == ROWS * 2


def test_each_branch_of_a_stream_receives_all_records() -> None:
    job, stream = flights(ROWS)
    late, early = stream.filter(pl.col("delay") > 0), stream.filter(pl.col("delay") <= 0)
    late.union(early).write(sinks.console(), uid="known")
    stream.rebalance().write(sinks.console(), uid="all")
    written = run(job)
    assert sorted(row["delay"] for batch in written["known"] for row in batch.to_pylist()) == [-3, 1, 20]  # type: ignore[index]  # an id is a str
    physical = compile_graph(job.to_graph()[0], slots=2)
    assert [edge.partitioning for edge in physical.edges].count(Partitioning.REBALANCE) == 1
    assert len(physical.chains) == 5


def test_a_graph_is_deterministic_data_that_round_trips_through_json() -> None:
    job, stream = flights(ROWS)
    stream.filter(pl.col("delay") > 1).map(lambda row: row, schema=FLIGHTS, uid="same").key_by("origin").aggregate(
        n=agg.count()
    ).write(sinks.console())
    graph, bundle = job.to_graph()
    assert codec.loads(LogicalGraph, codec.dumps(graph)) == graph
    assert job.to_graph()[0] == graph
    assert sorted(bundle) == ["code/filter-1", "code/same"]
    assert {one.uid for one in graph.operators if one.stateful} == {"flights", "aggregate-by-origin-1", "write-console-1"}
    assert {one.uid for one in graph.operators if one.uid_derived} == {"filter-1", "aggregate-by-origin-1", "write-console-1"}
    assert all(one.site and one.site.partition(":")[0] in ("test_streams.py", "job_runner.py") for one in graph.operators)
    assert set(job.sources()) == {"flights"}
    assert set(job.sinks()) == {"write-console-1"}


def test_a_new_upstream_operator_does_not_change_the_derived_uids_of_other_operators() -> None:
    def uids(additional: bool) -> list[str]:
        job, stream = flights(ROWS)
        stream = stream.select("origin", "delay") if additional else stream
        stream.key_by("origin").aggregate(n=agg.count()).write(sinks.console())
        return [one.uid for one in job.to_graph()[0].operators if one.kind is not OperatorKind.SELECT]

    assert uids(True) == uids(False)


def test_a_derived_uid_differs_from_all_explicit_uids() -> None:
    job, stream = flights(ROWS)
    stream.filter(pl.col("delay") > 1).filter(pl.col("delay") > 2).options(uid="filter-1").write(sinks.console())
    assert [one.uid for one in job.to_graph()[0].operators] == ["flights", "filter-2", "filter-1", "write-console-1"]


def test_the_options_of_an_operator_are_in_the_graph() -> None:
    job, stream = flights(ROWS)
    stream.with_columns(name=pl.col("origin")).options(uid="named", name="Names", parallelism=3).key_by("name").aggregate(
        n=agg.count(), uid="n"
    ).options(max_parallelism=512).write(sinks.console(), uid="out", name="Screen", parallelism=1)
    graph, _ = job.to_graph()
    named, counted, out = graph.operators[1:]
    assert (named.uid, named.name, named.parallelism) == ("named", "Names", 3)
    assert (counted.uid, counted.max_parallelism) == ("n", 512)
    assert (out.name, out.parallelism) == ("Screen", 1)


def test_an_aggregate_can_have_any_output_name() -> None:
    (first, *_) = result(
        ROWS,
        lambda stream: stream.key_by("origin").aggregate(
            agg.count().alias("uid"), agg.max("delay").alias("emit"), name=agg.count(), self=agg.count(), uid="n"
        ),
    )
    assert list(first) == ["origin", "uid", "emit", "name", "self"]


def test_options_does_not_change_the_stream_that_other_operators_read() -> None:
    job, stream = flights(ROWS)
    late = stream.filter(pl.col("delay") > 0)
    late.write(sinks.console(), uid="before")
    renamed = late.options(uid="late", parallelism=2).options(name="Late")
    late.write(sinks.console(), uid="after")
    renamed.write(sinks.console(), uid="renamed")
    operators = {one.uid: one for one in job.to_graph()[0].operators}
    assert {uid: one.inputs[0].operator for uid, one in operators.items() if one.kind is OperatorKind.SINK} == {
        "before": "filter-1",
        "after": "filter-1",
        "renamed": "late",
    }
    assert (operators["filter-1"].name, operators["filter-1"].parallelism) == ("filter", None)  # type: ignore[index]  # an id is a str
    assert (operators["late"].name, operators["late"].parallelism) == ("Late", 2)  # type: ignore[index]  # an id is a str


def test_options_of_a_source_and_of_a_partitioned_stream_keep_the_source_and_the_partitioning() -> None:
    job, stream = flights(ROWS)
    stream.options(uid="again").rebalance().options(parallelism=2).write(sinks.console(), uid="out")
    (source, sink) = job.to_graph()[0].operators
    assert (source.uid, source.parallelism, sink.inputs[0].partitioning) == ("again", 2, Partitioning.REBALANCE)
    assert set(job.sources()) == {"again"}


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda s: s.key_by("orgin"), SchemaError, "key_by at .*: no column 'orgin'; did you mean 'origin'?"),
        (lambda s: s.key_by(), GraphError, "name at least one key column"),
        (lambda s: s.key_by(pl.col("origin")), GraphError, "is not a column name. Compute a column with .with_columns"),
        (lambda s: s.key_by("distance").aggregate(n=agg.count()), SchemaError, "aggregate at .*distance"),
        (lambda s: s.key_by("origin").aggregate(n=agg.sum("dest")), SchemaError, "the sum of column 'dest' of type string"),
        (lambda s: s.key_by("origin").aggregate(n=agg.sum("dely")), SchemaError, "no column 'dely'; did you mean 'delay'?"),
        (lambda s: s.key_by("origin").aggregate(n=pl.len()), GraphError, "n=.* is not an aggregate. Use agg.count"),
        (lambda s: s.key_by("origin").aggregate(), GraphError, "needs at least one aggregate"),
        (lambda s: s.key_by("origin").aggregate(uid=agg.count()), GraphError, r"for example agg.count\(\).alias\('uid'\)"),
        (lambda s: s.key_by("origin").aggregate(emit=agg.count()), GraphError, "emit= sets an option of aggregate"),
        (lambda s: s.key_by("origin").aggregate(agg.count()), GraphError, "An aggregate has the name None. Name its output"),
        (lambda s: s.key_by("origin").aggregate("delay"), GraphError, "'delay' is not an aggregate. .* total=agg.sum"),
        (lambda s: s.key_by("origin").aggregate(agg.count().alias("n"), n=agg.count()), SchemaError, "'n' would appear twice"),
        (
            lambda s: s.key_by("origin").aggregate(n=agg.count(), emit="all"),
            GraphError,
            "emit must be 'batch' or 'each', not 'all'",
        ),
        (lambda s: s.key_by("origin").aggregate(origin=agg.count()), SchemaError, "'origin' would appear twice"),
        (lambda s: s.union(), GraphError, "needs at least one other stream"),
        (lambda s: s.union(flights([])[1]), GraphError, "needs streams of the same job"),
        (lambda s: s.union(s.select("origin")), SchemaError, "same columns in the same order"),
        (
            lambda s: s.union(s.with_columns(pl.col("delay").cast(pl.Float64))),
            SchemaError,
            "column 'delay' is int64 in one .* double",
        ),
        (lambda s: s.map(pl.col("delay"), schema=FLIGHTS), GraphError, "map needs a Python function. For polars expressions"),
        (lambda s: s.map(5, schema=FLIGHTS), GraphError, "map needs a function, not 5"),
        (lambda s: s.map(dict, schema={}), GraphError, "map"),
        (lambda s: s.map(lambda row: row, schema={}), SchemaError, "the schema has no columns"),
        (
            lambda s: s.map(lambda row: row, schema={"a": "int46"}),
            SchemaError,
            "column 'a': unknown type 'int46'; did you mean 'int64'?",
        ),
        (lambda s: s.map(lambda row: row, schema={"a": list}), SchemaError, "column 'a': .*list.* is not a type"),
        (lambda s: s.map(lambda row: row, schema=["a"]), SchemaError, "the schema must be a pyarrow.Schema or a dict"),
        (lambda s: s.map_batches(lower, form="pandas"), GraphError, "form must be 'arrow' or 'polars', not 'pandas'"),
        (lambda s: s.options(uid="a/b"), GraphError, "Invalid uid 'a/b'"),
        (lambda s: s.options(parallelism=0), GraphError, "parallelism must be an integer of at least 1, not 0"),
        (lambda s: s.options(name=" "), GraphError, "name must not be empty"),
        (lambda s: s.write(sources.iterable([{"a": 1}])), GraphError, "write needs a sink"),
    ],
)
def test_the_error_for_an_invalid_call_names_the_line_of_user_code(
    build: Callable[[Stream], object], error: type[Exception], message: str
) -> None:
    _, stream = flights([])
    with pytest.raises(error, match=message) as raised:
        build(stream)
    assert "test_streams.py:" in str(raised.value) or "job_runner.py:" in str(raised.value)


def job_with_unused_stream() -> Job:
    job, stream = flights([])
    stream.filter(pl.col("delay") > 1)
    stream.write(sinks.console())
    return job


def job_that_ignores_the_result_of_options() -> Job:
    job, stream = flights([])
    stream.options(uid="renamed")
    stream.write(sinks.console())
    return job


def job_with_duplicate_uid() -> Job:
    job, stream = flights([])
    stream.filter(pl.col("delay") > 1).options(uid="flights").write(sinks.console())
    return job


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: flights([])[0], "Job 'flights' has no sink"),
        (lambda: Job("empty"), "Job 'empty' has no source"),
        (job_with_unused_stream, "The output of filter at test_streams.py:[0-9]+ is not used"),
        (job_that_ignores_the_result_of_options, "Continue with the stream that options"),
        (
            job_with_duplicate_uid,
            "uid 'flights' is used twice: by source 'flights' at job_runner.py:[0-9]+ and by filter 'flights' at",
        ),
    ],
)
def test_an_incomplete_or_ambiguous_job_is_refused(build: Callable[[], Job], message: str) -> None:
    job = build()
    with pytest.raises(GraphError, match=message):
        job.to_graph()


def test_the_error_for_an_invalid_sink_names_the_line_that_calls_write() -> None:
    class Refusing(type(sinks.console())):  # type: ignore[misc]  # the class itself is not public
        def check(self, schema: pa.Schema) -> None:
            raise ConfigError("no such directory")

    _, stream = flights([])
    with pytest.raises(ConfigError, match="sink at test_streams.py:[0-9]+: no such directory"):
        stream.write(Refusing())


def test_an_invalid_source_or_job_name_is_refused() -> None:
    with pytest.raises(GraphError, match="read needs a source, .* not str"):
        Job("a").read("flights/")  # type: ignore[arg-type]  # refused at run time, too
    with pytest.raises(GraphError, match="Invalid job name 'a b'"):
        Job("a b")
