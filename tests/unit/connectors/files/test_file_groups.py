"""Groups of small files. Each group is one split."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import structlog
from tests.unit.connectors.connector_harness import ReadAll, Reading, read_with_restarts

from weir.connectors import sources
from weir.connectors.base import Source
from weir.connectors.files import file_groups, file_listing, parquet_source
from weir.errors import InputError
from weir.protocol.ids import CheckpointId

FILES = 300
SCHEMA = pa.schema([("v", pa.int64())])
READERS: dict[str, Callable[..., Source]] = {
    "text": sources.text,
    "json_lines": lambda path, **options: sources.json_lines(path, SCHEMA, **options),
    "parquet": sources.parquet,
}


def write(kind: str, path: Path, rows: Iterable[int]) -> None:
    match kind:
        case "text":
            path.write_text("".join(f"{row}\n" for row in rows))
        case "json_lines":
            path.write_text("".join(f'{{"v": {row}}}\n' for row in rows))
        case _:
            pq.write_table(pa.table({"v": pa.array(rows, pa.int64())}), path)


@pytest.fixture(params=READERS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def directories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return a directory for each file format. Each directory contains ``FILES`` files with two rows each. In the order of the
    file names, the values of the rows are 0, 1, 2, ..."""
    paths = {kind: tmp_path_factory.mktemp(kind) for kind in READERS}
    for kind, path in paths.items():
        for number in range(FILES):
            write(kind, path / f"{number:03d}", (2 * number, 2 * number + 1))
    return paths


def values(batches: Iterable[pa.RecordBatch]) -> list[int]:
    return [int(value) for batch in batches for value in batch.column(0).to_pylist()]


def in_one_group(kind: str, path: Path, monkeypatch: pytest.MonkeyPatch, files: int = 4, **options: Any) -> Source:
    """Write ``files`` files with two rows each, and return a source that reads these files as one group."""
    monkeypatch.setattr(file_groups, "SPLITS_PER_SUBTASK", 1)
    for number in range(files):
        write(kind, path / str(number), (2 * number, 2 * number + 1))
    source = READERS[kind](path, **options)
    assert len(source.splits(1)) == 1
    return source


def test_a_group_of_small_files_is_one_split(kind: str, directories: dict[str, Path]) -> None:
    source = READERS[kind](directories[kind])
    splits = source.splits(2)
    assert len(splits) == FILES // 2, "each subtask still gets at least 64 splits"
    assert splits == source.splits(2) and len({split.id for split in splits}) == len(splits)
    assert len(source.splits(1)) == FILES // 4
    assert len(source.splits(8)) == FILES, "groups would leave too few splits for each of 8 subtasks"
    for split in (splits[0], splits[-1]):
        assert len(values(Reading(source, [split]).batches())) == 4


@pytest.mark.parametrize("restart_after", [[1, 0, 3], [5, 1, 1, 70]])
def test_reading_resumes_within_a_group(
    kind: str, restart_after: list[int], directories: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_groups, "SPLITS_PER_SUBTASK", 4)
    source = READERS[kind](directories[kind], order="file")
    assert len(source.splits(2)) == -(-FILES // 37)
    table = read_with_restarts(source, restart_after, batch_rows=5)
    assert values(table.to_batches()) == list(range(2 * FILES))


def test_the_rows_of_a_group_are_merged_into_few_batches(kind: str, directories: dict[str, Path], monkeypatch: Any) -> None:
    monkeypatch.setattr(file_groups, "SPLITS_PER_SUBTASK", 1)
    monkeypatch.setattr(file_groups, "MERGE_NS", 10**12)
    source = READERS[kind](directories[kind])
    assert [batch.num_rows for batch in Reading(source, source.splits(1)).batches()] == [512, 88]
    monkeypatch.setattr(file_groups, "MERGE_NS", 0)
    assert [batch.num_rows for batch in Reading(source, source.splits(1)).batches()] == [2] * FILES


def test_large_files_are_not_in_groups(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(file_groups, "SPLITS_PER_SUBTASK", 1)
    monkeypatch.setattr(file_groups, "BYTES_MAX", 100)
    for name, size in (("a", 40), ("b", 40), ("c", 40), ("d", 500), ("e", 0), ("f", 99), ("g", 1)):
        Path(tmp_path, name).write_text(f"{'x' * (size - 1)}\n" if size else "")
    source = sources.text(tmp_path)
    assert [split.id.replace(f"{tmp_path}/", "") for split in source.splits(1)] == [
        "a and 1 more files", "c@0", "d@0", "f and 1 more files",
    ]  # fmt: skip


def test_a_changed_file_of_a_group_fails_the_job(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = in_one_group(kind, tmp_path, monkeypatch)
    monkeypatch.setattr(file_groups, "MERGE_NS", 0)
    reading = Reading(source, source.splits(1), batch_rows=1)
    rows = values([next(batches) for batches in [reading.batches()] for _ in range(3)])
    assert rows == [0, 1, 2], "the job has read two rows of the first file and one row of the second file"
    splits = reading.remaining()
    reading.reader.close()
    original = (tmp_path / "1").stat()
    for number in (1, 3):
        write(kind, tmp_path / str(number), (7, 8))
    with pytest.raises(InputError, match="/1: the file has changed since checkpoint 5: modified "):
        list(Reading(source, splits, restored=CheckpointId(5)).batches())
    write(kind, tmp_path / "1", (2, 3))
    os.utime(tmp_path / "1", ns=(original.st_mtime_ns, original.st_mtime_ns))
    with pytest.raises(InputError, match="/3: the file has changed since the job listed it: modified "):
        list(Reading(source, splits, restored=CheckpointId(5), batch_rows=1).batches())


def test_a_changed_parquet_footer_in_a_group_fails_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = in_one_group("parquet", tmp_path, monkeypatch)
    splits = source.splits(1)
    before = (tmp_path / "2").stat()
    pq.write_table(pa.table({"v": pa.array([90, 91], pa.int64())}), tmp_path / "2")
    os.utime(tmp_path / "2", ns=(before.st_mtime_ns, before.st_mtime_ns))
    assert (tmp_path / "2").stat().st_size == before.st_size
    with pytest.raises(InputError, match="/2: the file has changed since the job listed it: footer checksum "):
        list(Reading(source, splits).batches())


def test_a_file_that_was_read_to_its_end_is_not_opened_again_after_a_restore(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = in_one_group(kind, tmp_path, monkeypatch)
    reading = Reading(source, source.splits(1), batch_rows=4)
    assert values([next(reading.batches())]) == [0, 1, 2, 3]
    splits = reading.remaining()
    reading.reader.close()
    for number in (0, 1):
        (tmp_path / str(number)).unlink()
    assert values(Reading(source, splits, restored=CheckpointId(5)).batches()) == [4, 5, 6, 7]


def test_the_error_for_an_invalid_line_in_a_group_names_the_file_and_the_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_all: ReadAll
) -> None:
    source = in_one_group("json_lines", tmp_path, monkeypatch)
    (tmp_path / "2").write_text('{"v": 1}\n{"v": x}\n')
    with pytest.raises(InputError, match=r'/2: cannot parse line 2: .* The line begins with: {"v": x}'):
        read_all(source)


def test_the_error_for_invalid_utf8_in_a_group_names_the_file_and_the_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_all: ReadAll
) -> None:
    source = in_one_group("text", tmp_path, monkeypatch)
    (tmp_path / "2").write_bytes(b"good\n\xffbad\n")
    with pytest.raises(InputError, match="/2: line 2 is not UTF-8 at byte 5: "):
        read_all(source)


def test_the_lines_of_different_files_in_a_group_are_not_joined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_all: ReadAll
) -> None:
    source = in_one_group("json_lines", tmp_path, monkeypatch)
    (tmp_path / "1").write_text('\n{"v": 2}\n\n{"v": 3}')
    (tmp_path / "2").write_bytes(b'\xef\xbb\xbf{"v": 4}\r\n{"v": 5}')
    assert values(read_all(source).to_batches()) == list(range(8))


def test_line_numbers_and_file_names_are_correct_in_a_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_all: ReadAll
) -> None:
    source = in_one_group("text", tmp_path, monkeypatch, files=2, line_numbers=True, file_name=True)
    rows = [(row["line"], Path(row["file"]).name, row["line_number"]) for row in read_all(source).to_pylist()]
    assert rows == [("0", "0", 1), ("1", "0", 2), ("2", "1", 1), ("3", "1", 2)]


@pytest.mark.parametrize(
    ("columns", "odd", "message"),
    [
        (None, {"v": [1.5]}, "column 'v' is double, but int64 in other files"),
        (None, {"v": [1], "more": [1]}, "column 'more' is int64, but absent in other files"),
        (["v"], {"more": [1]}, "column 'v' is absent, but int64 in other files"),
    ],
)
def test_the_schema_of_each_file_is_compared_when_the_file_is_read(
    tmp_path: Path, columns: list[str] | None, odd: dict[str, list[object]], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_source, "SCHEMAS_COMPARED", 2)
    source: Any = in_one_group("parquet", tmp_path, monkeypatch, columns=columns)
    pq.write_table(pa.table(odd), tmp_path / "3")
    with pytest.raises(InputError, match=rf"/3: {message}\. All files of a source must have the same schema"):
        list(Reading(source, source.splits(1)).batches())
    pq.write_table(pa.table({"v": [1], "more": [1]}), tmp_path / "3")
    assert values(Reading(replace(source, columns=("v",)), source.splits(1)).batches()) == [0, 1, 2, 3, 4, 5, 1]


@pytest.mark.parametrize("kind", ["json_lines", "parquet"])
def test_the_schema_of_a_resolved_source_is_not_read_again(kind: str, tmp_path: Path) -> None:
    write(kind, tmp_path / "a", range(3))
    source = sources.json_lines(tmp_path) if kind == "json_lines" else sources.parquet(tmp_path)
    resolved, description = source.resolved(), source.describe()
    (tmp_path / "a").unlink()
    assert resolved.schema() == SCHEMA and resolved.describe() == description


def test_a_group_with_a_file_that_is_not_parquet_is_refused_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_source, "SCHEMAS_COMPARED", 1)
    source = in_one_group("parquet", tmp_path, monkeypatch)
    (tmp_path / "3").write_bytes(b"not Parquet")
    with pytest.raises(InputError, match="/3: cannot read the file as Parquet: the file does not end with a Parquet footer"):
        source.splits(1)


def test_listing_many_files_logs_the_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_listing, "AT_ONCE", 100)
    monkeypatch.setattr(file_listing, "PROGRESS_S", 0)
    for number in range(250):
        (tmp_path / str(number)).touch()
    with structlog.testing.capture_logs() as logs:
        assert len(file_listing.list_files([str(tmp_path)])) == 250
    assert [(entry["event"], entry["files"]) for entry in logs] == [
        ("listing the input", f"{count} of 250") for count in (100, 200, 250)
    ]


@pytest.mark.parametrize(
    ("kind", "in_group", "in_file"),
    [
        ("text", ["byte 0 of {a}", "byte 4 of {a}", "byte 0 of {b}"], ["byte 0 of {b}", "byte 4 of {b}"]),
        ("json_lines", ["byte 0 of {a}", "byte 18 of {a}", "byte 0 of {b}"], ["byte 0 of {b}", "byte 18 of {b}"]),
        ("parquet", ["row 1 of {a}", "row 3 of {a}", "row 1 of {b}"], ["row 1 of {b}", "row 3 of {b}"]),
    ],
)
def test_errors_can_name_the_place_at_which_a_batch_begins(
    kind: str, in_group: list[str], in_file: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(kind, tmp_path / "a", range(4))
    write(kind, tmp_path / "b", range(3))
    paths = {name: str(tmp_path / name) for name in ("a", "b")}
    one = READERS[kind](tmp_path / "b")
    assert Reading(one, one.splits(1), batch_rows=2).places() == [place.format(**paths) for place in in_file]
    monkeypatch.setattr(file_groups, "SPLITS_PER_SUBTASK", 1)
    monkeypatch.setattr(file_groups, "MERGE_NS", 0)
    both = READERS[kind](tmp_path)
    (split,) = both.splits(1)
    found = Reading(both, [split], batch_rows=2).places()
    assert found[:3] == [place.format(**paths) for place in in_group]


def test_errors_can_name_the_place_in_a_range_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "numbers"
    write("text", file, range(10, 20))
    ranges = replace(sources.text(file, line_numbers=True), split_bytes=15)
    assert Reading(ranges, ranges.splits(1), batch_rows=3).places() == [f"line {line} of {file}" for line in (1, 4, 6, 9)]
    pq.write_table(pa.table({"v": pa.array(range(9), pa.int64())}), file, row_group_size=3)
    groups = replace(sources.parquet(file), split_bytes=1)
    assert Reading(groups, groups.splits(1), batch_rows=2).places() == [
        *(f"row {row} of {file}" for row in (1, 3)),
        *(f"row {row} of row group {group} and later in {file}" for group in (1, 2) for row in (1, 3)),
    ]
