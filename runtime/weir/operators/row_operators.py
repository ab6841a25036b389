"""Operators that call a Python function for each row: map, flat_map, filter_rows.

For each row, an operator takes about one microsecond in addition to the time of the function. To keep steps short, a step
processes only a small slice of a batch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from weir.errors import UserCodeError, WeirError
from weir.operators.base import Operator, OperatorContext, Step
from weir.operators.batch_slicing import AdaptiveSlices
from weir.operators.row_conversion import Row, RowBuilder, to_rows
from weir.operators.user_code import short_repr, user_code_error

ROWS_PER_STEP = 8_192
"""The maximum number of rows per step. With a fast function, a step takes about 10 ms. Between two steps, the loop can run other
subtasks."""
_FIRST_ROWS = 16
_STEP_NS = 100_000_000
"""The target duration of a step. If a step takes longer than the target, later steps process fewer rows."""


class _RowOperator(Operator):
    """Calls a user function for each row. ``where`` names the operator in error messages."""

    def __init__(self, function: Callable[[Row], Any], where: str) -> None:
        self._function = function
        self._where = where

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._step_rows = min(ROWS_PER_STEP, context.batch_rows)
        self._slices = AdaptiveSlices(rows_max=self._step_rows, rows_first=_FIRST_ROWS, target_ns=_STEP_NS)

    def _error(self, error: Exception, batch: pa.RecordBatch, position: int) -> WeirError:
        # Convert the row to a dict again, because the user function can have changed the dict that it got.
        return user_code_error(self._where, self._function, error, f"the row {short_repr(to_rows(batch.slice(position, 1))[0])}")

    def _call_each(self, batch: pa.RecordBatch) -> list[Any]:
        function = self._function
        results: list[Any] = []
        append = results.append
        began_ns = time.perf_counter_ns()
        try:
            for row in to_rows(batch):
                append(function(row))
        except Exception as error:
            raise self._error(error, batch, len(results)) from error
        self._slices.took(batch.num_rows, time.perf_counter_ns() - began_ns)
        return results


class MapOperator(_RowOperator):
    """Emits one output row for each input row."""

    def __init__(self, function: Callable[[Row], Any], schema: pa.Schema, where: str) -> None:
        super().__init__(function, where)
        self._builder = RowBuilder(schema, where)

    def process(self, batch: pa.RecordBatch, input_index: int) -> Step:
        for part in self._slices.of(batch):
            yield self._builder.build(self._call_each(part))


class FilterRowsOperator(_RowOperator):
    """Keeps the rows for which the function returns True. The function gets each row as a dict. The emitted rows are taken from
    the input batch, so the dicts need not be converted back to Arrow."""

    def process(self, batch: pa.RecordBatch, input_index: int) -> Step:
        for part in self._slices.of(batch):
            results = self._call_each(part)
            self._check(results, part)
            kept = part.filter(pa.array(results, type=pa.bool_()))
            if kept.num_rows or self._slices.slow:
                yield kept  # even an empty batch returns control to the loop

    def _check(self, results: list[Any], batch: pa.RecordBatch) -> None:
        if set(map(type, results)) <= {bool, np.bool_}:
            return
        position = next(index for index, result in enumerate(results) if not isinstance(result, bool | np.bool_))
        raise UserCodeError(
            f"{self._where}: the function returned {short_repr(results[position])} for the row "
            f"{short_repr(to_rows(batch.slice(position, 1))[0])}. Return True or False."
        )


class FlatMapOperator(_RowOperator):
    """Emits any number of output rows for each input row. The operator iterates lazily over the results, because the results of
    a single row can be too large for memory."""

    def __init__(self, function: Callable[[Row], Any], schema: pa.Schema, where: str) -> None:
        super().__init__(function, where)
        self._builder = RowBuilder(schema, where)

    def process(self, batch: pa.RecordBatch, input_index: int) -> Step:
        ready: list[Any] = []
        for part in self._slices.of(batch):
            began_ns: int | None = time.perf_counter_ns()
            for position, row in enumerate(to_rows(part)):
                for result in self._expand(row, part, position):
                    ready.append(result)
                    if len(ready) == self._step_rows:
                        yield self._builder.build(ready)
                        ready = []
                        began_ns = None  # do not measure this slice: the loop can resume this step much later
            if began_ns is not None:
                self._slices.took(part.num_rows, time.perf_counter_ns() - began_ns)
                if self._slices.slow:
                    yield self._builder.build(ready)  # even an empty batch returns control to the loop
                    ready = []
        if ready:
            yield self._builder.build(ready)

    def _expand(self, row: Row, batch: pa.RecordBatch, position: int) -> Iterable[Any]:
        try:
            results = self._function(row)
        except Exception as error:
            raise self._error(error, batch, position) from error
        if isinstance(results, list | tuple):
            return results
        if isinstance(results, str | bytes | dict) or not isinstance(results, Iterable):
            raise UserCodeError(
                f"{self._where}: the function returned {short_repr(results)} of type {type(results).__name__}. "
                "Return an iterable of dicts."
            )
        return self._iterate(results, batch, position)

    def _iterate(self, results: Iterable[Any], batch: pa.RecordBatch, position: int) -> Iterator[Any]:
        """Convert errors of a generator function to UserCodeError. A generator function runs only while the operator iterates
        over its results, so the function can raise errors during the iteration."""
        try:
            yield from results
        except Exception as error:
            raise self._error(error, batch, position) from error
