"""From a description to the source or sink it describes. The table is closed: a description names a kind, never a module."""

from __future__ import annotations

import importlib
from typing import cast

from weir.connectors.base import Sink, Source
from weir.errors import ConfigError
from weir.protocol.codec import from_json
from weir.protocol.snapshots import JsonValue

SOURCES = {
    "text": ("weir.connectors.text_source", "TextSource"),
    "json_lines": ("weir.connectors.json_lines_source", "JsonLinesSource"),
    "parquet": ("weir.connectors.parquet_source", "ParquetSource"),
    "dataframe": ("weir.connectors.staged_dataframe", "StagedDataFrame"),
    "generator": ("weir.connectors.generator", "GeneratorSource"),
    "iterable": ("weir.connectors.iterable", "IterableSource"),
}
SINKS = {
    "parquet": ("weir.connectors.directory_sinks", "ParquetSink"),
    "json_lines": ("weir.connectors.directory_sinks", "JsonLinesSink"),
    "collect": ("weir.connectors.directory_sinks", "CollectSink"),
    "console": ("weir.connectors.console", "ConsoleSink"),
    "stats": ("weir.connectors.stats", "StatsSink"),
}


def source_from(description: JsonValue) -> Source:
    """The source that ``Source.describe`` described. Raises ConfigError for an unknown kind, ProtocolError for wrong fields."""
    return cast(Source, _build(description, SOURCES, "source"))


def sink_from(description: JsonValue) -> Sink:
    """The sink that ``Sink.describe`` described. Raises ConfigError for an unknown kind, ProtocolError for wrong fields."""
    return cast(Sink, _build(description, SINKS, "sink"))


def _build(description: JsonValue, table: dict[str, tuple[str, str]], what: str) -> object:
    kind = description.get("kind") if isinstance(description, dict) else None
    if not isinstance(description, dict) or not isinstance(kind, str) or kind not in table:
        raise ConfigError(f"there is no {what} of kind {kind!r}; known are {', '.join(sorted(table))}")
    module, name = table[kind]
    built: object = from_json(
        getattr(importlib.import_module(module), name), {key: value for key, value in description.items() if key != "kind"}
    )
    return built
