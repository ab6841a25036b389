from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.unit.connectors.files.test_reading_output import VALUES, write_output

pytestmark = pytest.mark.spark


def test_spark_reads_the_published_epochs_of_an_output_directory(local_spark: SparkSession, tmp_path: Path) -> None:
    frame = local_spark.read.parquet(write_output(tmp_path))
    assert frame.columns == ["v", "weir_checkpoint"]
    rows = sorted((row.v, row.weir_checkpoint) for row in frame.collect())
    assert [value for value, _ in rows] == VALUES
    assert {checkpoint for _, checkpoint in rows} == {1, 2, 3, 6}
