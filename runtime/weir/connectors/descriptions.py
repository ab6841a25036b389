"""Sources and sinks as plain JSON, so that a slot rebuilds them from data and never by unpickling."""

from __future__ import annotations

import dataclasses
from typing import Any

from weir.graph.schema import decode_schema, encode_schema
from weir.protocol.codec import to_json
from weir.protocol.snapshots import JsonValue

__all__ = ["decode_schema", "describe", "encode_schema"]


def describe(connector: Any) -> dict[str, JsonValue]:
    """``{"kind": ..., <the dataclass fields>}``."""
    return {
        "kind": connector.kind,
        **{field.name: to_json(getattr(connector, field.name)) for field in dataclasses.fields(connector)},
    }
