"""The sinks of the job API: ``from weir import sinks``."""

from __future__ import annotations

import os
import tempfile
import uuid

from weir.connectors.console_sink import ConsoleSink
from weir.connectors.files.directory_sinks import CollectSink, JsonLinesSink, ParquetSink
from weir.connectors.files.file_listing import local_path
from weir.connectors.stats_sink import StatsSink, Totals
from weir.errors import ConfigError

__all__ = ["Totals", "collect", "console", "json_lines", "parquet", "stats"]

PathLike = str | os.PathLike[str]
_COMPRESSIONS = ("snappy", "zstd", "lz4", "gzip", "none")


def parquet(
    path: PathLike, *, compression: str = "snappy", rows_per_file: int | None = None, bytes_per_file: int | None = None
) -> ParquetSink:
    """Write Parquet files into a directory, exactly once. Readers see an epoch after its checkpoint is completed, never before.

    Each subtask writes one file per checkpoint, and further files at ``rows_per_file`` rows or ``bytes_per_file`` bytes."""
    if compression not in _COMPRESSIONS:
        raise ConfigError(f"sinks.parquet: compression must be one of {', '.join(_COMPRESSIONS)}, not {compression!r}.")
    _check_limits("parquet", rows_per_file, bytes_per_file)
    return ParquetSink(local_path(path), compression, rows_per_file, bytes_per_file)


def json_lines(path: PathLike, *, rows_per_file: int | None = None, bytes_per_file: int | None = None) -> JsonLinesSink:
    """Write JSON-lines files into a directory, exactly once like ``parquet``."""
    _check_limits("json_lines", rows_per_file, bytes_per_file)
    return JsonLinesSink(local_path(path), rows_per_file, bytes_per_file)


def console(*, rows: int = 20) -> ConsoleSink:
    """Print committed rows, at most ``rows`` per subtask and checkpoint."""
    if rows < 0:
        raise ConfigError(f"sinks.console: rows must be 0 or more, not {rows}.")
    return ConsoleSink(rows)


def collect(directory: PathLike | None = None) -> CollectSink:
    """Return the result to the caller after the job, as a ``pa.Table``.

    ``directory``: where the result is staged; all slots must share it. None: a new temporary directory, which works on one host
    only and is deleted when this process ends, so a job that another process resumes does not find it."""
    if directory is None:
        return CollectSink(os.path.join(tempfile.gettempdir(), f"weir-collect-{uuid.uuid4().hex}"), temporary=True)
    return CollectSink(local_path(directory))


def stats(*, latency_column: str | None = None) -> StatsSink:
    """Keep no records. The result is ``Totals``: row count, wrapping sums of the integer columns, and optionally latencies."""
    return StatsSink(latency_column)


def _check_limits(sink: str, rows: int | None, size: int | None) -> None:
    if (rows is not None and rows < 1) or (size is not None and size < 1):
        raise ConfigError(f"sinks.{sink}: rows_per_file and bytes_per_file must be at least 1, not {rows} and {size}.")
