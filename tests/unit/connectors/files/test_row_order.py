"""``order="file"``: one subtask reads a file from its first to its last row."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.unit.connectors.connector_harness import Reading, read_with_restarts

from weir.connectors import sources
from weir.connectors.base import Source
from weir.errors import ConfigError

ROWS = 300_000
SCHEMA = pa.schema([("v", pa.int64())])
READERS: dict[str, Callable[..., Source]] = {
    "text": sources.text,
    "json_lines": lambda path, **options: sources.json_lines(path, SCHEMA, **options),
    "parquet": sources.parquet,
}


@pytest.fixture(scope="module")
def directories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """For each file format, a directory with two files that are larger than 1 MiB."""
    paths = {kind: tmp_path_factory.mktemp(kind) for kind in READERS}
    for file in range(2):
        values = range(file * ROWS, (file + 1) * ROWS)
        Path(paths["text"], str(file)).write_text("".join(f"{value}\n" for value in values))
        Path(paths["json_lines"], str(file)).write_text("".join(f'{{"v":{value}}}\n' for value in values))
        pq.write_table(pa.table({"v": values}), Path(paths["parquet"], str(file)), row_group_size=20_000, use_dictionary=False)
    return paths


def values(batches: Any) -> list[int]:
    return [int(value) for batch in batches for value in batch.column(0).to_pylist()]


@pytest.mark.parametrize("kind", READERS)
def test_with_file_order_each_file_is_one_split_in_the_order_of_its_rows(kind: str, directories: dict[str, Path]) -> None:
    source = READERS[kind](directories[kind], order="file")
    splits = source.splits(8)
    assert len(splits) == 2
    for file, split in enumerate(splits):
        assert values(Reading(source, [split]).batches()) == list(range(file * ROWS, (file + 1) * ROWS))


@pytest.mark.parametrize("kind", READERS)
def test_file_order_is_kept_across_restarts(kind: str, directories: dict[str, Path]) -> None:
    table = read_with_restarts(READERS[kind](directories[kind], order="file"), [1, 2, 3], batch_rows=50_000)
    assert values(table.to_batches()) == list(range(2 * ROWS))


@pytest.mark.parametrize("kind", READERS)
def test_by_default_a_large_file_is_cut_into_splits(kind: str, directories: dict[str, Path]) -> None:
    source = READERS[kind](directories[kind])
    assert len(source.splits(8)) > 2
    assert source.splits(8) == READERS[kind](directories[kind], order="any").splits(8)


def test_line_numbers_are_correct_with_file_order(directories: dict[str, Path]) -> None:
    source = sources.text(directories["text"] / "1", line_numbers=True, order="file")
    (split,) = source.splits(8)
    numbers = [value for batch in Reading(source, [split]).batches() for value in batch["line_number"].to_pylist()]
    assert numbers == list(range(1, ROWS + 1))


@pytest.mark.parametrize("kind", READERS)
def test_an_unknown_order_is_refused(kind: str, directories: dict[str, Path]) -> None:
    with pytest.raises(ConfigError, match=rf"sources\.{kind}: order must be 'any' or 'file', not 'row'"):
        READERS[kind](directories[kind], order="row")
