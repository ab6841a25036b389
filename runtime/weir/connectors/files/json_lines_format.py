"""The JSON-lines format: checks columns and encodes tables as text. Used outside the loop."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    import polars as pl

NAIVE_TIMESTAMP = "%Y-%m-%dT%H:%M:%S%.f"
"""ISO 8601, like timestamps with a zone; by default polars writes a space between date and time."""


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
            return  # the file is discarded anyway


@dataclass(frozen=True, slots=True)
class JsonLinesFormat:
    """One object per line. Timestamps and dates as ISO 8601 text, decimals as text, NaN and infinities as null (JSON has none)."""

    extension: str = "jsonl"

    def create(self, path: str, schema: pa.Schema) -> _JsonLinesFile:
        return _JsonLinesFile(path)

    def check(self, field: pa.Field) -> str | None:
        unsupported = _find_type(field.type, _is_unsupported)
        if unsupported is not None:
            return f"JSON has no representation of {unsupported}; encode it as text"
        schema = pa.schema([field.with_nullable(True)])
        try:
            # Test with a row, too, because polars refuses some types only if there is a row.
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
        # PanicException is not an Exception, so handlers of sink failures would not catch it.
        raise pa.ArrowInvalid(f"cannot write as JSON: {error}") from error
    return text.getbuffer()


def _iso(value: pl.Expr, kind: pl.DataType) -> pl.Expr:
    """Return ``value`` with its naive timestamps, at any depth, formatted as text."""
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
    """Narrow the type for mypy: polars declares types as instances or classes, a schema has instances only."""
    import polars as pl

    assert isinstance(kind, pl.DataType)
    return kind


def _is_unsupported(kind: pa.DataType) -> bool:
    """Checks the type's name instead of trying: for these types polars panics, and reports that on stderr."""
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
