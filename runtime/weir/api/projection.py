"""Resolves the expressions of ``select``, ``with_columns`` and ``filter`` against the input's schema. The result is the output
columns with their types, and the input columns that polars must read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl
import pyarrow as pa

from weir.api.polars_types import check_polars_supports, polars_supports
from weir.api.rowwise_check import check_rowwise
from weir.errors import GraphError, SchemaError
from weir.graph.schema import canonical_type, near_miss
from weir.operators.expressions import OutputColumn


@dataclass(frozen=True, slots=True)
class Projection:
    """The output of ``select`` or ``with_columns``. ``expressions`` compute the columns that are not copied from the input.
    ``reads`` contains the input columns that the expressions need."""

    columns: tuple[OutputColumn, ...]
    expressions: tuple[pl.Expr, ...]
    reads: tuple[str, ...]
    schema: pa.Schema


@dataclass(frozen=True, slots=True)
class _Output:
    field: pa.Field
    source: str | None


def plan_select(schema: pa.Schema, columns: Iterable[object], named: Mapping[str, object]) -> Projection:
    """Raises SchemaError for invalid columns and types, and GraphError for values that are not row-wise expressions."""
    expressions = parse(columns, named)
    if not expressions:
        raise GraphError("select needs at least one column or expression.")
    table = _Table(schema)
    return table.projection([output for expression in expressions for output in table.outputs(expression)], expressions)


def plan_with_columns(schema: pa.Schema, columns: Iterable[object], named: Mapping[str, object]) -> Projection:
    """As in polars, a new column replaces an existing column of the same name. Other new columns are appended."""
    expressions = parse(columns, named)
    table = _Table(schema)
    outputs = [output for expression in expressions for output in table.outputs(expression)]
    replaced = {output.field.name: output for output in outputs}
    if len(replaced) != len(outputs):
        raise SchemaError(
            f"with_columns has duplicate columns: {', '.join(output.field.name for output in outputs)}. Rename one with .alias(...)."
        )
    kept = [replaced.pop(field.name, _Output(field, field.name)) for field in schema]
    return table.projection([*kept, *replaced.values()], expressions)


def plan_filter(schema: pa.Schema, conditions: Iterable[object]) -> tuple[pl.Expr, tuple[str, ...]]:
    """Return one expression that is true if all conditions are true, and the columns that the expression reads."""
    predicates = parse(conditions, {})
    if not predicates:
        raise GraphError("filter needs a condition, for example pl.col('delay') > 15.")
    table = _Table(schema)
    for predicate in predicates:
        for output in table.outputs(predicate):
            if not pa.types.is_boolean(output.field.type):
                raise SchemaError(f"the condition {predicate} must be boolean, not {output.field.type}. Use a comparison.")
    single = len(predicates) == 1 and not predicates[0].meta.has_multiple_outputs()
    predicate = predicates[0] if single else pl.all_horizontal(predicates)
    return predicate, table.reads([predicate])


def parse(arguments: Iterable[object], named: Mapping[str, object]) -> list[pl.Expr]:
    """Convert arguments to expressions, as polars does. A string is the name of a column. A number, boolean or None is a literal if
    the caller passes it as a keyword argument."""
    expressions = []
    for item in arguments:
        if isinstance(item, list | tuple):
            expressions += parse(item, {})
        else:
            expressions.append(_expression(item))
    for name, value in named.items():
        value = pl.lit(value) if value is None or isinstance(value, bool | int | float) else _expression(value)
        expressions.append(value.alias(name))
    for expression in expressions:
        check_rowwise(expression)
    return expressions


def _expression(item: object) -> pl.Expr:
    if isinstance(item, str):
        return pl.col(item)
    if isinstance(item, pl.Expr):
        return item
    if callable(item) and not isinstance(item, type):
        raise GraphError("a Python function is not an expression. Use .map(...), .filter_rows(...) or .map_batches(...).")
    hint = " Write pl.col('a') == 1 instead of 'a' == 1." if isinstance(item, bool) else ""
    raise GraphError(f"{item!r} is not an expression. Pass a column name or a polars expression.{hint}")


class _Table:
    """An empty table with the input's schema. Polars uses the table to resolve the columns and types of expressions."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._frame = pl.DataFrame([self._series(field) for field in schema]).lazy()

    def outputs(self, expression: pl.Expr) -> list[_Output]:
        """Return the output columns of an expression.

        Plain and renamed columns keep their Arrow type. The type of a computed column is the Arrow type that polars returns,
        converted by ``canonical_type``.
        """
        resolved = self._resolve([expression])
        bare = expression.meta.undo_aliases()
        if expression.meta.is_column_selection():
            return [_Output(self._schema.field(name), name) for name in resolved.names()]
        if bare.meta.is_column() and len(resolved) == 1:
            source = self._schema.field(bare.meta.output_name())
            return [_Output(source.with_name(resolved.names()[0]), source.name)]
        return [_Output(pa.field(name, self._arrow_type(name, kind)), None) for name, kind in resolved.items()]

    def projection(self, outputs: list[_Output], expressions: list[pl.Expr]) -> Projection:
        names = [output.field.name for output in outputs]
        for name in names:
            if names.count(name) > 1:
                raise SchemaError(f"two columns would be named {name!r}. Rename one with .alias(...).")
        computed = tuple(
            expression for expression in expressions if any(output.source is None for output in self.outputs(expression))
        )
        return Projection(
            columns=tuple(OutputColumn(output.field.name, output.source) for output in outputs),
            expressions=computed,
            reads=self.reads(computed) if computed else (),
            schema=pa.schema([output.field for output in outputs]),
        )

    def reads(self, expressions: Iterable[pl.Expr]) -> tuple[str, ...]:
        """Return the input columns that the expressions need. The result has at least one column, because polars needs a column to
        repeat a literal for every row."""
        expressions = list(expressions)
        names = set(self._schema.names)
        if not any(expression.meta.has_multiple_outputs() for expression in expressions):
            names = {name for expression in expressions for name in expression.meta.root_names()} or {self._cheapest()}
            if not self._needs_only(expressions, names):
                names = set(self._schema.names)
        check_polars_supports(pa.schema([field for field in self._schema if field.name in names]))
        return tuple(name for name in self._schema.names if name in names)

    def _needs_only(self, expressions: list[pl.Expr], names: set[str]) -> bool:
        """Return whether the expressions need only the columns ``names``. Polars resolves the expressions once with all columns
        and once with only ``names``. The method compares the resulting types."""
        try:
            return dict(self._frame.select(sorted(names)).select(expressions).collect_schema()) == dict(
                self._resolve(expressions)
            )
        except pl.exceptions.PolarsError:
            return False

    def _cheapest(self) -> str:
        readable = [field for field in self._schema if polars_supports(field.type)] or list(self._schema)
        return str(next((field for field in readable if pa.types.is_primitive(field.type)), readable[0]).name)

    def _series(self, field: pa.Field) -> pl.Series:
        if polars_supports(field.type):
            return pl.Series(field.name, pl.from_arrow(pa.array([], type=field.type)))
        return pl.Series(field.name, [], dtype=pl.Null)  # the column can pass through, but no expression can read it

    def _resolve(self, expressions: list[pl.Expr]) -> pl.Schema:
        for expression in expressions:
            for name in expression.meta.root_names():
                if name not in self._schema.names and not name.startswith("^"):
                    raise self._no_column(name)
        try:
            return self._frame.select(expressions).collect_schema()
        except pl.exceptions.ColumnNotFoundError as error:
            quoted = re.search(r'"([^"]+)"', str(error))
            raise self._no_column(quoted.group(1) if quoted else str(error)) from error
        except pl.exceptions.PolarsError as error:
            shown = ", ".join(map(str, expressions))
            raise SchemaError(f"cannot apply {shown} to the columns: {str(error).splitlines()[0]}") from error

    def _no_column(self, name: str) -> SchemaError:
        return SchemaError(f"no column {name!r}{near_miss(name, self._schema.names)}")

    def _arrow_type(self, name: str, kind: Any) -> pa.DataType:
        try:
            table = pl.DataFrame(schema={name: kind}).to_arrow(compat_level=pl.CompatLevel.oldest())
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise SchemaError(
                f"column {name!r} would have polars type {kind}, which Arrow does not have. Cast the column."
            ) from error
        return canonical_type(table.schema.field(0).type)
