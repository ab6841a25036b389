"""Operators made of polars expressions: select, with_columns and filter.

Only the columns that an expression reads are handed to polars (zero-copy but for strings); all others
pass through as they are. Expressions are known to be row by row (the API refuses others), so cutting a
batch anywhere gives the same output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import pyarrow as pa

from weir.errors import UserCodeError
from weir.operators.base import Operator, Step
from weir.operators.cutting import pieces
from weir.operators.rows import rows_of
from weir.operators.user_code import short

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """``source``: the input column that it is, unchanged; None: an expression computes it."""

    name: str
    source: str | None


class _Evaluator:
    """Evaluates expressions over one batch after another."""

    def __init__(self, expressions: Sequence[pl.Expr], reads: Sequence[str], where: str) -> None:
        # Imported here: a process that forks must not have used polars, and one without expressions need not load it.
        import polars

        self._polars = polars
        self._layout = polars.CompatLevel.oldest()
        # A panic is no Exception in Python, and would take the whole slot down.
        self._failures = (polars.exceptions.PolarsError, polars.exceptions.PanicException, pa.ArrowException)
        self._expressions = list(expressions)
        self._reads = list(reads)
        self._where = where

    def evaluate(self, batch: pa.RecordBatch) -> pl.DataFrame:
        """All of ``reads`` and what the expressions compute, as many rows as the batch. Raises UserCodeError."""
        try:
            return self._evaluate(batch)
        except self._failures as error:
            culprit, cause = self._first_failing_row(batch, error)
            shown = ", ".join(str(expression) for expression in self._expressions)
            raise UserCodeError(
                f"{self._where}: {_first_line(cause)}; evaluating {shown} on the row {short(rows_of(culprit)[0])}"
            ) from cause

    def array(self, series: pl.Series, kind: pa.DataType) -> pa.Array:
        """``series`` in exactly the promised type; polars has its own ideas about the layout of strings."""
        array = series.to_arrow(compat_level=self._layout)
        return array if array.type == kind else array.cast(kind)

    def _evaluate(self, batch: pa.RecordBatch) -> pl.DataFrame:
        frame = cast("pl.DataFrame", self._polars.from_arrow(batch.select(self._reads)))
        # with_columns, not select: a literal then has as many rows as the batch.
        return frame.with_columns(self._expressions)

    def _first_failing_row(self, batch: pa.RecordBatch, error: BaseException) -> tuple[pa.RecordBatch, BaseException]:
        """Halve the batch until one row is left: valid because expressions go row by row."""
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
    """select and with_columns: some columns pass through, some are computed."""

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

    def process(self, batch: pa.RecordBatch, input_index: int) -> Step:
        for piece in pieces(batch, self.context.batch_rows):
            yield self._project(piece)

    def _project(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self._evaluator is None:
            arrays = [batch.column(column.source) for column in self._columns]
            return pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        computed = self._evaluator.evaluate(batch)
        arrays = [
            batch.column(column.source)
            if column.source is not None
            else self._evaluator.array(computed.get_column(column.name), field.type)
            for column, field in zip(self._columns, self._schema, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)


KEEP = "__weir_keep"


class FilterOperator(Operator):
    """Keeps rows for which the expression is true; false and null are dropped."""

    def __init__(self, predicate: pl.Expr, *, reads: Sequence[str], where: str) -> None:
        self._evaluator = _Evaluator([predicate.alias(KEEP)], reads, where)

    def process(self, batch: pa.RecordBatch, input_index: int) -> Step:
        for piece in pieces(batch, self.context.batch_rows):
            mask = self._evaluator.array(self._evaluator.evaluate(piece).get_column(KEEP), pa.bool_())
            if mask.null_count == 0 and mask.true_count == len(mask):
                yield piece
            elif mask.true_count:
                yield piece.filter(mask)


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
