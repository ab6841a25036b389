"""The map_batches operator, which calls a user function with whole Arrow or polars batches.

The user function runs on the loop's thread, or on the background executor if the job declares the function as blocking.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from enum import StrEnum
from functools import partial
from typing import Any

import pyarrow as pa

from weir.errors import UserCodeError
from weir.graph.schema import canonical_type, near_miss
from weir.operators.base import Operator, OperatorContext, Step
from weir.operators.batch_slicing import AdaptiveSlices, slice_batch
from weir.operators.user_code import short_repr, user_code_error

_FIRST_ROWS = 1_024
_CALL_NS = 1_000_000_000
"""The target duration of a call. If a call takes longer than the target, later calls get fewer rows. The target is longer than
for row functions, because some functions, such as models, process large batches more efficiently."""


class BatchForm(StrEnum):
    """The type of the user function's argument. The function can return Arrow or polars data, regardless of the type of its
    argument."""

    ARROW = "arrow"
    POLARS = "polars"


class MapBatchesOperator(Operator):
    """Calls a user function with whole batches. If ``blocking`` is True, the function runs on the slot's background executor,
    while the loop runs other subtasks."""

    def __init__(
        self,
        function: Callable[[Any], Any],
        schema: pa.Schema,
        where: str,
        *,
        form: BatchForm = BatchForm.ARROW,
        blocking: bool = False,
    ) -> None:
        self._function = function
        self._schema = schema
        self._where = where
        self._form = form
        self._blocking = blocking

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._slices = AdaptiveSlices(rows_max=context.batch_rows, rows_first=_FIRST_ROWS, target_ns=_CALL_NS)

    def process(self, batch: pa.RecordBatch, input_index: int) -> Step:
        if self._blocking and self.context.run_in_background is not None:
            for part in slice_batch(batch, self.context.batch_rows):
                call = self.context.run_in_background(partial(self._call, part))
                while not call.done():
                    yield None
                yield from self._outputs(call.result())
            return
        for part in self._slices.of(batch):
            began_ns = time.perf_counter_ns()
            result = self._call(part)
            self._slices.took(part.num_rows, time.perf_counter_ns() - began_ns)
            slow = self._slices.slow
            yield from self._outputs(result)
            if slow:
                yield part.slice(0, 0)  # even an empty batch returns control to the loop

    def _outputs(self, result: object) -> Iterator[pa.RecordBatch]:
        for output in self._batches(result):
            yield from slice_batch(output, self.context.batch_rows)

    def _call(self, batch: pa.RecordBatch) -> object:
        try:
            return self._function(_polars_frame(batch) if self._form is BatchForm.POLARS else batch)
        except Exception as error:
            argument = f"a batch of {batch.num_rows} rows with columns {', '.join(batch.schema.names)}"
            raise user_code_error(self._where, self._function, error, argument) from error

    def _batches(self, result: object) -> Iterator[pa.RecordBatch]:
        if isinstance(result, pa.RecordBatch):
            batches = [result]
        elif isinstance(result, pa.Table):
            batches = result.to_batches()
        elif type(result).__module__.partition(".")[0] == "polars" and hasattr(result, "to_arrow"):
            batches = _polars_table(result).to_batches()
        else:
            raise UserCodeError(
                f"{self._where}: the function returned {short_repr(result)} of type {type(result).__name__}. "
                "Return a pyarrow RecordBatch or Table, or a polars DataFrame."
            )
        for batch in batches:
            yield self._conform(batch)

    def _conform(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the batch with exactly the declared schema. Matches columns by name. Converts a column to another layout of the
        same values, such as string to large_string, but never changes values."""
        names = batch.schema.names
        for name in names:
            if name not in self._schema.names:
                raise UserCodeError(
                    f"{self._where}: the function returned column {name!r}, which is not in the schema{near_miss(name, self._schema.names)}"
                )
        if len(set(names)) != len(names):
            raise UserCodeError(f"{self._where}: the function returned duplicate columns: {', '.join(names)}. Rename one.")
        arrays = [self._column(batch, field) for field in self._schema]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _column(self, batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
        names = batch.schema.names
        if field.name not in names:
            raise UserCodeError(f"{self._where}: the function returned no column {field.name!r}{near_miss(field.name, names)}")
        column = batch.column(field.name)
        if column.null_count and not field.nullable:
            raise UserCodeError(
                f"{self._where}: column {field.name!r} must not be null, but the function returned {column.null_count} nulls in it."
            )
        if column.type == field.type:
            return column
        if canonical_type(column.type) != canonical_type(field.type):
            raise UserCodeError(
                f"{self._where}: column {field.name!r} is {field.type} in the schema, but the function returned {column.type}. Cast it."
            )
        return column.cast(field.type)


def _polars_frame(batch: pa.RecordBatch) -> object:
    # Import polars lazily, because a process must not use polars before it forks. Only jobs with polars functions need polars.
    import polars

    return polars.from_arrow(batch)


def _polars_table(frame: Any) -> pa.Table:
    import polars

    table: pa.Table = frame.to_arrow(compat_level=polars.CompatLevel.oldest())
    return table
