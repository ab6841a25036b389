"""The JSON-lines format: checks column types, and encodes tables as text outside the loop."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    import polars as pl

NAIVE_TIMESTAMP = "%Y-%m-%dT%H:%M:%S%.f"
"""The ISO 8601 format in which the sink writes timestamps without a time zone. The default format of polars has a space between
date and time."""


class _JsonLinesFile:
    def __init__(self, path: str) -> None:
        self._file = pa.OSFile(path, "wb")

    def write(self, table: pa.Table) -> None:
        self._file.write(json_lines(table))

    def bytes_written(self) -> int:
        return int(self._file.tell())

    def close(self) -> None:
        self._file.close()

    def drop(self) -> None:
        try:
            self._file.close()
        except OSError:
            return  # ignore the error, because the file is discarded


@dataclass(frozen=True, slots=True)
class JsonLinesFormat:
    """One object per line. Timestamps and dates are ISO 8601 text, and decimals are text. NaN and infinities become null, because
    JSON cannot represent them."""

    extension: str = "jsonl"

    def create(self, path: str, schema: pa.Schema) -> _JsonLinesFile:
        return _JsonLinesFile(path)

    def check(self, field: pa.Field) -> str | None:
        unsupported = _find_type(field.type, _is_unsupported)
        if unsupported is not None:
            return f"JSON cannot represent {unsupported}, so encode the value as text"
        schema = pa.schema([field.with_nullable(True)])
        try:
            # Test a table with a row too, because for some types polars raises an error only if the table has a row.
            for table in (schema.empty_table(), pa.table([pa.nulls(1, field.type)], schema=schema)):
                json_lines(table)
        except pa.ArrowException as error:
            return str(error)
        return None


def json_lines(table: pa.Table) -> memoryview:
    """Encode one row per line. Raises ArrowException for types that polars cannot write."""
    import polars as pl

    text = io.BytesIO()
    try:
        frame = pl.from_arrow(table)
        assert isinstance(frame, pl.DataFrame)
        naive = [_iso(pl.col(name), kind).alias(name) for name, kind in frame.schema.items() if _has_naive_timestamps(kind)]
        (frame.with_columns(naive) if naive else frame).write_ndjson(text)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        # Convert PanicException too, because it is not a subclass of Exception, and the caller's ``except`` would not catch it.
        raise pa.ArrowInvalid(f"cannot write as JSON: {error}") from error
    return text.getbuffer()


def _iso(value: pl.Expr, kind: pl.DataType) -> pl.Expr:
    """Format the timestamps in ``value`` as text, including timestamps in lists and structs. Leave timestamps with a time zone
    unchanged."""
    import polars as pl

    if isinstance(kind, pl.Datetime):
        return value.dt.strftime(NAIVE_TIMESTAMP)
    if isinstance(kind, pl.Array):
        value, kind = value.arr.to_list(), pl.List(kind.inner)
    if isinstance(kind, pl.List):
        return value.list.eval(_iso(pl.element(), _of(kind.inner)))
    assert isinstance(kind, pl.Struct)
    changing = [field for field in kind.fields if _has_naive_timestamps(_of(field.dtype))]
    return value.struct.with_fields(*(_iso(pl.field(field.name), _of(field.dtype)).alias(field.name) for field in changing))


def _has_naive_timestamps(kind: pl.DataType) -> bool:
    import polars as pl

    if isinstance(kind, pl.Datetime):
        return kind.time_zone is None
    if isinstance(kind, (pl.List, pl.Array)):
        return _has_naive_timestamps(_of(kind.inner))
    return isinstance(kind, pl.Struct) and any(_has_naive_timestamps(_of(field.dtype)) for field in kind.fields)


def _of(kind: object) -> pl.DataType:
    """Narrow the type for mypy, because polars declares types as instances or classes, but a schema contains only instances."""
    import polars as pl

    assert isinstance(kind, pl.DataType)
    return kind


def _is_unsupported(kind: pa.DataType) -> bool:
    """Return whether polars would panic when it writes values of the type. The function does not try to write a value, because
    polars would print the panic on stderr."""
    types = pa.types
    return bool(
        is_binary(kind)
        or types.is_decimal256(kind)
        or types.is_interval(kind)
        or types.is_union(kind)
        or types.is_run_end_encoded(kind)
    )


def is_binary(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind) or types.is_binary_view(kind)
    )


def _find_type(kind: pa.DataType, test: Callable[[pa.DataType], bool]) -> pa.DataType | None:
    if test(kind):
        return kind
    if isinstance(kind, pa.BaseExtensionType):
        parts = [kind.storage_type]
    elif pa.types.is_dictionary(kind):
        parts = [kind.value_type]
    else:
        parts = [kind.field(index).type for index in range(kind.num_fields)]
    return next((match for part in parts if (match := _find_type(part, test)) is not None), None)
