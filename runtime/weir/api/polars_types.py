"""A fixed list of the Arrow types that polars can read. Weir checks types against this list, because polars panics when it reads
some other types."""

from __future__ import annotations

import pyarrow as pa

from weir.errors import SchemaError

_SCALARS = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_boolean,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_binary_view,
    pa.types.is_fixed_size_binary,
    pa.types.is_date,
    pa.types.is_time,
    pa.types.is_timestamp,
    pa.types.is_duration,
    pa.types.is_null,
    pa.types.is_decimal32,
    pa.types.is_decimal64,
    pa.types.is_decimal128,
)


def polars_supports(kind: pa.DataType) -> bool:
    if (
        pa.types.is_dictionary(kind)
        or pa.types.is_list(kind)
        or pa.types.is_large_list(kind)
        or pa.types.is_fixed_size_list(kind)
    ):
        return polars_supports(kind.value_type)
    if pa.types.is_struct(kind):
        return all(polars_supports(kind.field(position).type) for position in range(kind.num_fields))
    # Exclude decimal256 explicitly, because pyarrow's test for fixed_size_binary accepts a decimal256.
    return not pa.types.is_decimal256(kind) and any(matches(kind) for matches in _SCALARS)


def check_polars_supports(schema: pa.Schema) -> None:
    """Raise SchemaError for the first column whose type polars does not support."""
    for field in schema:
        if not polars_supports(field.type):
            raise SchemaError(
                f"polars does not support column {field.name!r} of type {field.type}. Remove the column with .select(...), "
                "or use Arrow batches with .map_batches(..., form='arrow')."
            )
