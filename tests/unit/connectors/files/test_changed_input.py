"""Splits contain the identity of their file, so that a job never mixes the rows of two versions of a file."""

from __future__ import annotations

import builtins
import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.unit.connectors.connector_harness import Reading

from weir.connectors import sources
from weir.connectors.base import Source
from weir.connectors.files import line_reader
from weir.errors import InputError, Retry
from weir.protocol.ids import CheckpointId
from weir.protocol.snapshots import Split

LISTED_NS = 1_700_000_000_123_456_789
LISTED = "2023-11-14T22:13:20.123456789Z"
ROWS = 40


def write_text(path: Path, version: int) -> None:
    path.write_text("".join(f"{version}{row:02d}\n" for row in range(ROWS)))


def write_json(path: Path, version: int) -> None:
    path.write_text("".join(f'{{"v": {version}{row:02d}}}\n' for row in range(ROWS)))


def write_parquet(path: Path, version: int) -> None:
    pq.write_table(pa.table({"v": [version * 100 + row for row in range(ROWS)]}), path, row_group_size=10, compression="none")


WRITERS: dict[str, Callable[[Path, int], None]] = {"text": write_text, "json_lines": write_json, "parquet": write_parquet}


def source_of(kind: str, path: Path) -> Source:
    match kind:
        case "text":
            return sources.text(path)
        case "json_lines":
            return sources.json_lines(path, pa.schema([("v", pa.int64())]))
        case _:
            return sources.parquet(path)


def put(kind: str, path: Path, version: int, modified_ns: int = LISTED_NS) -> None:
    """Write a version of the file. All versions of a file have the same size."""
    WRITERS[kind](path, version)
    os.utime(path, ns=(modified_ns, modified_ns))


def versions(batches: Iterable[pa.RecordBatch]) -> list[str]:
    return [str(value)[0] for batch in batches for value in batch.column(0).to_pylist()]


def started(source: Source) -> tuple[Split, ...]:
    """Return the splits of a reader that has returned one batch."""
    reading = Reading(source, source.splits(1), batch_rows=10)
    assert next(reading.batches()).num_rows == 10
    splits = reading.remaining()
    reading.reader.close()
    return splits


def without_identity(split: Split) -> Split:
    """Return the split in the format of the previous version of Weir."""
    assert isinstance(split.payload, dict)
    names = ("modified_ns", "footer", *(["size"] if "rows" in split.payload else []))
    return replace(split, payload={name: value for name, value in split.payload.items() if name not in names})


@pytest.mark.parametrize("kind", WRITERS)
def test_a_file_that_was_replaced_after_the_checkpoint_fails_the_restored_job(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a"
    put(kind, path, 1)
    source = source_of(kind, path)
    splits = started(source)
    put(kind, path, 2, LISTED_NS + 1_000)
    with pytest.raises(InputError) as failed:
        list(Reading(source, splits, restored=CheckpointId(5)).batches())
    assert str(failed.value).startswith(
        f"{path}: the file has changed since checkpoint 5: modified 2023-11-14T22:13:20.123457789Z instead of {LISTED}. "
    )
    assert f"Put the original file back with its modification time (`touch -d {LISTED} {path}`)" in str(failed.value)
    assert "start the job without state (`weir run --from 0`) to read the new file" in str(failed.value)
    assert failed.value.retry is Retry.NEVER


@pytest.mark.parametrize("restored", [None, CheckpointId(5)])
@pytest.mark.parametrize("kind", WRITERS)
def test_a_job_fails_if_a_file_was_replaced_before_the_job_reads_the_file(
    kind: str, restored: CheckpointId | None, tmp_path: Path
) -> None:
    path = tmp_path / "a"
    put(kind, path, 1)
    source = source_of(kind, path)
    splits = source.splits(1)
    put(kind, path, 2, LISTED_NS + 1_000)
    with pytest.raises(InputError, match="/a: the file has changed since the job listed it: modified "):
        list(Reading(source, splits, restored=restored).batches())


@pytest.mark.parametrize("kind", WRITERS)
def test_a_file_with_another_size_and_the_same_modification_time_fails_the_job(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a"
    put(kind, path, 1)
    source = source_of(kind, path)
    reading = Reading(source, source.splits(1))
    size = path.stat().st_size
    put(kind, path, 10)
    os.truncate(path, size - 1)
    os.utime(path, ns=(LISTED_NS, LISTED_NS))
    with pytest.raises(InputError, match=f"has changed since the job listed it: size {size - 1} bytes instead of {size}\\."):
        list(reading.batches())


def test_a_parquet_file_with_the_same_size_and_time_but_another_footer_fails_the_job(tmp_path: Path) -> None:
    path = tmp_path / "a"
    put("parquet", path, 1)
    source = sources.parquet(path)
    splits = started(source)
    size = path.stat().st_size
    put("parquet", path, 2)
    assert path.stat().st_size == size and path.stat().st_mtime_ns == LISTED_NS
    with pytest.raises(InputError, match="has changed since checkpoint 5: footer checksum xxh3:.* instead of xxh3:"):
        list(Reading(source, splits, restored=CheckpointId(5)).batches())


@pytest.mark.parametrize("kind", WRITERS)
def test_a_file_that_is_overwritten_while_the_source_reads_it_never_yields_rows_of_two_versions(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_reader.line_blocks, "__kwdefaults__", {"block_bytes": 64})
    path = tmp_path / "a"
    put(kind, path, 1)
    source = source_of(kind, path)
    (split,) = source.splits(1)
    reader: Any = source.reader()
    read = reader._read(split, 10, None)
    rows = versions([next(read)[0]])
    put(kind, path, 2, LISTED_NS + 1_000)
    with pytest.raises(InputError, match="has changed since the job listed it"):
        for batch, _ in read:
            rows += versions([batch])
    assert set(rows) == {"1"}


@pytest.mark.parametrize("kind", WRITERS)
def test_an_unchanged_file_is_read_to_the_end_after_a_restore(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a"
    put(kind, path, 1)
    source = source_of(kind, path)
    rest = Reading(source, started(source), restored=CheckpointId(5), batch_rows=10)
    assert len(versions(rest.batches())) == ROWS - 10


@pytest.mark.parametrize("kind", WRITERS)
def test_splits_of_the_previous_weir_version_are_restored_without_a_check_of_the_identity(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a"
    put(kind, path, 1)
    source = source_of(kind, path)
    splits = [without_identity(split) for split in started(source)]
    os.utime(path, ns=(1, 1))
    assert len(versions(Reading(source, splits, restored=CheckpointId(5)).batches())) == ROWS - 10


def test_a_text_split_of_the_previous_weir_version_accepts_a_longer_file_and_refuses_a_shorter_file(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a"
    path.write_text("one\n")
    source = sources.text(path)
    splits = [without_identity(split) for split in source.splits(1)]
    path.write_text("one\ntwo\n")
    assert [batch.to_pydict() for batch in Reading(source, splits).batches()] == [{"line": ["one"]}]
    path.write_text("on\n")
    with pytest.raises(InputError, match="has changed since the job listed it: size 3 bytes instead of 4"):
        list(Reading(source, splits).batches())


def test_staged_rows_are_read_after_the_checkpoint_directory_was_copied(tmp_path: Path) -> None:
    """The files of a restored backup have other modification times. Weir does not compare the modification times of staged rows,
    because only Weir writes these files."""
    path = tmp_path / "part-0.parquet"
    put("parquet", path, 1)
    (tmp_path / "_SUCCESS").touch()
    source = sources.staged_dataframe(tmp_path, pa.schema([("v", pa.int64())]))
    splits = started(source)
    os.utime(path, ns=(1, 1))
    assert len(versions(Reading(source, splits, restored=CheckpointId(5)).batches())) == ROWS - 10
    put("parquet", path, 2)
    with pytest.raises(InputError, match="has changed since checkpoint 5: footer"):
        list(Reading(source, splits, restored=CheckpointId(5)).batches())


@pytest.mark.parametrize("kind", WRITERS)
def test_only_the_footer_checksum_needs_an_additional_request_per_file(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The listing provides the size and the modification time of each file."""
    files = [tmp_path / f"{number:03d}" for number in range(50)]
    for path in files:
        put(kind, path, 1)
    calls: list[str] = []
    stat, opened, native = os.stat, builtins.open, pa.OSFile

    def count(call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(path: Any, *arguments: Any, **options: Any) -> Any:
            if str(path).startswith(f"{tmp_path}/"):
                calls.append(str(path))
            return call(path, *arguments, **options)

        return counted

    monkeypatch.setattr(os, "stat", count(stat))
    monkeypatch.setattr(builtins, "open", count(opened))
    monkeypatch.setattr(pa, "OSFile", count(native))
    assert len(source_of(kind, tmp_path).splits(1)) == 50
    # Each file is listed with one request. The footer of a Parquet file is read once for the checksum. The footers of the first
    # 1,000 Parquet files are read once more, to compare the schemas.
    assert len(calls) == 50 * (3 if kind == "parquet" else 1)


def test_the_identity_adds_few_bytes_to_a_split(tmp_path: Path) -> None:
    put("text", tmp_path / "a", 1)
    (split,) = sources.text(tmp_path / "a").splits(1)
    assert len(str(split.payload)) - len(str(without_identity(split).payload)) <= 40


def test_a_file_that_was_copied_back_with_its_modification_time_is_accepted(tmp_path: Path) -> None:
    path, backup = tmp_path / "a", tmp_path / "_backup"
    put("text", path, 1)
    shutil.copy2(path, backup)
    source = sources.text(path)
    splits = started(source)
    put("text", path, 2, LISTED_NS + 1_000)
    shutil.copy2(backup, path)
    assert set(versions(Reading(source, splits, restored=CheckpointId(5)).batches())) == {"1"}
