"""Sources and sinks as plain JSON, so that a slot rebuilds them from data and never by unpickling."""

from __future__ import annotations

import base64
import dataclasses
from typing import Any

import pyarrow as pa

from weir.errors import ConfigError
from weir.protocol.codec import to_json
from weir.protocol.snapshots import JsonValue


def encode_schema(schema: pa.Schema) -> str:
    """Base64 of the Arrow IPC schema message (the form that the logical graph uses, too)."""
    return base64.b64encode(schema.serialize().to_pybytes()).decode("ascii")


def decode_schema(text: str) -> pa.Schema:
    """The inverse of ``encode_schema``. Raises ConfigError."""
    try:
        return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text, validate=True)))
    except (ValueError, pa.ArrowException, OSError) as error:
        raise ConfigError(f"a connector's description carries an unreadable schema ({error}): rebuild the job's graph") from error


def describe(connector: Any) -> dict[str, JsonValue]:
    """``{"kind": ..., <the dataclass fields>}``."""
    return {
        "kind": connector.kind,
        **{field.name: to_json(getattr(connector, field.name)) for field in dataclasses.fields(connector)},
    }
