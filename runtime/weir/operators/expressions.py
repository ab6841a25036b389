"""Operators with polars expressions: select, with_columns and filter.

Polars receives only the columns that the expressions read, and copies only string columns. Output columns that no expression computes
pass through unchanged. The API accepts only row-wise expressions, so the operators can slice a batch at any row without changing
the output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import pyarrow as pa

from weir.errors import UserCodeError
from weir.operators.base import Operator, Step
from weir.operators.batch_slicing import slice_batch
from weir.operators.integer_arithmetic import IntegerArithmetic
from weir.operators.row_conversion import to_rows
from weir.operators.user_code import short_repr

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """A column of the output. ``source`` is the input column that becomes the output column, or None if an expression computes
    the output column."""

    name: str
    source: str | None


class _Evaluator:
    """Evaluates expressions on batches."""

    def __init__(self, expressions: Sequence[pl.Expr], reads: Sequence[str], where: str) -> None:
        # Import polars lazily, because a process must not use polars before it forks. Only jobs with expressions need polars.
        import polars

        self._polars = polars
        self._layout = polars.CompatLevel.oldest()
        # List PanicException explicitly, because it is a subclass of BaseException and not of Exception. An uncaught
        # PanicException ends the slot's process.
        self._failures = (polars.exceptions.PolarsError, polars.exceptions.PanicException, pa.ArrowException)
        self._expressions = list(expressions)
        self._reads = list(reads)
        self._where = where

    def evaluate(self, batch: pa.RecordBatch) -> pl.DataFrame:
        """Return a frame with the columns in ``reads`` and the computed columns, and with as many rows as ``batch``. Raises
        UserCodeError."""
        try:
            return self._evaluate(batch)
        except self._failures as error:
            failing_row, cause = self._first_failing_row(batch, error)
            shown = ", ".join(str(expression) for expression in self._expressions)
            raise UserCodeError(
                f"{self._where}: evaluating {shown} raised {_first_line(cause)}; the row was {short_repr(to_rows(failing_row)[0])}"
            ) from cause

    def array(self, series: pl.Series, kind: pa.DataType) -> pa.Array:
        """Return ``series`` as an Arrow array of type ``kind``. A cast can be necessary, because polars can use another layout
        for strings."""
        array = series.to_arrow(compat_level=self._layout)
        return array if array.type == kind else array.cast(kind)

    def _evaluate(self, batch: pa.RecordBatch) -> pl.DataFrame:
        frame = cast("pl.DataFrame", self._polars.from_arrow(batch.select(self._reads)))
        # Use with_columns, because select returns only one row if all expressions are literals.
        return frame.with_columns(self._expressions)

    def _first_failing_row(self, batch: pa.RecordBatch, error: BaseException) -> tuple[pa.RecordBatch, BaseException]:
        """Find the first failing row by bisection, which works because expressions are row-wise."""
        while batch.num_rows > 1:
            half = batch.num_rows // 2
            first = batch.slice(0, half)
            try:
                self._evaluate(first)
                batch = batch.slice(half)
            except self._failures as earlier:
                batch, error = first, earlier
        return batch.select(self._reads), error


class ProjectOperator(Operator):
    """The operator for select and with_columns. The operator passes some columns through, and computes the other columns."""

    def __init__(
        self,
        columns: Sequence[OutputColumn],
        expressions: Sequence[pl.Expr],
        *,
        reads: Sequence[str],
        schema: pa.Schema,
        where: str,
    ) -> None:
        assert [column.name for column in columns] == schema.names
        self._columns = tuple(columns)
        self._schema = schema
        self._evaluator = _Evaluator(expressions, reads, where) if expressions else None
        computed_types = [field.type for column, field in zip(columns, schema, strict=True) if column.source is None]
        integers = bool(expressions) and all(type_ == pa.int64() for type_ in computed_types)
        self._arithmetic = IntegerArithmetic.of(expressions) if integers else None

    def process(self, batch: pa.RecordBatch, input_index: int) -> Step:
        for part in slice_batch(batch, self.context.batch_rows):
            yield self._project(part)

    def _project(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self._evaluator is None:
            arrays = [batch.column(column.source) for column in self._columns]
            return pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        values = None if self._arithmetic is None else self._arithmetic.evaluate(batch)
        if values is not None:
            arrays = [
                batch.column(column.source) if column.source is not None else values[column.name] for column in self._columns
            ]
            return pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        computed = self._evaluator.evaluate(batch)
        arrays = [
            batch.column(column.source)
            if column.source is not None
            else self._evaluator.array(computed.get_column(column.name), field.type)
            for column, field in zip(self._columns, self._schema, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)


_KEEP = "__weir_keep"


class FilterOperator(Operator):
    """Keeps the rows for which the predicate is true. Drops the rows for which the predicate is false or null."""

    def __init__(self, predicate: pl.Expr, *, reads: Sequence[str], where: str) -> None:
        self._evaluator = _Evaluator([predicate.alias(_KEEP)], reads, where)

    def process(self, batch: pa.RecordBatch, input_index: int) -> Step:
        for part in slice_batch(batch, self.context.batch_rows):
            mask = self._evaluator.array(self._evaluator.evaluate(part).get_column(_KEEP), pa.bool_())
            if mask.null_count == 0 and mask.true_count == len(mask):
                yield part
            elif mask.true_count:
                yield part.filter(mask)


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
