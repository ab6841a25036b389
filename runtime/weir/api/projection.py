"""Planning select, with_columns and filter: what each output column is, what polars must read, which types come out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl
import pyarrow as pa

from weir.api.polars_types import check_polars_reads, polars_reads
from weir.api.rowwise_check import check_rowwise
from weir.errors import GraphError, SchemaError
from weir.graph.schema import canonical_type, near_miss
from weir.operators.expressions import OutputColumn


@dataclass(frozen=True, slots=True)
class Projection:
    """``expressions`` compute the columns without a source; ``reads`` are the input columns that they need."""

    columns: tuple[OutputColumn, ...]
    expressions: tuple[pl.Expr, ...]
    reads: tuple[str, ...]
    schema: pa.Schema


@dataclass(frozen=True, slots=True)
class _Output:
    field: pa.Field
    source: str | None


def plan_select(schema: pa.Schema, given: Iterable[object], named: Mapping[str, object]) -> Projection:
    """Raises SchemaError (columns, types), GraphError (what is no row-by-row expression)."""
    expressions = parse(given, named)
    if not expressions:
        raise GraphError("name at least one column or expression")
    table = _Table(schema)
    return table.projection([output for expression in expressions for output in table.outputs(expression)], expressions)


def plan_with_columns(schema: pa.Schema, given: Iterable[object], named: Mapping[str, object]) -> Projection:
    """As polars: a column of an existing name takes its place, others are appended."""
    expressions = parse(given, named)
    table = _Table(schema)
    made = [output for expression in expressions for output in table.outputs(expression)]
    replaced = {output.field.name: output for output in made}
    if len(replaced) != len(made):
        raise SchemaError(f"a column is made twice: {', '.join(output.field.name for output in made)}")
    kept = [replaced.pop(field.name, _Output(field, field.name)) for field in schema]
    return table.projection([*kept, *replaced.values()], expressions)


def plan_filter(schema: pa.Schema, given: Iterable[object]) -> tuple[pl.Expr, tuple[str, ...]]:
    """The predicates as one, and the columns that it reads."""
    predicates = parse(given, {})
    if not predicates:
        raise GraphError("give a condition, for example pl.col('delay') > 15")
    table = _Table(schema)
    for predicate in predicates:
        for output in table.outputs(predicate):
            if not pa.types.is_boolean(output.field.type):
                raise SchemaError(f"{predicate} is {output.field.type}, a condition must be boolean: compare it with something")
    single = len(predicates) == 1 and not predicates[0].meta.has_multiple_outputs()
    predicate = predicates[0] if single else pl.all_horizontal(predicates)
    return predicate, table.reads([predicate])


def parse(given: Iterable[object], named: Mapping[str, object]) -> list[pl.Expr]:
    """As polars reads arguments: a string is a column, a named value that is no expression a literal."""
    expressions = []
    for item in given:
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
        raise GraphError("a Python function is no expression: use .map(...), .filter_rows(...) or .map_batches(...)")
    hint = "; write pl.col('a') == 1 instead of 'a' == 1" if isinstance(item, bool) else ""
    raise GraphError(f"{item!r} is no expression: give a column name or a polars expression{hint}")


class _Table:
    """An empty table of the input's schema, to ask polars what expressions would make of it."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._frame = pl.DataFrame([self._series(field) for field in schema]).lazy()

    def outputs(self, expression: pl.Expr) -> list[_Output]:
        """Plain and renamed columns pass through with their own Arrow type; others get polars's, in our layout."""
        made = self._resolve([expression])
        bare = expression.meta.undo_aliases()
        if expression.meta.is_column_selection():
            return [_Output(self._schema.field(name), name) for name in made.names()]
        if bare.meta.is_column() and len(made) == 1:
            source = self._schema.field(bare.meta.output_name())
            return [_Output(source.with_name(made.names()[0]), source.name)]
        return [_Output(pa.field(name, self._arrow_type(name, kind)), None) for name, kind in made.items()]

    def projection(self, outputs: list[_Output], expressions: list[pl.Expr]) -> Projection:
        names = [output.field.name for output in outputs]
        for name in names:
            if names.count(name) > 1:
                raise SchemaError(f"there would be two columns named {name!r}: rename one with .alias(...)")
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
        """What the expressions need, at least one column: a literal must know how many rows there are."""
        expressions = list(expressions)
        names = set(self._schema.names)
        if not any(expression.meta.has_multiple_outputs() for expression in expressions):
            names = {name for expression in expressions for name in expression.meta.root_names()} or {self._cheapest()}
            if not self._same_without_the_rest(expressions, names):
                names = set(self._schema.names)
        check_polars_reads(pa.schema([field for field in self._schema if field.name in names]))
        return tuple(name for name in self._schema.names if name in names)

    def _same_without_the_rest(self, expressions: list[pl.Expr], names: set[str]) -> bool:
        """Asked instead of assumed: reading too much only costs time, reading too little is wrong."""
        try:
            return dict(self._frame.select(sorted(names)).select(expressions).collect_schema()) == dict(
                self._resolve(expressions)
            )
        except pl.exceptions.PolarsError:
            return False

    def _cheapest(self) -> str:
        readable = [field for field in self._schema if polars_reads(field.type)] or list(self._schema)
        return str(next((field for field in readable if pa.types.is_primitive(field.type)), readable[0]).name)

    def _series(self, field: pa.Field) -> pl.Series:
        if polars_reads(field.type):
            return pl.Series(field.name, pl.from_arrow(pa.array([], type=field.type)))
        return pl.Series(field.name, [], dtype=pl.Null)  # may pass through, not be read

    def _resolve(self, expressions: list[pl.Expr]) -> pl.Schema:
        for expression in expressions:
            for name in expression.meta.root_names():
                if name not in self._schema.names and not name.startswith("^"):
                    raise self._no_column(name)
        try:
            return self._frame.select(expressions).collect_schema()
        except pl.exceptions.ColumnNotFoundError as error:
            named = re.search(r'"([^"]+)"', str(error))
            raise self._no_column(named.group(1) if named else str(error)) from error
        except pl.exceptions.PolarsError as error:
            shown = ", ".join(map(str, expressions))
            raise SchemaError(f"{shown} does not fit the columns: {str(error).splitlines()[0]}") from error

    def _no_column(self, name: str) -> SchemaError:
        return SchemaError(f"no column {name!r}{near_miss(name, self._schema.names)}")

    def _arrow_type(self, name: str, kind: Any) -> pa.DataType:
        try:
            made = pl.DataFrame(schema={name: kind}).to_arrow(compat_level=pl.CompatLevel.oldest())
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise SchemaError(f"column {name!r} would be of polars type {kind}, which has no Arrow form: cast it") from error
        return canonical_type(made.schema.field(0).type)
