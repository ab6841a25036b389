"""Parses the schemas of the job API. A schema is a dict such as ``{"word": str, "length": "int64"}``, or a pyarrow.Schema."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Mapping
from typing import Any, TypeAlias

import pyarrow as pa

from weir.errors import SchemaError
from weir.graph.schema import near_miss

ColumnType: TypeAlias = "pa.DataType | type | str"
SchemaLike: TypeAlias = "pa.Schema | Mapping[str, ColumnType]"

_PYTHON_TYPES: dict[type, pa.DataType] = {
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
    bool: pa.bool_(),
    bytes: pa.binary(),
    datetime.date: pa.date32(),
    datetime.datetime: pa.timestamp("us"),
}
_NAMES = ("int64", "int32", "int16", "int8", "float64", "float32", "string", "bool", "binary", "date32", "timestamp[us]")


def schema_from(value: Any) -> pa.Schema:
    """Raises SchemaError if ``value`` is not a schema, has no columns, or has duplicate columns."""
    if isinstance(value, pa.Schema):
        schema = value
    elif isinstance(value, Mapping):
        schema = pa.schema([pa.field(name, _type(name, kind)) for name, kind in value.items()])
    else:
        raise SchemaError(
            f"the schema must be a pyarrow.Schema or a dict such as {{'word': str, 'length': 'int64'}}, not {type(value).__name__}."
        )
    if not len(schema):
        raise SchemaError("the schema has no columns. Name at least one column.")
    duplicates = [name for name, count in Counter(schema.names).items() if count > 1]
    if duplicates:
        raise SchemaError(f"the schema has duplicate columns: {', '.join(duplicates)}. Give each column its own name.")
    return schema.remove_metadata()


def _type(name: str, kind: object) -> pa.DataType:
    if isinstance(kind, pa.DataType):
        return kind
    if isinstance(kind, type) and kind in _PYTHON_TYPES:
        return _PYTHON_TYPES[kind]
    if isinstance(kind, str):
        if kind == "timestamp[us]":
            return pa.timestamp("us")
        try:
            return pa.type_for_alias(kind)
        except ValueError:
            raise SchemaError(f"column {name!r}: unknown type {kind!r}{near_miss(kind, _NAMES)}") from None
    raise SchemaError(
        f"column {name!r}: {kind!r} is not a type. Use int, float, str, bool, bytes, date, datetime, a name such as 'int32', "
        "or a pyarrow type."
    )
