"""Record batches to rows and back. A row is a dict of column name to Python value (None: null)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from weir.errors import UserCodeError
from weir.graph.schema import near_miss
from weir.operators.user_code import short

Row = dict[str, Any]


def rows_of(batch: pa.RecordBatch) -> list[Row]:
    """Filled column by column: three times as fast as zipping rows together, ten times as ``to_pylist`` of the batch."""
    rows: list[Row] = [{} for _ in range(batch.num_rows)]
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        for row, value in zip(rows, column.to_pylist(), strict=True):
            row[name] = value
    return rows


class RowBuilder:
    """Makes batches of one promised schema of what a user function returned, and finds the culprit when it does not fit."""

    def __init__(self, schema: pa.Schema, where: str) -> None:
        self._schema = schema
        self._names = schema.names
        self._where = where

    def build(self, rows: Sequence[Any]) -> pa.RecordBatch:
        """Raises UserCodeError naming operator, column and value."""
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
            raise UserCodeError(f"{self._where}: column {field.name!r} must not be null, but a returned row has None there")
        return array

    def _wrong_value(self, field: pa.Field, values: list[Any]) -> UserCodeError:
        for value in values:
            try:
                _convert(field.type, [value])
            except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
                return UserCodeError(
                    f"{self._where}: column {field.name!r} is {field.type} in the schema, but a returned row has "
                    f"{short(value)} of type {type(value).__name__} there ({error})"
                )
        return UserCodeError(f"{self._where}: the values of column {field.name!r} do not make up one {field.type} column")

    def _wrong_columns(self, rows: Sequence[Any]) -> UserCodeError:
        for row in rows:
            if not isinstance(row, Mapping):
                return UserCodeError(
                    f"{self._where}: the function returned {short(row)} of type {type(row).__name__}; "
                    f"return a dict with {', '.join(self._names)}"
                )
            for name in self._names:
                if name not in row:
                    return UserCodeError(f"{self._where}: a returned row lacks column {name!r}{near_miss(name, map(str, row))}")
            for name in row:
                if name not in self._names:
                    return UserCodeError(
                        f"{self._where}: a returned row has column {name!r}, which is not in the schema{near_miss(str(name), self._names)}"
                    )
        raise AssertionError("the rows fit after all")


def _convert(kind: pa.DataType, values: list[Any]) -> pa.Array:
    """``pa.array``, but a float never becomes an integer in silence (pyarrow cuts off what is behind the point)."""
    if pa.types.is_integer(kind) and any(issubclass(given, float) for given in set(map(type, values))):
        raise TypeError("a float is no integer: round it, or promise float64")
    return pa.array(values, type=kind)
