"""Sources, as job authors name them."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pyarrow as pa

from weir.connectors.descriptions import encode_schema
from weir.connectors.file_listing import local_paths
from weir.connectors.generated_columns import (
    GeneratedColumn,
    emitted_ns,
    event_time,
    floats,
    ints,
    row_index,
    uniform_ints,
    zipf_words,
)
from weir.connectors.generator import GeneratorSource
from weir.connectors.iterable import FailAt, Fault, IterableSource
from weir.connectors.json_lines_source import JsonLinesSource
from weir.connectors.parquet_source import ParquetSource
from weir.connectors.spark_query import SparkQuerySource
from weir.connectors.staged_dataframe import StagedDataFrame
from weir.connectors.text_source import TextSource
from weir.errors import ConfigError

__all__ = [
    "FailAt",
    "Fault",
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

Path = str | os.PathLike[str]
Paths = Path | Iterable[Path]


def text(path: Paths, *, file_name: bool = False, line_numbers: bool = False, rate: float | None = None) -> TextSource:
    """UTF-8 text, one record a line, in column ``line``; where asked with columns ``file`` and ``line_number`` (from 1).

    ``rate``: rows a second, shared by the source's subtasks, for replaying what was recorded as a stream."""
    return TextSource(local_paths(path), file_name, line_numbers, rate=_checked_rate("text", rate))


def json_lines(
    path: Paths,
    schema: pa.Schema | None = None,
    *,
    unknown_fields: str = "error",
    infer_lines: int = 1000,
    rate: float | None = None,
) -> JsonLinesSource:
    """One JSON object a line. Without a schema it is inferred from the first ``infer_lines`` lines.

    ``unknown_fields``: ``error``, or ``ignore`` fields that are not in the schema. ``rate``: as for ``text``."""
    if unknown_fields not in ("error", "ignore"):
        raise ConfigError(f"json_lines: unknown_fields must be 'error' or 'ignore', not {unknown_fields!r}")
    if infer_lines < 1:
        raise ConfigError("json_lines: infer_lines must be at least 1")
    return JsonLinesSource(
        local_paths(path),
        None if schema is None else encode_schema(schema),
        unknown_fields,
        infer_lines,
        rate=_checked_rate("json_lines", rate),
    )


def parquet(path: Paths, *, columns: Iterable[str] | None = None, rate: float | None = None) -> ParquetSource:
    """Parquet files, all of one schema; ``columns``: read only these. ``rate``: as for ``text``."""
    return ParquetSource(local_paths(path), None if columns is None else tuple(columns), rate=_checked_rate("parquet", rate))


def generator(
    columns: Mapping[str, GeneratedColumn],
    *,
    rows: int | None = None,
    rate: float | None = None,
    splits: int | None = None,
    seed: int = 0,
) -> GeneratorSource:
    """Deterministic rows: ``generator({"key": uniform_ints(distinct=100_000, sparse=True), "value": ints(0, 100)})``.

    ``rows`` None: endless. ``rate``: rows a second of the whole source. ``splits`` None: one a subtask."""
    if not columns:
        raise ConfigError("generator: name at least one column")
    if (rows is not None and rows < 0) or (rate is not None and not 0 < rate < math.inf) or (splits is not None and splits < 1):
        raise ConfigError("generator: rows must not be negative, rate must be positive and finite, splits at least 1")
    return GeneratorSource(dict(columns), rows, None if rate is None else float(rate), splits, seed)


def iterable(
    rows: Iterable[Mapping[str, Any]] | Iterable[pa.RecordBatch] | pa.Table,
    schema: pa.Schema | None = None,
    *,
    splits: int = 1,
    batch_rows: int | None = None,
    fail_at: FailAt | None = None,
) -> IterableSource:
    """Rows of the program itself (16 MiB at most). ``fail_at``: for tests of recovery."""
    return IterableSource.of(rows, schema, splits=splits, batch_rows=batch_rows, fail_at=fail_at)


def staged_dataframe(directory: Path, schema: pa.Schema) -> StagedDataFrame:
    """What Spark has written of a DataFrame to ``directory``, with its ``_SUCCESS`` file."""
    return StagedDataFrame(local_paths(directory)[0], encode_schema(schema))


def sql(query: str, *, rate: float | None = None) -> SparkQuerySource:
    """The rows of a bounded Spark SQL query, run once when the job first starts and staged beside its checkpoints.

    ``rate``: as for ``text``."""
    return SparkQuerySource(query, rate=_checked_rate("sql", rate))


def dataframe(build: Callable[[Any], Any], *, rate: float | None = None) -> SparkQuerySource:
    """The rows of the DataFrame that ``build(spark)`` returns: any bounded one. Run once, as ``sql``."""
    return SparkQuerySource(build, rate=_checked_rate("dataframe", rate))


def _checked_rate(source: str, rate: float | None) -> float | None:
    if rate is not None and not 0 < rate < math.inf:
        raise ConfigError(
            f"sources.{source}: rate must be positive and finite (rows a second), not {rate!r}; leave it out for no limit"
        )
    return None if rate is None else float(rate)
