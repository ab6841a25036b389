"""Rebuilds sources and sinks from their JSON descriptions. A description contains a kind, which a fixed table maps to a class. A
description cannot select a module to import."""

from __future__ import annotations

import importlib
from typing import cast

from weir.connectors.base import Sink, Source
from weir.errors import ConfigError
from weir.protocol.codec import from_json
from weir.protocol.snapshots import JsonValue

SOURCES = {
    "text": ("weir.connectors.files.text_source", "TextSource"),
    "json_lines": ("weir.connectors.files.json_lines_source", "JsonLinesSource"),
    "parquet": ("weir.connectors.files.parquet_source", "ParquetSource"),
    "dataframe": ("weir.connectors.spark.staged_dataframe", "StagedDataFrame"),
    "generator": ("weir.connectors.generated.generator_source", "GeneratorSource"),
    "iterable": ("weir.connectors.iterable_source", "IterableSource"),
}
SINKS = {
    "parquet": ("weir.connectors.files.directory_sinks", "ParquetSink"),
    "json_lines": ("weir.connectors.files.directory_sinks", "JsonLinesSink"),
    "collect": ("weir.connectors.files.directory_sinks", "CollectSink"),
    "console": ("weir.connectors.console_sink", "ConsoleSink"),
    "stats": ("weir.connectors.stats_sink", "StatsSink"),
}


def source_from(description: JsonValue) -> Source:
    """Rebuild a source from its description. Raises ConfigError for an unknown kind, and ProtocolError for wrong fields."""
    return cast(Source, _build(description, SOURCES, "source"))


def sink_from(description: JsonValue) -> Sink:
    """Rebuild a sink from its description. Raises ConfigError for an unknown kind, and ProtocolError for wrong fields."""
    return cast(Sink, _build(description, SINKS, "sink"))


def _build(description: JsonValue, table: dict[str, tuple[str, str]], role: str) -> object:
    kind = description.get("kind") if isinstance(description, dict) else None
    if not isinstance(description, dict) or not isinstance(kind, str) or kind not in table:
        raise ConfigError(f"Unknown {role} kind {kind!r}. Known kinds: {', '.join(sorted(table))}.")
    module, name = table[kind]
    built: object = from_json(
        getattr(importlib.import_module(module), name), {key: value for key, value in description.items() if key != "kind"}
    )
    return built
