from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.connectors.connector_harness import ReadAll, Reading, read_with_restarts

from weir.connectors import sources
from weir.connectors.registry import sink_from, source_from
from weir.errors import ConfigError, InputError, ProtocolError, SchemaError


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 40), st.integers(1, 5), st.lists(st.integers(0, 6), max_size=4), st.integers(1, 9))
def test_each_row_is_read_once_and_in_order_despite_restarts(
    rows: int, splits: int, restart_after: list[int], batch_rows: int
) -> None:
    data = [{"id": i, "name": None if i % 3 else str(i)} for i in range(rows)]
    source = sources.iterable(data, pa.schema([("id", pa.int64()), ("name", pa.string())]), splits=splits)
    assert read_with_restarts(source, restart_after, batch_rows=batch_rows).to_pylist() == data


def test_arrow_batches_and_tables_are_emitted_unchanged(read_all: ReadAll) -> None:
    table = pa.table({"when": pa.array([1, 2, 3], pa.timestamp("us", tz="UTC")), "raw": [b"\x00", b"", None]})
    assert read_all(sources.iterable(table)).equals(table)
    assert read_all(sources.iterable(table.to_batches(max_chunksize=1))).equals(table)


def test_an_empty_source_needs_a_schema() -> None:
    with pytest.raises(SchemaError, match="needs a schema"):
        sources.iterable([])
    assert sources.iterable([], pa.schema([("a", pa.int64())])).splits(2) == ()


def test_rows_without_a_common_schema_are_refused() -> None:
    with pytest.raises(SchemaError, match="do not have one schema"):
        sources.iterable([{"a": 1}, {"a": "x"}])


def test_data_above_the_size_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weir.connectors.iterable_source.DATA_BYTES_MAX", 1000)
    with pytest.raises(ConfigError, match="Write the rows to a Parquet file"):
        sources.iterable(pa.table({"a": pa.array(range(10_000), pa.int64())}))


@pytest.mark.parametrize("batch_rows", [1, 4, 7, 100])
def test_a_configured_failure_happens_before_the_given_row_and_only_in_the_first_generation(batch_rows: int) -> None:
    source = sources.iterable([{"id": i} for i in range(20)], fail_at=sources.FailAt(row=7))
    first = Reading(source, source.splits(1), batch_rows=batch_rows, generation=1)
    seen: list[int] = []
    with pytest.raises(InputError, match="fails at row 7"):
        for batch in first.batches():
            seen += batch["id"].to_pylist()
    assert seen == list(range(7))
    second = Reading(source, first.remaining(), batch_rows=batch_rows, generation=2)
    assert [i for batch in second.batches() for i in batch["id"].to_pylist()] == list(range(7, 20))


def test_a_source_with_failure_mode_exit_ends_the_process() -> None:
    program = (
        "from tests.unit.connectors.connector_harness import Reading; from weir.connectors import sources\n"
        "source = sources.iterable([{'id': 1}], fail_at=sources.FailAt(row=0, how=sources.FailureMode.EXIT))\n"
        "list(Reading(source, source.splits(1)).batches())\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": ":".join(sys.path)}, check=False)
    assert ended.returncode == 70


def test_a_connector_description_with_an_unknown_kind_or_field_is_refused() -> None:
    for build in (source_from, sink_from):
        with pytest.raises(ConfigError, match="Known kinds"):
            build({"kind": "os.system"})
        with pytest.raises(ConfigError, match="Known kinds"):
            build(None)
    with pytest.raises(ProtocolError, match=r"unknown field `\$.command`"):
        sink_from({"kind": "console", "rows": 1, "command": "x"})


def test_errors_can_name_the_row_at_which_a_batch_begins() -> None:
    source = sources.iterable([{"v": row} for row in range(5)], splits=2, batch_rows=2)
    assert Reading(source, source.splits(1)).places() == [f"row {row} of the iterable" for row in (1, 3, 5)]
