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
    """Write each record exactly once to Parquet files in a directory. Readers see the records of an epoch only after a checkpoint
    that includes the epoch is completed.

    Normally, each subtask writes one file per checkpoint. If a file reaches ``rows_per_file`` rows or ``bytes_per_file`` bytes,
    the subtask starts another file."""
    if compression not in _COMPRESSIONS:
        raise ConfigError(f"sinks.parquet: compression must be one of {', '.join(_COMPRESSIONS)}, not {compression!r}.")
    _check_limits("parquet", rows_per_file, bytes_per_file)
    return ParquetSink(local_path(path), compression, rows_per_file, bytes_per_file)


def json_lines(path: PathLike, *, rows_per_file: int | None = None, bytes_per_file: int | None = None) -> JsonLinesSink:
    """Write each record exactly once to JSON-lines files in a directory. Apart from the file format, the sink works like
    ``sinks.parquet``."""
    _check_limits("json_lines", rows_per_file, bytes_per_file)
    return JsonLinesSink(local_path(path), rows_per_file, bytes_per_file)


def console(*, rows: int = 20) -> ConsoleSink:
    """Print committed rows, at most ``rows`` per subtask and checkpoint."""
    if rows < 0:
        raise ConfigError(f"sinks.console: rows must be 0 or more, not {rows}.")
    return ConsoleSink(rows)


def collect(directory: PathLike | None = None) -> CollectSink:
    """Collect the records that reach the sink, and return them to the caller of the job as a ``pa.Table`` after the job has
    ended.

    The sink writes the records to ``directory``, which all slots must share. If ``directory`` is None, the sink uses a new
    temporary directory. A temporary directory works only if all slots are on one host. The driver deletes the temporary directory
    when the driver's process ends, so another process cannot resume the job."""
    if directory is None:
        return CollectSink(os.path.join(tempfile.gettempdir(), f"weir-collect-{uuid.uuid4().hex}"), temporary=True)
    return CollectSink(local_path(directory))


def stats(*, latency_column: str | None = None) -> StatsSink:
    """Count records without keeping them. The result of the sink is a ``Totals`` object with the row count, the wrapping sums of
    the integer columns, and optional latencies."""
    return StatsSink(latency_column)


def _check_limits(sink: str, rows: int | None, size: int | None) -> None:
    if (rows is not None and rows < 1) or (size is not None and size < 1):
        raise ConfigError(
            f"sinks.{sink}: rows_per_file and bytes_per_file must be at least 1, but rows_per_file is {rows} and bytes_per_file "
            f"is {size}."
        )
