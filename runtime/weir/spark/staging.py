"""Staging of Spark queries. A Spark query is a bounded DataFrame or an SQL query that is the input of a job. Spark runs each
query once, and the rows are staged in Parquet files.

Staging is needed because a source must be replayable by position, and a query can return different rows in a different order
when it runs again. If a run starts without state, it stages the rows of each query in a new directory. No other run writes into
this directory. The graph in each checkpoint names the directory, so a restored run reads the same files with the same splits and
positions.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import structlog
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from weir.errors import ConfigError, GraphError, InputError, SchemaError
from weir.graph.logical import OperatorKind
from weir.graph.physical import PhysicalGraph
from weir.protocol import codec
from weir.protocol.ids import OperatorUid
from weir.protocol.log_view import LogView
from weir.protocol.manifest import Manifest
from weir.spark.jvm import error_summary
from weir.storage.base import CheckpointStorage, checksum
from weir.storage.layout import STAGED_KIND, JobLayout
from weir.storage.manifests import read_manifest

_NOT_IN_PARQUET = re.compile(r"\b(interval|void|variant|geometry|geography)\b")


# pyspark not only raises its exceptions but also logs them, as JSON with Java's stack.
for _logger in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
    logging.getLogger(_logger).disabled = True

AGE_S_MIN = 24 * 3600
"""A directory younger than AGE_S_MIN can be in use: a run may still be writing rows to the directory, or may not have completed
its first checkpoint yet."""
log = structlog.get_logger(__name__)


def analyze_query(spark: SparkSession, sql: str) -> DataFrame:
    """Return the DataFrame of a query. Raise GraphError with Spark's message (and the position in the query) if the query is
    invalid."""
    with _translated("the SQL query of a source", GraphError):
        return spark.sql(sql)


def frame_schema(frame: DataFrame) -> pa.Schema:
    """Return the Arrow schema of the source. All columns are nullable, and timestamps are in UTC.

    ``batch.cast(schema)`` adapts batches of the staged files, because Spark's optimizer can make their columns non-nullable.
    The query is not run. Raise GraphError if the query is not bounded. If Parquet does not support the type of a column, raise
    SchemaError that names the column.
    """
    if frame.isStreaming:
        raise GraphError(
            "A streaming DataFrame (readStream) cannot be a source, because it never ends and Weir cannot use its positions. "
            "Use a bounded DataFrame (read), or one of Weir's streaming sources."
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
                f"Column {column.name!r} has the Spark type {spark_type}, which Parquet does not support. "
                "Cast the column in the query, or leave it out."
            )
        fields.append(pa.field(column.name, kind))
    return pa.schema(fields)


def stage_dataframe(frame: DataFrame, directory: str) -> tuple[str, pa.Schema]:
    """Run the query and write its rows to Parquet files in ``directory``.

    ``directory`` is a local path or a URL. Spark's executors must be able to write to ``directory``, and the slots must be able
    to read from ``directory``. If an interrupted staging has left incomplete rows in ``directory``, these rows are overwritten.
    Completely staged rows are reused, so that a resumed job continues with the same rows. Return the directory and the schema of
    ``frame_schema``. Raise GraphError or SchemaError as ``frame_schema`` does, or InputError if the query fails.
    """
    schema = frame_schema(frame)
    if not _staged(frame.sparkSession, directory):
        with _translated(f"staging a DataFrame into {directory}", InputError), _arrow_timestamps(frame.sparkSession):
            # Overwrite the rows of an interrupted staging.
            frame.write.mode("overwrite").option("compression", "zstd").parquet(directory)
    return directory, schema


@contextmanager
def _arrow_timestamps(spark: SparkSession) -> Iterator[None]:
    """Write timestamps in the type of Arrow and Parquet, not in Spark's legacy INT96. Restore the setting of the session at the
    end, because the session can belong to the user."""
    name = "spark.sql.parquet.outputTimestampType"
    before = str(spark.conf.get(name))
    spark.conf.set(name, "TIMESTAMP_MICROS")
    try:
        yield
    finally:
        spark.conf.set(name, before)


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
    """Return whether staging is complete. Spark writes the file ``_SUCCESS`` after all rows."""
    jvm = spark.sparkContext._jvm
    if jvm is None:
        raise ConfigError("The Spark session is closed.")
    with _translated(f"looking for staged rows in {directory}", InputError):
        marker = jvm.org.apache.hadoop.fs.Path(directory, "_SUCCESS")
        return bool(marker.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()).exists(marker))


@contextmanager
def _translated(action: str, kind: type[GraphError | InputError]) -> Iterator[None]:
    """Convert Spark's exceptions, whose messages contain Java's stack, to an error of class ``kind`` with only the relevant
    line."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise kind(f"{action}: {error_summary(error)}") from error


@dataclass(frozen=True, slots=True)
class StagingDirectories:
    """The staging directories of one job in one checkpoint storage.

    ``staging_dir`` is the parent directory, or None for the checkpoint directory.

    Directory names begin with a checksum of the storage URL, so two jobs with the same name can share ``staging_dir``.
    """

    storage: CheckpointStorage
    job: str
    staging_dir: str | None

    def directory(self, uid: OperatorUid, restored: Manifest | None) -> str:
        """Return the directory for the rows of source ``uid``. If the restored checkpoint reads a staging directory, return
        that directory, which must be complete. Otherwise return a new directory.

        Raise ConfigError if no parent directory is configured, or InputError if the rows that the checkpoint reads are missing.
        """
        directory = None if restored is None else _staged_directories(restored).get(uid)
        if directory is None:
            return os.path.join(self._root(uid), self._layout.staged_splits(uid), f"{self._history}-{secrets.token_hex(8)}")
        if not os.path.exists(os.path.join(directory, "_SUCCESS")):
            raise InputError(
                f"Source '{uid}': the checkpoint reads staged rows in {directory}, which are missing (no _SUCCESS "
                "file). Restore the directory. Weir does not run the query again, because the query could then return "
                "other rows, or the same rows in another order."
            )
        return directory

    def remove_unused(self, view: LogView) -> None:
        """Remove staging directories that no checkpoint names.

        Failed starts leave unused directories, and so do drivers that crash before their first checkpoint.

        Only the run with the newest generation in the log may call ``remove_unused``, and only at the end of the run. When this
        run ends, older runs no longer read staged rows. The directories of a newer run are younger than AGE_S_MIN, so they are
        not removed. If a manifest cannot be read, raise CheckpointError or StorageError and remove nothing.
        """
        candidates = [directory for directory in self._own_directories() if time.time() - _modified_s(directory) >= AGE_S_MIN]
        if not candidates:
            return
        manifests = [read_manifest(self.storage, self._layout, record) for record in view.kept]
        named = {Path(directory).name for manifest in manifests for directory in _staged_directories(manifest).values()}
        for directory in candidates:
            if directory.name not in named:
                shutil.rmtree(directory, ignore_errors=True)
                log.info("removed staged rows that no checkpoint reads", directory=str(directory))

    @property
    def _layout(self) -> JobLayout:
        return JobLayout(self.job)

    @property
    def _history(self) -> str:
        return checksum((self.storage.url.encode(),)).removeprefix("xxh3:")[:12]

    def _parent_directory(self) -> str | None:
        if self.staging_dir is not None:
            return self.staging_dir
        return unquote(urlsplit(self.storage.url).path) if self.storage.url.startswith("file://") else None

    def _root(self, uid: OperatorUid) -> str:
        parent = self._parent_directory()
        if parent is None:
            raise ConfigError(
                f"Source '{uid}' is a Spark query, whose rows are staged in a directory. Checkpoints are in "
                f"{self.storage.url}, so use --staging-dir (staging_dir=) to name a directory that all slots share."
            )
        return parent

    def _own_directories(self) -> Iterator[Path]:
        """Yield the staging directories whose names show that they belong to this job and this checkpoint storage."""
        parent = self._parent_directory()
        if parent is None:
            return
        own_name = re.compile(rf"{self._history}-[0-9a-f]{{16}}")
        for directory in Path(parent, self._layout.root, "staged-splits").glob("*/*"):
            if own_name.fullmatch(directory.name) and directory.is_dir():
                yield directory


def _staged_directories(manifest: Manifest) -> dict[OperatorUid, str]:
    """Return {source: directory of its staged rows}."""
    named = {}
    for operator in codec.from_json(PhysicalGraph, manifest.graph).logical.operators:
        config = operator.config
        if operator.kind is OperatorKind.SOURCE and isinstance(config, dict) and config.get("kind") == STAGED_KIND:
            named[operator.uid] = str(config["directory"])
    return named


def _modified_s(directory: Path) -> float:
    """Return the time of the last write to a file in the directory, in seconds since 1970. If the directory changes during the
    call, return the current time.
    """
    try:
        return max(path.stat().st_mtime for path in (directory, *directory.rglob("*")))
    except OSError:
        return time.time()
