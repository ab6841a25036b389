from __future__ import annotations

import datetime
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.connectors.connector_harness import ReadAll, Reading, read_with_restarts

from weir.connectors import sources
from weir.errors import ConfigError, InputError, SchemaError

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])


def write(path: Path, *lines: str) -> Path:
    path.write_text("".join(line + "\n" for line in lines))
    return path


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 8), max_size=4), st.integers(1, 7))
def test_reading_resumes_after_the_last_record_that_poll_returned(restart_after: list[int], batch_rows: int) -> None:
    rows = [{"id": i, "name": f"n{i}"} for i in range(50)]
    with TemporaryDirectory() as directory:
        path = write(Path(directory, "a.jsonl"), *(json.dumps(row) + "\n" * (row["id"] == 20) for row in rows))
        table = read_with_restarts(sources.json_lines(path, SCHEMA), restart_after, batch_rows=batch_rows)
    assert table.to_pylist() == rows


def test_missing_fields_are_null_and_blank_lines_are_skipped(tmp_path: Path, read_all: ReadAll) -> None:
    path = write(tmp_path / "a.jsonl", '{"name":"x"}', "", "   ", '  {"id": 2}  ', "{}")
    rows = read_all(sources.json_lines(path, SCHEMA)).to_pylist()
    assert rows == [{"id": None, "name": "x"}, {"id": 2, "name": None}, {"id": None, "name": None}]


def test_a_file_of_blank_lines_has_no_records(tmp_path: Path, read_all: ReadAll) -> None:
    path = write(tmp_path / "a.jsonl", *[" " * 100] * 100)
    assert read_all(sources.json_lines(path, SCHEMA)).num_rows == 0


def test_a_slot_uses_the_schema_that_the_driver_inferred(tmp_path: Path, read_all: ReadAll) -> None:
    path = write(tmp_path / "a.jsonl", '{"a":1,"t":"2024-05-01 10:00:00"}', '{"a":2.5,"t":null}')
    source = sources.json_lines(path, infer_lines=1)
    assert source.schema() == pa.schema([("a", pa.int64()), ("t", pa.timestamp("s"))])
    with pytest.raises(InputError, match=r"a\.jsonl: cannot parse line 2: .*2\.5"):
        read_all(source)
    rows = read_all(sources.json_lines(path)).to_pylist()
    assert rows == [{"a": 1.0, "t": datetime.datetime(2024, 5, 1, 10)}, {"a": 2.5, "t": None}]


def test_the_type_of_a_field_without_values_cannot_be_inferred(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"a":1,"b":null}')
    with pytest.raises(SchemaError, match=r"a\.jsonl: cannot infer the type of field 'b'"):
        sources.json_lines(path).schema()


def test_a_type_that_json_does_not_support_is_refused_when_the_graph_is_built(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", "{}")
    with pytest.raises(SchemaError, match="field 'u'"):
        sources.json_lines(path, pa.schema([("u", pa.month_day_nano_interval())])).schema()


def test_unknown_fields_are_refused_unless_the_source_is_configured_to_ignore_them(tmp_path: Path, read_all: ReadAll) -> None:
    path = write(tmp_path / "a.jsonl", '{"id":1}', '{"id":2,"surplus":3}')
    with pytest.raises(InputError, match=r'line 2: .*unexpected field.*: \{"id":2,"surplus":3\}'):
        read_all(sources.json_lines(path, SCHEMA))
    assert read_all(sources.json_lines(path, SCHEMA, unknown_fields="ignore"))["id"].to_pylist() == [1, 2]
    with pytest.raises(ConfigError, match="'error' or 'ignore'"):
        sources.json_lines(path, unknown_fields="drop")


@pytest.mark.parametrize(
    "malformed",
    [
        "{",
        '{"id":1',
        '{"id":"one"}',
        '{"id":1.5}',
        "[1]",
        "1",
        "null",
        '{"id":1} null {"id":2}',
        '{"id":1} x',
        '{"id":1}{"id":2}',
        '{"id":1,"id":2}',
        '{"id":01}',
        '{"id":99999999999999999999}',
    ],
)
def test_the_error_for_a_malformed_line_shows_its_number_and_text(tmp_path: Path, read_all: ReadAll, malformed: str) -> None:
    valid = [f'{{"id":{i},"name":"x"}}' for i in range(500)]
    path = write(tmp_path / "a.jsonl", *valid, malformed, *valid)
    with pytest.raises(InputError) as caught:
        read_all(sources.json_lines(path, SCHEMA), batch_rows=200)
    assert "a.jsonl: cannot parse line 501: " in str(caught.value) and str(caught.value).endswith(f": {malformed}")


def test_a_string_can_contain_braces_and_the_word_null(tmp_path: Path, read_all: ReadAll) -> None:
    names = ["null {", "} null {", '"}{"', "\\u2028", "null"]
    path = write(tmp_path / "a.jsonl", *(json.dumps({"id": None, "name": name}) for name in names))
    assert read_all(sources.json_lines(path, SCHEMA))["name"].to_pylist() == names


def test_an_object_that_spans_several_lines_is_refused(tmp_path: Path, read_all: ReadAll) -> None:
    path = write(tmp_path / "a.jsonl", '{"id":1}', '{"id":', "2}")
    with pytest.raises(InputError, match="line 2: "):
        read_all(sources.json_lines(path, SCHEMA))


def test_the_error_for_invalid_utf8_inside_a_string_shows_the_line_number(tmp_path: Path, read_all: ReadAll) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"name":"ok"}\n{"name":"caf\xe9"}\n')
    with pytest.raises(InputError, match="line 2: .*UTF"):
        read_all(sources.json_lines(path, SCHEMA))


def test_consecutive_splits_read_each_line_exactly_once(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", *(f'{{"id":{i},"name":"{"x" * 100}"}}' for i in range(20_000)))
    source = sources.json_lines(path, SCHEMA)
    splits = source.splits(8)
    assert len(splits) > 1
    ids = [i for split in splits for batch in Reading(source, [split]).batches() for i in batch["id"].to_pylist()]
    assert ids == list(range(20_000))
