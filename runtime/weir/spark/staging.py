"""A bounded Spark DataFrame or SQL query as input: Spark plans, scans and transforms it once; the result is staged.

Staged because a source must be replayable with positions, and a query run again may give other rows in another order.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from weir.errors import ConfigError, GraphError, InputError, SchemaError
from weir.spark.reasons import gist

_NOT_IN_PARQUET = re.compile(r"\b(interval|void|variant|geometry|geography)\b")


# pyspark prints what it raises as well, as JSON with all of Java's stack.
for _logger in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
    logging.getLogger(_logger).disabled = True


def query(spark: SparkSession, sql: str) -> DataFrame:
    """Raises GraphError with Spark's own words (and the place in the query) if it does not analyse."""
    with _translated("the SQL query of a source", GraphError):
        return spark.sql(sql)


def frame_schema(frame: DataFrame) -> pa.Schema:
    """The Arrow schema of the source: everything nullable, timestamps in UTC. ``batch.cast(schema)`` makes batches of the
    staged files fit: those may say that something is never null, depending on what Spark's optimizer found out.

    Known without running the query. Raises GraphError (not bounded), SchemaError naming the column that Parquet cannot hold.
    """
    if frame.isStreaming:
        raise GraphError(
            "a streaming DataFrame (readStream) cannot be a source: it never ends, and its positions are Spark's own. "
            "Use a bounded one (read), or one of Weir's streaming sources"
        )
    fields: list[pa.Field] = []
    for column in _nullable(frame.schema).fields:
        spark_type = column.dataType.simpleString()
        try:
            kind = to_arrow_schema(StructType([column]), timezone="UTC").field(0).type
        except PySparkException:
            kind = None
        if kind is None or _NOT_IN_PARQUET.search(spark_type):
            raise SchemaError(
                f"column {column.name!r} has the Spark type {spark_type}, which a Parquet file cannot hold: "
                "cast it in the query, or leave it out"
            )
        fields.append(pa.field(column.name, kind))
    return pa.schema(fields)


def stage_dataframe(frame: DataFrame, directory: str) -> tuple[str, pa.Schema]:
    """Run the query and write its rows to Parquet files in ``directory``: absent, or left by a staging that broke off.

    ``directory`` is a local path or a URL that Spark's executors can write and the slots can read. What was staged there
    before (to the end) is kept and taken: a job that is resumed goes on with the very same rows. Returns the directory
    and ``frame_schema``. Raises GraphError (not bounded), SchemaError, InputError (the query failed while running).
    """
    schema = frame_schema(frame)
    if not _staged(frame.sparkSession, directory):
        with _translated(f"staging a DataFrame into {directory}", InputError):
            # Overwrites what a driver that died in the middle has left.
            frame.write.mode("overwrite").option("compression", "zstd").parquet(directory)
    return directory, schema


def _nullable(schema: StructType) -> StructType:
    return StructType([StructField(field.name, _nullable_type(field.dataType), True) for field in schema.fields])


def _nullable_type(kind: DataType) -> DataType:
    match kind:
        case StructType():
            return _nullable(kind)
        case ArrayType():
            return ArrayType(_nullable_type(kind.elementType), True)
        case MapType():
            return MapType(_nullable_type(kind.keyType), _nullable_type(kind.valueType), True)
        case _:
            return kind


def _staged(spark: SparkSession, directory: str) -> bool:
    """Spark writes ``_SUCCESS`` last, once all files are in place."""
    jvm = spark.sparkContext._jvm
    if jvm is None:
        raise ConfigError("the Spark session is closed")
    with _translated(f"looking for staged rows in {directory}", InputError):
        marker = jvm.org.apache.hadoop.fs.Path(directory, "_SUCCESS")
        return bool(marker.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()).exists(marker))


@contextmanager
def _translated(what: str, kind: type[GraphError | InputError]) -> Iterator[None]:
    """Spark's exceptions carry Java's stack in their message; one line of it says what is wrong."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise kind(f"{what}: {gist(error)}") from error
