from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.connectors.connector_harness import ReadAll, Reading, read_with_restarts

from weir.connectors import sources
from weir.errors import InputError, SchemaError
from weir.operators.batch_slicing import BATCH_BYTES


def write(path: Path, first: int, rows: int, group: int = 10) -> Path:
    ids = range(first, first + rows)
    pq.write_table(
        pa.table({"id": pa.array(ids, pa.int64()), "name": pa.array([f"n{i}" for i in ids], pa.string())}),
        path,
        row_group_size=group,
    )
    return path


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 6), max_size=4), st.integers(1, 25), st.integers(1, 12))
def test_reading_resumes_after_the_last_row_that_poll_returned(restart_after: list[int], batch_rows: int, group: int) -> None:
    with TemporaryDirectory() as directory:
        write(Path(directory, "a.parquet"), 0, 45, group)
        write(Path(directory, "b.parquet"), 45, 0)
        write(Path(directory, "c.parquet"), 45, 30, group)
        table = read_with_restarts(sources.parquet(directory), restart_after, batch_rows=batch_rows)
    assert table["id"].to_pylist() == list(range(75))
    assert table["name"].to_pylist() == [f"n{i}" for i in range(75)]


def test_each_row_group_is_in_exactly_one_split(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", 0, 600_000, 50_000)
    source = sources.parquet(path)
    splits = source.splits(4)
    assert len(splits) >= 4 and splits == source.splits(4)
    ids = [i for split in splits for batch in Reading(source, [split]).batches() for i in batch["id"].to_pylist()]
    assert ids == list(range(600_000))


def test_only_the_selected_columns_are_read(tmp_path: Path, read_all: ReadAll) -> None:
    path = write(tmp_path / "a.parquet", 0, 3)
    source = sources.parquet(path, columns=["name"])
    assert read_all(source).to_pydict() == {"name": ["n0", "n1", "n2"]}
    with pytest.raises(SchemaError, match="no column 'nmae'; did you mean 'name'"):
        sources.parquet(path, columns=["nmae"]).schema()


@pytest.mark.parametrize(
    ("odd", "message"),
    [
        ({"id": [1.5], "name": ["x"]}, "column 'id' is double, but int64 in"),
        ({"id": [1]}, "column 'name' is absent, but string in"),
        ({"id": [1], "name": ["x"], "more": [1]}, "column 'more' is int64, but absent in"),
    ],
)
def test_the_error_for_a_file_with_a_different_schema_names_the_file(
    tmp_path: Path, odd: dict[str, list[object]], message: str
) -> None:
    write(tmp_path / "a.parquet", 0, 3)
    pq.write_table(pa.table(odd), tmp_path / "odd.parquet")
    with pytest.raises(InputError, match=rf"odd\.parquet: {message} .*a\.parquet"):
        sources.parquet(tmp_path).schema()


def test_files_with_a_different_column_order_are_accepted(tmp_path: Path, read_all: ReadAll) -> None:
    write(tmp_path / "a.parquet", 0, 1)
    pq.write_table(pa.table({"name": ["z"], "id": [7]}), tmp_path / "b.parquet")
    rows = read_all(sources.parquet(tmp_path)).to_pylist()
    assert rows == [{"id": 0, "name": "n0"}, {"id": 7, "name": "z"}]


def test_the_error_for_a_file_that_is_not_parquet_names_the_file(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", 0, 3)
    (tmp_path / "b.parquet").write_text("not a Parquet file")
    for enumerate_files in (lambda: sources.parquet(tmp_path).schema(), lambda: sources.parquet(tmp_path).splits(1)):
        with pytest.raises(InputError, match=r"b\.parquet: cannot read the file as Parquet"):
            enumerate_files()


def test_the_error_for_a_damaged_file_names_the_file(tmp_path: Path, read_all: ReadAll) -> None:
    path = write(tmp_path / "a.parquet", 0, 5000, 1000)
    data = bytearray(path.read_bytes())
    data[4:400] = bytes(396)
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"a\.parquet: cannot read the file as Parquet"):
        read_all(sources.parquet(path))


@pytest.mark.parametrize("footer_bytes", [10, 65_000, 66_000, 500_000])
def test_a_footer_of_any_size_is_read(tmp_path: Path, read_all: ReadAll, footer_bytes: int) -> None:
    table = pa.table({"id": [1]}).replace_schema_metadata({"note": "x" * footer_bytes})
    pq.write_table(table, tmp_path / "a.parquet")
    assert read_all(sources.parquet(tmp_path)).to_pylist() == [{"id": 1}]


@pytest.mark.parametrize("content", [b"P", b"\xff\xff\xff\xffPAR1", b"x" * 100_000 + b"\xff\xff\xff\x7fPAR1", b"x" * 100_000])
def test_a_file_that_only_looks_like_parquet_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.parquet").write_bytes(content)
    with pytest.raises(InputError, match=r"a\.parquet: cannot read the file as Parquet: "):
        sources.parquet(tmp_path).schema()


def test_partition_directories_are_refused(tmp_path: Path) -> None:
    (tmp_path / "year=2024").mkdir()
    write(tmp_path / "year=2024" / "a.parquet", 0, 3)
    with pytest.raises(InputError, match=r"year=2024: cannot read the columns of partition directories"):
        sources.parquet(tmp_path).schema()


def test_staged_rows_are_cast_to_the_schema_of_the_dataframe(tmp_path: Path, read_all: ReadAll) -> None:
    schema = pa.schema([("id", pa.int64()), ("at", pa.timestamp("us", tz="UTC"))])
    staged = pa.table({"at": pa.array([1_000], pa.timestamp("ns")), "id": pa.array([1], pa.int32())})
    pq.write_table(staged, tmp_path / "part-0.parquet")
    source = sources.staged_dataframe(tmp_path, schema)
    with pytest.raises(InputError, match="not staged completely"):
        source.splits(1)
    (tmp_path / "_SUCCESS").touch()
    table = read_all(source)
    assert table.schema == schema
    assert table["at"].cast(pa.int64()).to_pylist() == [1]


def test_an_empty_dataframe_has_no_splits(tmp_path: Path) -> None:
    (tmp_path / "_SUCCESS").touch()
    assert sources.staged_dataframe(tmp_path, pa.schema([("id", pa.int64())])).splits(2) == ()


@pytest.mark.parametrize("repeated", [False, True])
def test_batches_of_long_documents_have_a_limited_number_of_bytes(tmp_path: Path, read_all: ReadAll, repeated: bool) -> None:
    """Repeated values use few bytes in the file. The footer does not contain the decoded size of the values."""
    documents = [("same" if repeated else f"{number:04d}") * 5_000 for number in range(1_500)]
    pq.write_table(pa.table({"id": range(1_500), "text": documents}), tmp_path / "a.parquet", row_group_size=1_000)
    source = sources.parquet(tmp_path)
    (split,) = source.splits(1)
    batches = list(source.reader()._read(split, 65_536, None))
    assert len(batches) > 3 and max(batch.nbytes for batch, _ in batches) <= BATCH_BYTES
    assert [position for _, position in batches] == list(accumulate(batch.num_rows for batch, _ in batches))
    assert read_with_restarts(source, [1, 2], batch_rows=65_536).to_pydict() == {"id": list(range(1_500)), "text": documents}


def test_narrow_columns_of_a_wide_file_are_read_in_full_batches(tmp_path: Path) -> None:
    wide = pa.table({"id": range(3_000), "id2": ["x" * 10_000] * 3_000, "s": [{"id": 1}] * 3_000})
    pq.write_table(wide, tmp_path / "a.parquet", use_dictionary=False)
    source = sources.parquet(tmp_path, columns=["id", "s"])
    (split,) = source.splits(1)
    assert [batch.num_rows for batch, _ in source.reader()._read(split, 65_536, None)] == [3_000]
