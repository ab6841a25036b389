"""Which Arrow types polars can read. Asking it is no way to find out: over some it panics instead of raising."""

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


def polars_reads(kind: pa.DataType) -> bool:
    if (
        pa.types.is_dictionary(kind)
        or pa.types.is_list(kind)
        or pa.types.is_large_list(kind)
        or pa.types.is_fixed_size_list(kind)
    ):
        return polars_reads(kind.value_type)
    if pa.types.is_struct(kind):
        return all(polars_reads(kind.field(position).type) for position in range(kind.num_fields))
    # A decimal256 is a fixed_size_binary to pyarrow's own test.
    return not pa.types.is_decimal256(kind) and any(matches(kind) for matches in _SCALARS)


def check_polars_reads(schema: pa.Schema) -> None:
    """Raises SchemaError for the first column of a type that polars does not have."""
    for field in schema:
        if not polars_reads(field.type):
            raise SchemaError(
                f"polars has no type for column {field.name!r} ({field.type}): leave it out with .select(...), "
                "or take Arrow batches with .map_batches(..., form='arrow')"
            )
