"""map_batches: a user function over whole batches, Arrow or polars, on the loop or beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from functools import partial
from typing import Any

import pyarrow as pa

from weir.errors import UserCodeError
from weir.graph.schema import canonical_type, near_miss
from weir.operators.base import Operator, Step
from weir.operators.cutting import pieces
from weir.operators.user_code import raised, short


class BatchForm(StrEnum):
    """What the function is given. It may return either form."""

    ARROW = "arrow"
    POLARS = "polars"


class MapBatchesOperator(Operator):
    """``blocking``: the function runs on the slot's worker thread, and the loop goes on with others meanwhile."""

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

    def process(self, batch: pa.RecordBatch, input_index: int) -> Step:
        for piece in pieces(batch, self.context.batch_rows):
            if self._blocking and self.context.run_beside is not None:
                beside = self.context.run_beside(partial(self._call, piece))
                while not beside.done():
                    yield None
                result = beside.result()
            else:
                result = self._call(piece)
            for made in self._batches(result):
                yield from pieces(made, self.context.batch_rows)

    def _call(self, batch: pa.RecordBatch) -> object:
        try:
            return self._function(_polars_frame(batch) if self._form is BatchForm.POLARS else batch)
        except Exception as error:
            subject = f"a batch of {batch.num_rows} rows with {', '.join(batch.schema.names)}"
            raise raised(self._where, self._function, error, subject) from error

    def _batches(self, result: object) -> Iterator[pa.RecordBatch]:
        if isinstance(result, pa.RecordBatch):
            given = [result]
        elif isinstance(result, pa.Table):
            given = result.to_batches()
        elif type(result).__module__.partition(".")[0] == "polars" and hasattr(result, "to_arrow"):
            given = _polars_table(result).to_batches()
        else:
            raise UserCodeError(
                f"{self._where}: the function returned {short(result)} of type {type(result).__name__}; "
                "return a pyarrow RecordBatch or Table, or a polars DataFrame"
            )
        for batch in given:
            yield self._promised(batch)

    def _promised(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch in exactly the schema promised: columns by name, layouts of the same values converted, nothing else."""
        names = batch.schema.names
        for name in names:
            if name not in self._schema.names:
                raise UserCodeError(
                    f"{self._where}: the function returned a column {name!r} that is not in the schema{near_miss(name, self._schema.names)}"
                )
        if len(set(names)) != len(names):
            raise UserCodeError(f"{self._where}: the function returned a column twice: {', '.join(names)}")
        arrays = [self._column(batch, field) for field in self._schema]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _column(self, batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
        names = batch.schema.names
        if field.name not in names:
            raise UserCodeError(f"{self._where}: the function returned no column {field.name!r}{near_miss(field.name, names)}")
        column = batch.column(field.name)
        if column.null_count and not field.nullable:
            raise UserCodeError(f"{self._where}: column {field.name!r} must not be null, but the function returned nulls in it")
        if column.type == field.type:
            return column
        if canonical_type(column.type) != canonical_type(field.type):
            raise UserCodeError(
                f"{self._where}: column {field.name!r} is {field.type} in the schema, but the function returned {column.type}: cast it"
            )
        return column.cast(field.type)


def _polars_frame(batch: pa.RecordBatch) -> object:
    # Imported here: a process that forks must not have used polars, and one without polars functions need not load it.
    import polars

    return polars.from_arrow(batch)


def _polars_table(frame: Any) -> pa.Table:
    import polars

    table: pa.Table = frame.to_arrow(compat_level=polars.CompatLevel.oldest())
    return table
