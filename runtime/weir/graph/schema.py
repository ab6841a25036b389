"""Arrow schemas in the graph: encoded as text, and in the canonical form that channels use."""

from __future__ import annotations

import base64
import difflib
from collections.abc import Iterable

import pyarrow as pa

from weir.errors import GraphError
from weir.graph.logical import Column, LogicalOperator


def encode_schema(schema: pa.Schema) -> str:
    """Base64 of the Arrow IPC schema message."""
    return base64.b64encode(schema.serialize().to_pybytes()).decode("ascii")


def decode_schema(text: str) -> pa.Schema:
    """The inverse of ``encode_schema``. Raises GraphError if ``text`` is not an encoded schema."""
    try:
        return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text, validate=True)))
    except (ValueError, OSError, pa.ArrowException) as error:
        raise GraphError(f"the graph has an unreadable schema ({error}): build the graph again from the job") from error


def columns_of(schema: pa.Schema) -> tuple[Column, ...]:
    return tuple(Column(field.name, str(field.type), field.nullable) for field in schema)


def schema_of(operator: LogicalOperator) -> pa.Schema:
    return decode_schema(operator.schema)


def canonical_type(kind: pa.DataType) -> pa.DataType:
    """Return the type that channels use for values of ``kind``.

    Arrow has several layouts for the same values (string, large_string, string_view, dictionary encoding), and libraries
    differ in the layout that they return. Weir uses ``string``, ``binary`` and ``list`` with 32-bit offsets and no
    dictionary: batches are far smaller than 2 GiB, and short offsets need less space.
    """
    if pa.types.is_dictionary(kind):
        return canonical_type(kind.value_type)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(canonical_type(kind.value_type))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(canonical_type(kind.value_type), kind.list_size)
    if pa.types.is_struct(kind):
        fields = [kind.field(position) for position in range(kind.num_fields)]
        return pa.struct([pa.field(field.name, canonical_type(field.type), field.nullable) for field in fields])
    return kind


def canonical_schema(schema: pa.Schema) -> pa.Schema:
    """Return ``schema`` with canonical types and without metadata."""
    return pa.schema([pa.field(field.name, canonical_type(field.type), field.nullable) for field in schema])


def near_miss(name: str, valid: Iterable[str]) -> str:
    """Return the end of an error message: ``; did you mean 'dep_delay'?``, or the valid names."""
    names = list(valid)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if not close:
        close = [candidate for candidate in names if candidate.lower() == name.lower()]
    if close:
        return f"; did you mean {close[0]!r}?"
    listed = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    return f"; valid names: {listed}" if names else ""
