from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.dataset
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

from weir.errors import GraphError, InputError, SchemaError
from weir.spark.staging import analyze_query, frame_schema, stage_dataframe

pytestmark = pytest.mark.spark

EVERY_TYPE = """
    select id, cast(id as decimal(10, 2)) as money, 'x' as word, date'2020-01-31' as day, timestamp'2020-01-31 12:00:00' as moment,
        timestamp_ntz'2020-01-31 12:00:00' as wall, id > 1 as flag, array(id, null) as list, map('a', 1) as dict,
        struct(1 as x, 'y' as y) as both, cast(1 as tinyint) as tiny, cast(1 as float) as half, X'00ff' as raw
    from range(3)
"""


def test_the_schema_is_known_before_the_query_runs_and_matches_the_staged_rows(local_spark: SparkSession, tmp_path: Path) -> None:
    frame = analyze_query(local_spark, EVERY_TYPE)
    schema = frame_schema(frame)
    directory, staged = stage_dataframe(frame, str(tmp_path / "staged"))
    assert staged == schema
    assert schema.field("moment").type == pa.timestamp("us", "UTC")
    assert schema.field("money").type == pa.decimal128(10, 2)
    batches = pa.dataset.dataset(directory, format="parquet").to_table().to_batches()
    rows = pa.Table.from_batches([batch.cast(schema) for batch in batches])
    assert rows.schema == schema
    assert sorted(rows["id"].to_pylist()) == [0, 1, 2]


def test_a_complete_staging_directory_is_reused(local_spark: SparkSession, tmp_path: Path) -> None:
    directory, _ = stage_dataframe(local_spark.range(3), str(tmp_path / "staged"))
    files = {path.name for path in Path(directory).iterdir()}
    stage_dataframe(local_spark.range(3), directory)
    assert {path.name for path in Path(directory).iterdir()} == files


def test_an_incomplete_staging_directory_is_written_again(local_spark: SparkSession, tmp_path: Path) -> None:
    directory, _ = stage_dataframe(local_spark.range(3), str(tmp_path / "staged"))
    (Path(directory) / "_SUCCESS").unlink()
    stage_dataframe(local_spark.range(3), directory)
    assert pa.dataset.dataset(directory, format="parquet").count_rows() == 3


def test_a_query_without_rows_is_staged_with_its_schema(local_spark: SparkSession, tmp_path: Path) -> None:
    directory, schema = stage_dataframe(local_spark.range(3).where("id > 5"), str(tmp_path / "staged"))
    assert pa.dataset.dataset(directory, format="parquet").schema.names == schema.names == ["id"]


def test_a_streaming_frame_is_refused(local_spark: SparkSession, tmp_path: Path) -> None:
    frame = local_spark.readStream.format("rate").load()
    with pytest.raises(GraphError, match="A streaming DataFrame"):
        stage_dataframe(frame, str(tmp_path / "staged"))


@pytest.mark.parametrize("column", ["null", "interval 1 day", "interval 1 month", "parse_json('1')", "array(null)"])
def test_a_type_that_parquet_does_not_support_is_refused_with_its_column(local_spark: SparkSession, column: str) -> None:
    with pytest.raises(SchemaError, match="Column 'odd' has the Spark type"):
        frame_schema(analyze_query(local_spark, f"select id, {column} as odd from range(2)"))


def test_an_invalid_query_is_reported_in_one_line(local_spark: SparkSession, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(GraphError, match=r"`nope` cannot be resolved") as caught:
        analyze_query(local_spark, "select nope from range(2)")
    with pytest.raises(GraphError, match=r"Syntax error at or near 'x'.*line 1, pos 13"):
        analyze_query(local_spark, "select * frm x")
    assert "\n" not in str(caught.value)
    assert capfd.readouterr().err == ""


def test_a_query_fails_with_the_exception_that_its_code_raises(local_spark: SparkSession, tmp_path: Path) -> None:
    frame = local_spark.range(1).select(udf(lambda value: int(f"number {value}"), "int")("id").alias("number"))
    with pytest.raises(InputError, match=r"staging a DataFrame into .*: ValueError: invalid literal .* 'number 0'$"):
        stage_dataframe(frame, str(tmp_path / "staged"))
    assert not (tmp_path / "staged" / "_SUCCESS").exists()


def test_an_unwritable_directory_is_reported(local_spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=str(tmp_path / "file")):
        stage_dataframe(local_spark.range(1), str(tmp_path / "file" / "staged"))
