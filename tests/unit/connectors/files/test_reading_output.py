"""Other tools and Weir sources read the output directory of a file sink. No reader sees open, staged or revoked files."""

from __future__ import annotations

from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from tests.unit.connectors.files.output_harness import Output, write
from tests.unit.connectors.files.test_output_fencing import five_checkpoints, roll_back

from weir import sources

VALUES = [1, 2, 3, 6, 60]
"""The values that a reader finds in the output of ``write_output``."""


def write_output(directory: Path) -> str:
    """Write the output of seven checkpoints, and return the output directory. Checkpoints 1, 2, 3 and 6 are published, 4 and 5
    are revoked, and 7 is staged. The file with the value 8 is still open."""
    output = Output(str(directory / "out"))
    roll_back(output, five_checkpoints(output), to=3, generation=2)
    output.commit(output.stage([6], 6, generation=2) + output.stage([60], 6, writer=1, generation=2))
    output.stage([7], 7, generation=2)
    write(output.sink(generation=2), [8])
    return output.out


@pytest.fixture
def out(tmp_path: Path) -> str:
    return write_output(tmp_path)


def test_pyarrow_reads_the_directory(out: str) -> None:
    table = pq.read_table(out)
    assert sorted(table["v"].to_pylist()) == VALUES
    assert set(table["weir_checkpoint"].to_pylist()) == {1, 2, 3, 6}
    assert pq.read_table(out, partitioning=None).column_names == ["v"]
    assert pq.read_table(out, filters=[("weir_checkpoint", "=", 6)]).num_rows == 2


def test_polars_reads_a_glob(out: str) -> None:
    frame = pl.scan_parquet(f"{out}/*/*.parquet").collect()
    assert sorted(frame["v"]) == VALUES and frame.columns == ["v"]
    with_checkpoint = pl.scan_parquet(f"{out}/*/*.parquet", hive_partitioning=True).collect()
    assert sorted(with_checkpoint["weir_checkpoint"].unique()) == [1, 2, 3, 6]


def test_duckdb_reads_a_glob(out: str) -> None:
    rows = duckdb.sql(f"select v, weir_checkpoint from '{out}/*/*.parquet' order by v").fetchall()
    assert rows == [(1, 1), (2, 2), (3, 3), (6, 6), (60, 6)]
    assert duckdb.sql(f"select * from read_parquet('{out}/*/*.parquet', hive_partitioning = false)").columns == ["v"]


def test_a_weir_source_reads_the_output_of_another_job(out: str) -> None:
    source = sources.parquet(out)
    assert source.schema().names == ["v"]
    assert len(source.splits(1)) == len(_files(out))


def _files(out: str) -> list[str]:
    return list(ds.dataset(out, format="parquet", partitioning=None).files)


def test_file_names_sort_in_the_order_of_checkpoints(out: str) -> None:
    files = sorted(_files(out), key=lambda path: Path(path).name)
    assert pa.concat_tables(pq.read_table(path, partitioning=None) for path in files)["v"].to_pylist() == VALUES
