"""Sinks, as job authors name them."""

from __future__ import annotations

import os
import tempfile
import uuid

from weir.connectors.console import ConsoleSink
from weir.connectors.directory_sinks import CollectSink, JsonLinesSink, ParquetSink
from weir.connectors.file_listing import local_path
from weir.connectors.stats import StatsSink, Totals
from weir.errors import ConfigError

__all__ = ["Totals", "collect", "console", "json_lines", "parquet", "stats"]

Path = str | os.PathLike[str]
_COMPRESSIONS = ("snappy", "zstd", "lz4", "gzip", "none")


def parquet(
    path: Path, *, compression: str = "snappy", rows_per_file: int | None = None, bytes_per_file: int | None = None
) -> ParquetSink:
    """Parquet files in a directory, exactly once: readers see an epoch when its checkpoint has completed, never before.

    One file a subtask and checkpoint, more where one gets ``rows_per_file`` or ``bytes_per_file``."""
    if compression not in _COMPRESSIONS:
        raise ConfigError(f"sinks.parquet: compression must be one of {', '.join(_COMPRESSIONS)}, not {compression!r}")
    _check_limits("parquet", rows_per_file, bytes_per_file)
    return ParquetSink(local_path(path), compression, rows_per_file, bytes_per_file)


def json_lines(path: Path, *, rows_per_file: int | None = None, bytes_per_file: int | None = None) -> JsonLinesSink:
    """JSON-lines files in a directory, exactly once as ``parquet``."""
    _check_limits("json_lines", rows_per_file, bytes_per_file)
    return JsonLinesSink(local_path(path), rows_per_file, bytes_per_file)


def console(*, rows: int = 20) -> ConsoleSink:
    """Prints committed rows, at most ``rows`` of each subtask and checkpoint."""
    if rows < 0:
        raise ConfigError("sinks.console: rows must not be negative")
    return ConsoleSink(rows)


def collect(directory: Path | None = None) -> CollectSink:
    """Hands the result to the caller after the job, as a ``pa.Table``. ``directory``: where it is staged, shared by all slots;
    without one a fresh temporary directory (one machine only; it goes with this process, so that a job resumed by another one
    does not find it)."""
    if directory is None:
        return CollectSink(os.path.join(tempfile.gettempdir(), f"weir-collect-{uuid.uuid4().hex}"), temporary=True)
    return CollectSink(local_path(directory))


def stats(*, latency_column: str | None = None) -> StatsSink:
    """Keeps no records; the result is ``Totals``: rows, wrapping sums of the integer columns, and where asked latencies."""
    return StatsSink(latency_column)


def _check_limits(sink: str, rows: int | None, size: int | None) -> None:
    if (rows is not None and rows < 1) or (size is not None and size < 1):
        raise ConfigError(f"sinks.{sink}: rows_per_file and bytes_per_file must be positive")
