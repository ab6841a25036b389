"""Streams: each method adds one operator to the job and returns what comes out of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from weir.api.callsite import call_site, naming
from weir.api.nodes import Node, NodeInput, check_identifier
from weir.api.polars_types import check_polars_reads
from weir.api.schemas import SchemaLike, schema_from
from weir.connectors.base import Sink
from weir.errors import GraphError, SchemaError
from weir.graph.logical import OperatorKind, Partitioning
from weir.graph.schema import canonical_schema, near_miss
from weir.operators.batches import BatchForm
from weir.operators.user_code import function_name

if TYPE_CHECKING:
    import polars as pl

    from weir.api.job import Job
    from weir.api.keyed import KeyedStream

RowFunction = Callable[[dict[str, Any]], Any]


class Stream:
    """Records of one schema. Using a stream twice sends its records both ways."""

    def __init__(self, job: Job, node: Node, partitioning: Partitioning = Partitioning.FORWARD) -> None:
        self._job = job
        self._node = node
        self._partitioning = partitioning

    @property
    def schema(self) -> pa.Schema:
        return self._node.schema

    @property
    def columns(self) -> list[str]:
        return list(self._node.schema.names)

    def __repr__(self) -> str:
        return f"<Stream of the {self._node.where}: {', '.join(f'{field.name} {field.type}' for field in self.schema)}>"

    def options(
        self,
        *,
        uid: str | None = None,
        name: str | None = None,
        parallelism: int | None = None,
        max_parallelism: int | None = None,
    ) -> Stream:
        """Set these of the operator that made this stream (for those whose keywords are columns)."""
        set_options(self._node, uid=uid, name=name, parallelism=parallelism, max_parallelism=max_parallelism)
        return self

    # ---- expressions -------------------------------------------------------------------------

    def select(self, *columns: str | pl.Expr, **named: pl.Expr | str | int | float | bool | None) -> Stream:
        """These columns only, by name or by polars expression."""
        return self._project(OperatorKind.SELECT, columns, named)

    def with_columns(self, *columns: pl.Expr, **named: pl.Expr | str | int | float | bool | None) -> Stream:
        """All columns, and these added or replaced."""
        return self._project(OperatorKind.WITH_COLUMNS, columns, named)

    def filter(self, *predicates: pl.Expr) -> Stream:
        """The records for which all of the expressions are true (null is not true)."""
        from weir.api.projection import plan_filter

        node = self._new(OperatorKind.FILTER, self.schema)
        with naming(node.where):
            predicate, reads = plan_filter(self.schema, predicates)
        node.config = {"expressions": [str(predicate)], "reads": list(reads)}
        node.code = (predicate,)
        return self._add(node)

    def _project(self, kind: OperatorKind, given: Iterable[object], named: dict[str, Any]) -> Stream:
        from weir.api.projection import plan_select, plan_with_columns

        node = self._new(kind, self.schema)
        with naming(node.where):
            plan = (plan_select if kind is OperatorKind.SELECT else plan_with_columns)(self.schema, given, named)
        node.schema = plan.schema
        node.config = {
            "columns": [[column.name, column.source] for column in plan.columns],
            "expressions": [str(expression) for expression in plan.expressions] or [column.name for column in plan.columns],
            "reads": list(plan.reads),
        }
        node.code = plan.expressions or None
        return self._add(node)

    # ---- functions ---------------------------------------------------------------------------

    def map_batches(
        self,
        function: Callable[[Any], Any],
        *,
        schema: SchemaLike | None = None,
        form: Literal["arrow", "polars"] | None = None,
        blocking: bool = False,
        uid: str | None = None,
        name: str | None = None,
        parallelism: int | None = None,
    ) -> Stream:
        """A function over a pyarrow.RecordBatch or a polars.DataFrame; it may return either. ``schema`` None: unchanged.

        ``form`` says what it is given; None: as its first parameter is annotated, else Arrow. ``blocking``: it waits for
        the network or a disk, so it runs beside the slot's loop. How records are cut into batches is chance.
        """
        node = self._new(OperatorKind.MAP_BATCHES, self.schema)
        with naming(node.where):
            check_function("map_batches", function)
            node.schema = self.schema if schema is None else schema_from(schema)
            chosen = _form(function) if form is None else _given_form(form)
            if chosen is BatchForm.POLARS:
                check_polars_reads(self.schema)
        node.config = {"function": function_name(function), "form": str(chosen), "blocking": blocking}
        node.code = function
        set_options(node, uid=uid, name=name, parallelism=parallelism)
        return self._add(node)

    def map(
        self,
        function: RowFunction,
        *,
        schema: SchemaLike,
        uid: str | None = None,
        name: str | None = None,
        parallelism: int | None = None,
    ) -> Stream:
        """Each row, a dict, to one row of ``schema``. About a hundred times the cost of an expression."""
        return self._row_function(OperatorKind.MAP, function, schema, uid=uid, name=name, parallelism=parallelism)

    def flat_map(
        self,
        function: RowFunction,
        *,
        schema: SchemaLike,
        uid: str | None = None,
        name: str | None = None,
        parallelism: int | None = None,
    ) -> Stream:
        """Each row, a dict, to any number of rows of ``schema`` (a list, or a generator function)."""
        return self._row_function(OperatorKind.FLAT_MAP, function, schema, uid=uid, name=name, parallelism=parallelism)

    def filter_rows(
        self,
        function: Callable[[dict[str, Any]], bool],
        *,
        uid: str | None = None,
        name: str | None = None,
        parallelism: int | None = None,
    ) -> Stream:
        """The rows for which the function returns True."""
        return self._row_function(OperatorKind.FILTER_ROWS, function, self.schema, uid=uid, name=name, parallelism=parallelism)

    def _row_function(self, kind: OperatorKind, function: RowFunction, schema: SchemaLike, **options: Any) -> Stream:
        node = self._new(kind, self.schema)
        with naming(node.where):
            check_function(str(kind), function)
            node.schema = schema_from(schema)
        node.config = {"function": function_name(function)}
        node.code = function
        set_options(node, **options)
        return self._add(node)

    # ---- shape -------------------------------------------------------------------------------

    def key_by(self, *columns: str) -> KeyedStream:
        """By key, so that one subtask sees all records of a key, in the order of each sender."""
        from weir.api.keyed import KeyedStream

        where = f"key_by at {call_site()}"
        if not columns:
            raise GraphError(f"{where}: name at least one column")
        for column in columns:
            if not isinstance(column, str):
                raise GraphError(f"{where}: {column!r} is no column name; make a column with .with_columns(...) and key by that")
            if column not in self.columns:
                raise SchemaError(f"{where}: no column {column!r}{near_miss(column, self.columns)}")
        return KeyedStream(self._job, self._node, tuple(columns))

    def union(self, *others: Stream, uid: str | None = None, name: str | None = None, parallelism: int | None = None) -> Stream:
        """This stream and others of the same columns as one."""
        node = self._new(OperatorKind.UNION, self.schema)
        streams = (self, *others)
        with naming(node.where):
            for other in others:
                if not isinstance(other, Stream) or other._job is not self._job:
                    raise GraphError("only streams of one job can be united")
            if not others:
                raise GraphError("name at least one other stream")
            node.schema = _united(streams)
        node.inputs = tuple(stream._input() for stream in streams)
        set_options(node, uid=uid, name=name, parallelism=parallelism)
        return self._add(node)

    def rebalance(self) -> Stream:
        """The next operator gets the records dealt out evenly over its subtasks (order between records is lost)."""
        return Stream(self._job, self._node, Partitioning.REBALANCE)

    def write(self, sink: Sink, *, uid: str | None = None, name: str | None = None, parallelism: int | None = None) -> None:
        """The end of a stream. Give a uid: what is staged and not yet committed hangs on it."""
        node = self._new(OperatorKind.SINK, self.schema)
        with naming(node.where):
            if not isinstance(sink, Sink):
                raise GraphError(f"write takes a sink, for example sinks.parquet(path), not {type(sink).__name__}")
            sink.check(self.schema)
        node.name = f"write {sink.kind}"
        node.config = sink.describe
        set_options(node, uid=uid, name=name, parallelism=parallelism)
        self._job._add_sink(node, sink)

    def _input(self) -> NodeInput:
        return NodeInput(self._node, self._partitioning)

    def _new(self, kind: OperatorKind, schema: pa.Schema) -> Node:
        return Node(kind, (self._input(),), schema, str(kind), call_site())

    def _add(self, node: Node) -> Stream:
        self._job._add(node)
        return Stream(self._job, node)


def set_options(
    node: Node,
    *,
    uid: str | None = None,
    name: str | None = None,
    parallelism: int | None = None,
    max_parallelism: int | None = None,
) -> None:
    """None leaves an option as it is. Raises GraphError."""
    with naming(node.where):
        for what, number in (("parallelism", parallelism), ("max_parallelism", max_parallelism)):
            if number is not None and (not isinstance(number, int) or isinstance(number, bool) or number < 1):
                raise GraphError(f"{what} must be a whole number from 1, not {number!r}")
        if name is not None and not name.strip():
            raise GraphError("a name must not be empty")
        node.uid = node.uid if uid is None else check_identifier("a uid", uid)
    node.name = node.name if name is None else name
    node.parallelism = node.parallelism if parallelism is None else parallelism
    node.max_parallelism = node.max_parallelism if max_parallelism is None else max_parallelism


def check_function(verb: str, function: object) -> None:
    if callable(function) and not isinstance(function, type):
        return
    if type(function).__module__.startswith("polars"):
        raise GraphError(f"{verb} takes a Python function; for polars expressions use .filter, .select or .with_columns")
    raise GraphError(f"{verb} takes a function, not {function!r}")


def _given_form(form: str) -> BatchForm:
    try:
        return BatchForm(form)
    except ValueError:
        raise GraphError(f"form must be 'arrow' or 'polars', not {form!r}") from None


def _form(function: Callable[[Any], Any]) -> BatchForm:
    """By the annotation of the first parameter."""
    try:
        parameters = list(inspect.signature(function, eval_str=True).parameters.values())
        annotation = parameters[0].annotation if parameters else None
    except (TypeError, ValueError, NameError):
        # No signature (built in C), or annotations of names that exist for the type checker only.
        annotation = None
    module = getattr(annotation, "__module__", "") or ""
    return BatchForm.POLARS if module.partition(".")[0] == "polars" else BatchForm.ARROW


def _united(streams: Iterable[Stream]) -> pa.Schema:
    """The first one's schema; where layouts differ, in the canonical one; nullable if any is."""
    first, *others = [stream.schema for stream in streams]
    for other in others:
        if other.names != first.names:
            raise SchemaError(
                f"united streams need the same columns in the same order, but one has {', '.join(first.names)} "
                f"and another {', '.join(other.names)}: bring them in line with .select(...)"
            )
        for mine, theirs in zip(canonical_schema(first), canonical_schema(other), strict=True):
            if mine.type != theirs.type:
                raise SchemaError(
                    f"column {mine.name!r} is {mine.type} in one united stream and {theirs.type} in another: cast one"
                )
    if all(other.equals(first) for other in others):
        return first
    fields = [
        field.with_nullable(any(other.field(position).nullable for other in (first, *others)))
        for position, field in enumerate(canonical_schema(first))
    ]
    return pa.schema(fields)
