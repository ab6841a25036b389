"""Operators that call a Python function for each row: map, flat_map, filter_rows.

A row costs about a microsecond before the function does anything, so steps are short slices of a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from weir.errors import UserCodeError
from weir.operators.base import Operator, OperatorContext, Step
from weir.operators.cutting import pieces
from weir.operators.rows import Row, RowBuilder, rows_of
from weir.operators.user_code import raised, short

ROWS_PER_STEP = 8_192
"""About 10 ms of Python, after which the loop may turn to others."""


class _RowOperator(Operator):
    """``where`` names the operator in messages."""

    def __init__(self, function: Callable[[Row], Any], where: str) -> None:
        self._function = function
        self._where = where

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._step_rows = min(ROWS_PER_STEP, context.batch_rows)

    def _failed(self, error: Exception, batch: pa.RecordBatch, position: int) -> UserCodeError:
        # Taken from the batch again: the function may have changed the dict that it was given.
        return raised(self._where, self._function, error, f"the row {short(rows_of(batch.slice(position, 1))[0])}")

    def _call_each(self, batch: pa.RecordBatch) -> list[Any]:
        function = self._function
        results: list[Any] = []
        append = results.append
        try:
            for row in rows_of(batch):
                append(function(row))
        except Exception as error:
            raise self._failed(error, batch, len(results)) from error
        return results


class MapOperator(_RowOperator):
    """One row in, one row out."""

    def __init__(self, function: Callable[[Row], Any], schema: pa.Schema, where: str) -> None:
        super().__init__(function, where)
        self._builder = RowBuilder(schema, where)

    def process(self, batch: pa.RecordBatch, input_index: int) -> Step:
        for piece in pieces(batch, self._step_rows):
            yield self._builder.build(self._call_each(piece))


class FilterRowsOperator(_RowOperator):
    """Keeps the rows for which the function returns True; they are not rebuilt."""

    def process(self, batch: pa.RecordBatch, input_index: int) -> Step:
        for piece in pieces(batch, self._step_rows):
            results = self._call_each(piece)
            self._check(results, piece)
            kept = piece.filter(pa.array(results, type=pa.bool_()))
            if kept.num_rows:
                yield kept

    def _check(self, results: list[Any], batch: pa.RecordBatch) -> None:
        if set(map(type, results)) <= {bool, np.bool_}:
            return
        position = next(index for index, result in enumerate(results) if not isinstance(result, bool | np.bool_))
        raise UserCodeError(
            f"{self._where}: the function returned {short(results[position])} for the row {short(rows_of(batch.slice(position, 1))[0])}; "
            "return True or False"
        )


class FlatMapOperator(_RowOperator):
    """One row in, any number out. What the function returns is pulled lazily: a row may expand beyond memory."""

    def __init__(self, function: Callable[[Row], Any], schema: pa.Schema, where: str) -> None:
        super().__init__(function, where)
        self._builder = RowBuilder(schema, where)

    def process(self, batch: pa.RecordBatch, input_index: int) -> Step:
        ready: list[Any] = []
        for piece in pieces(batch, self._step_rows):
            for position, row in enumerate(rows_of(piece)):
                for result in self._expand(row, piece, position):
                    ready.append(result)
                    if len(ready) == self._step_rows:
                        yield self._builder.build(ready)
                        ready = []
        if ready:
            yield self._builder.build(ready)

    def _expand(self, row: Row, batch: pa.RecordBatch, position: int) -> Iterable[Any]:
        try:
            results = self._function(row)
        except Exception as error:
            raise self._failed(error, batch, position) from error
        if isinstance(results, list | tuple):
            return results
        if isinstance(results, str | bytes | dict) or not isinstance(results, Iterable):
            raise UserCodeError(
                f"{self._where}: the function returned {short(results)} of type {type(results).__name__}; return an iterable of dicts"
            )
        return self._pulled(results, batch, position)

    def _pulled(self, results: Iterable[Any], batch: pa.RecordBatch, position: int) -> Iterator[Any]:
        """A generator function runs while it is iterated, so that is where it raises."""
        try:
            yield from results
        except Exception as error:
            raise self._failed(error, batch, position) from error
