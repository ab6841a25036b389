"""The sources of the job API: ``from weir import sources``."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pyarrow as pa

from weir.connectors.files.file_listing import local_paths
from weir.connectors.files.followed_files import Follow
from weir.connectors.files.json_lines_source import JsonLinesSource
from weir.connectors.files.parquet_source import ParquetSource
from weir.connectors.files.text_source import TextSource
from weir.connectors.generated.columns import (
    GeneratedColumn,
    emitted_ns,
    event_time,
    floats,
    ints,
    row_index,
    uniform_ints,
    zipf_words,
)
from weir.connectors.generated.generator_source import GeneratorSource
from weir.connectors.iterable_source import FailAt, FailureMode, IterableSource
from weir.connectors.spark.query_source import SparkQuerySource
from weir.connectors.spark.staged_dataframe import StagedDataFrame
from weir.errors import ConfigError, SchemaError
from weir.graph.schema import encode_schema, near_miss
from weir.kernel.config import parse_duration_ms

__all__ = [
    "FailAt",
    "FailureMode",
    "GeneratedColumn",
    "dataframe",
    "emitted_ns",
    "event_time",
    "floats",
    "generator",
    "ints",
    "iterable",
    "json_lines",
    "parquet",
    "row_index",
    "sql",
    "staged_dataframe",
    "text",
    "uniform_ints",
    "zipf_words",
]

DISCOVER_EVERY = SETTLE = "5s"
PathLike = str | os.PathLike[str]
Paths = PathLike | Iterable[PathLike]


def text(
    path: Paths,
    *,
    file_name: bool = False,
    line_numbers: bool = False,
    rate: float | None = None,
    order: str = "any",
    follow: bool = False,
    discover_every: str | None = None,
    settle: str | None = None,
) -> TextSource:
    """Read UTF-8 text, one record per line, in column ``line``. ``file_name`` adds the column ``file``, and ``line_numbers`` adds
    the column ``line_number``, which starts at 1.

    ``rate`` limits the rows per second of all subtasks together, for example to replay recorded data as a stream.

    If ``order`` is ``any``, several subtasks can read a file that is larger than 1 MiB at the same time. In this case, the rows
    of the file are in any order. If ``order`` is ``file``, one subtask reads a file from its first to its last row, so a large
    file is not read in parallel.

    If ``follow`` is True, the source also reads files that are added while the job runs, and the job runs until it is stopped. The
    source lists the paths every ``discover_every`` (default: ``"5s"``). It reads a file when the size and the modification time of
    the file have not changed for ``settle`` (default: ``"5s"``). Use ``settle="0s"`` if complete files are renamed into the
    directory. Files whose names begin with ``_`` or ``.`` or end with a suffix such as ``.tmp`` are not read."""
    return TextSource(
        local_paths(path),
        file_name,
        line_numbers,
        rate=_checked_rate("text", rate),
        order=_checked_order("text", order),
        follow=_checked_follow("text", follow, discover_every, settle),
    )


def json_lines(
    path: Paths,
    schema: pa.Schema | None = None,
    *,
    unknown_fields: str = "error",
    infer_lines: int = 1000,
    rate: float | None = None,
    order: str = "any",
    follow: bool = False,
    discover_every: str | None = None,
    settle: str | None = None,
) -> JsonLinesSource:
    """Read one JSON object per line. If ``schema`` is None, the schema is inferred from the first ``infer_lines`` lines.

    ``unknown_fields`` controls what the source does with fields that are not in the schema: ``error`` raises an error, and
    ``ignore`` ignores the fields. ``rate`` limits the rows per second of all subtasks together. ``order``, ``follow``,
    ``discover_every`` and ``settle`` have the same meaning as in ``text``. Pass a schema if ``follow`` is True and the directory can
    be empty."""
    if unknown_fields not in ("error", "ignore"):
        raise ConfigError(f"sources.json_lines: unknown_fields must be 'error' or 'ignore', not {unknown_fields!r}.")
    if infer_lines < 1:
        raise ConfigError(f"sources.json_lines: infer_lines must be at least 1, not {infer_lines}.")
    return JsonLinesSource(
        local_paths(path),
        None if schema is None else encode_schema(schema),
        unknown_fields,
        infer_lines,
        rate=_checked_rate("json_lines", rate),
        order=_checked_order("json_lines", order),
        follow=_checked_follow("json_lines", follow, discover_every, settle),
    )


def parquet(
    path: Paths,
    *,
    columns: Iterable[str] | None = None,
    schema: pa.Schema | None = None,
    rate: float | None = None,
    order: str = "any",
    follow: bool = False,
    discover_every: str | None = None,
    settle: str | None = None,
) -> ParquetSource:
    """Read Parquet files that have the same schema. If ``columns`` is not None, the source reads only these columns. ``rate``
    limits the rows per second of all subtasks together. ``order``, ``follow``, ``discover_every`` and ``settle`` have the same
    meaning as in ``text``. ``schema`` is the schema of the files. If it is None, the source reads it from the files, so it is needed
    only if ``follow`` is True and the directory can be empty."""
    names = None if columns is None else tuple(columns)
    if schema is not None and names is not None:
        for name in names:
            if name not in schema.names:
                raise SchemaError(f"sources.parquet: no column {name!r} in the schema{near_miss(name, schema.names)}")
        schema = pa.schema([schema.field(name) for name in names])
    return ParquetSource(
        local_paths(path),
        names,
        rate=_checked_rate("parquet", rate),
        schema_ipc=None if schema is None else encode_schema(schema),
        order=_checked_order("parquet", order),
        follow=_checked_follow("parquet", follow, discover_every, settle),
    )


def generator(
    columns: Mapping[str, GeneratedColumn],
    *,
    rows: int | None = None,
    rate: float | None = None,
    splits: int | None = None,
    seed: int = 0,
) -> GeneratorSource:
    """Generate deterministic rows.

    Example: ``generator({"key": uniform_ints(distinct=100_000, sparse=True), "value": ints(0, 100)})``.

    If ``rows`` is None, the source is endless. ``rate`` is the number of rows per second of the whole source. If ``splits`` is
    None, the source has one split per subtask."""
    if not columns:
        raise ConfigError("sources.generator: name at least one column.")
    if rows is not None and rows < 0:
        raise ConfigError(f"sources.generator: rows must be 0 or more, not {rows}. Omit `rows` for an endless source.")
    if splits is not None and splits < 1:
        raise ConfigError(f"sources.generator: splits must be at least 1, not {splits}. Omit `splits` for one split per subtask.")
    return GeneratorSource(dict(columns), rows, _checked_rate("generator", rate), splits, seed)


def iterable(
    rows: Iterable[Mapping[str, Any]] | Iterable[pa.RecordBatch] | pa.Table,
    schema: pa.Schema | None = None,
    *,
    splits: int = 1,
    batch_rows: int | None = None,
    fail_at: FailAt | None = None,
) -> IterableSource:
    """Read the rows that the program passes in ``rows``. The rows can take at most 16 MiB. ``fail_at`` injects a failure, to test
    recovery."""
    return IterableSource.of(rows, schema, splits=splits, batch_rows=batch_rows, fail_at=fail_at)


def staged_dataframe(directory: PathLike, schema: pa.Schema) -> StagedDataFrame:
    """Read a DataFrame that Spark has written to ``directory``. The directory must contain the ``_SUCCESS`` file of the
    DataFrame."""
    return StagedDataFrame(local_paths(directory)[0], encode_schema(schema))


def sql(query: str, *, rate: float | None = None) -> SparkQuerySource:
    """Read the rows of a bounded Spark SQL query. The query runs once, at the first start of the job. The rows of the query are
    staged next to the job's checkpoints. ``rate`` limits the rows per second of all subtasks together."""
    return SparkQuerySource(query, rate=_checked_rate("sql", rate))


def dataframe(build: Callable[[Any], Any], *, rate: float | None = None) -> SparkQuerySource:
    """Read the rows of the bounded DataFrame that ``build(spark)`` returns. Spark computes the DataFrame once, at the first start
    of the job."""
    return SparkQuerySource(build, rate=_checked_rate("dataframe", rate))


def _checked_rate(source: str, rate: float | None) -> float | None:
    if rate is not None and not 0 < rate < math.inf:
        raise ConfigError(
            f"sources.{source}: rate must be a positive finite number of rows per second, not {rate!r}. Omit `rate` for no limit."
        )
    return None if rate is None else float(rate)


def _checked_follow(source: str, follow: bool, discover_every: str | None, settle: str | None) -> Follow | None:
    given = {"discover_every": discover_every, "settle": settle}
    for name, text in given.items():
        if text is not None and not follow:
            raise ConfigError(f"sources.{source}: {name} needs follow=True.")
        if text is not None and not isinstance(text, str):
            raise ConfigError(f"sources.{source}: {name} must be a duration such as '5s', not {text!r}.")
    if not follow:
        return None
    return Follow(
        parse_duration_ms(discover_every or DISCOVER_EVERY, f"sources.{source}: discover_every"),
        parse_duration_ms(settle or SETTLE, f"sources.{source}: settle", least_ms=0),
    )


def _checked_order(source: str, order: str) -> str:
    if order not in ("any", "file"):
        raise ConfigError(f"sources.{source}: order must be 'any' or 'file', not {order!r}.")
    return order
