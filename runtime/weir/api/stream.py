"""Streams of records. Each method of a stream adds an operator to the job, and returns the output stream of this operator."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from copy import copy
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from weir.api.call_site import call_site, error_context
from weir.api.nodes import Node, NodeInput, check_identifier
from weir.api.polars_types import check_polars_supports
from weir.api.schemas import SchemaLike, schema_from
from weir.connectors.base import Sink
from weir.errors import GraphError, SchemaError
from weir.graph.logical import OperatorKind, Partitioning
from weir.graph.schema import canonical_schema, near_miss
from weir.operators.map_batches import BatchForm
from weir.operators.user_code import function_name

if TYPE_CHECKING:
    import polars as pl

    from weir.api.job import Job
    from weir.api.keyed_stream import KeyedStream

RowFunction = Callable[[dict[str, Any]], Any]


class Stream:
    """A stream of records with one schema. If several operators read the same stream, each operator receives all records."""

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
        return f"<Stream of {self._node.where}: {', '.join(f'{field.name} {field.type}' for field in self.schema)}>"

    def options(
        self,
        *,
        uid: str | None = None,
        name: str | None = None,
        parallelism: int | None = None,
        max_parallelism: int | None = None,
    ) -> Stream:
        """Return the stream of the same operator with other options. Methods such as ``select`` interpret all keyword arguments as
        columns, so use ``options`` to set the options of their operators.

        This stream does not change. Continue with the returned stream. If other operators read both streams, the job has two
        operators, and each of them needs its own uid. Raises GraphError for an invalid option."""
        node = copy(self._node)
        set_options(node, uid=uid, name=name, parallelism=parallelism, max_parallelism=max_parallelism)
        self._job._add_variant(node, of=self._node)
        return Stream(self._job, node, self._partitioning)

    # ---- expressions -------------------------------------------------------------------------

    def select(self, /, *columns: str | pl.Expr, **named: pl.Expr | str | int | float | bool | None) -> Stream:
        """Return a stream that has only the given columns. A column is a name or a polars expression."""
        return self._project(OperatorKind.SELECT, columns, named)

    def with_columns(self, /, *columns: pl.Expr, **named: pl.Expr | str | int | float | bool | None) -> Stream:
        """Add or replace columns."""
        return self._project(OperatorKind.WITH_COLUMNS, columns, named)

    def filter(self, *predicates: pl.Expr) -> Stream:
        """Keep the records for which all expressions are true (null is not true)."""
        from weir.api.projection import plan_filter

        node = self._new(OperatorKind.FILTER, self.schema)
        with error_context(node.where):
            predicate, reads = plan_filter(self.schema, predicates)
        node.config = {"expressions": [str(predicate)], "reads": list(reads)}
        node.code = (predicate,)
        return self._add(node)

    def _project(self, kind: OperatorKind, columns: Iterable[object], named: dict[str, Any]) -> Stream:
        from weir.api.projection import plan_select, plan_with_columns

        node = self._new(kind, self.schema)
        with error_context(node.where):
            plan = (plan_select if kind is OperatorKind.SELECT else plan_with_columns)(self.schema, columns, named)
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
        """Apply a function to each batch. The argument of the function is a pyarrow.RecordBatch or a polars.DataFrame. The
        result can also be a pyarrow.Table.

        ``schema`` is the schema of the result, or None if the function does not change the schema. ``form`` selects the type of the
        function's argument: ``arrow`` or ``polars``. If ``form`` is None, the annotation of the function's first parameter selects
        the type. Without a polars annotation, the argument is a pyarrow.RecordBatch. Set ``blocking`` if the function waits for a
        network or a disk, so that the slot's background executor runs the function. Batch boundaries vary between runs, so the
        result must not depend on them.
        """
        node = self._new(OperatorKind.MAP_BATCHES, self.schema)
        with error_context(node.where):
            check_function("map_batches", function)
            node.schema = self.schema if schema is None else schema_from(schema)
            batch_form = _annotated_form(function) if form is None else _parse_form(form)
            if batch_form is BatchForm.POLARS:
                check_polars_supports(self.schema)
        node.config = {"function": function_name(function), "form": str(batch_form), "blocking": blocking}
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
        """Map each row to one row of ``schema``. A row is a dict. A polars expression is about a hundred times faster than a
        Python function."""
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
        """Map each row to any number of rows of ``schema``. A row is a dict. The function returns a list or a generator."""
        return self._row_function(OperatorKind.FLAT_MAP, function, schema, uid=uid, name=name, parallelism=parallelism)

    def filter_rows(
        self,
        function: Callable[[dict[str, Any]], bool],
        *,
        uid: str | None = None,
        name: str | None = None,
        parallelism: int | None = None,
    ) -> Stream:
        """Keep the rows for which the function returns True."""
        return self._row_function(OperatorKind.FILTER_ROWS, function, self.schema, uid=uid, name=name, parallelism=parallelism)

    def _row_function(self, kind: OperatorKind, function: RowFunction, schema: SchemaLike, **options: Any) -> Stream:
        node = self._new(kind, self.schema)
        with error_context(node.where):
            check_function(str(kind), function)
            node.schema = schema_from(schema)
        node.config = {"function": function_name(function)}
        node.code = function
        set_options(node, **options)
        return self._add(node)

    # ---- shape -------------------------------------------------------------------------------

    def key_by(self, *columns: str) -> KeyedStream:
        """Partition by key. All records of a key go to the same subtask. Records from the same upstream subtask stay in order."""
        from weir.api.keyed_stream import KeyedStream

        where = f"key_by at {call_site()}"
        if not columns:
            raise GraphError(f"{where}: name at least one key column.")
        for column in columns:
            if not isinstance(column, str):
                raise GraphError(
                    f"{where}: {column!r} is not a column name. Compute a column with .with_columns(...) and use its name as the key."
                )
            if column not in self.columns:
                raise SchemaError(f"{where}: no column {column!r}{near_miss(column, self.columns)}")
        return KeyedStream(self._job, self._node, tuple(columns))

    def union(self, *others: Stream, uid: str | None = None, name: str | None = None, parallelism: int | None = None) -> Stream:
        """Merge this stream with other streams that have the same columns."""
        node = self._new(OperatorKind.UNION, self.schema)
        streams = (self, *others)
        with error_context(node.where):
            for other in others:
                if not isinstance(other, Stream) or other._job is not self._job:
                    raise GraphError("union needs streams of the same job.")
            if not others:
                raise GraphError("union needs at least one other stream.")
            node.schema = _union_schema(streams)
        node.inputs = tuple(stream._input() for stream in streams)
        set_options(node, uid=uid, name=name, parallelism=parallelism)
        return self._add(node)

    def rebalance(self) -> Stream:
        """Send the records of each subtask to the next operator's subtasks in turn. The order of records is lost."""
        return Stream(self._job, self._node, Partitioning.REBALANCE)

    def write(self, sink: Sink, *, uid: str | None = None, name: str | None = None, parallelism: int | None = None) -> None:
        """Write the stream to a sink.

        A checkpoint refers to the staged output by the uid of the sink. Set ``uid``, because a uid that Weir derives
        can change when the job changes.
        """
        node = self._new(OperatorKind.SINK, self.schema)
        with error_context(node.where):
            if not isinstance(sink, Sink):
                raise GraphError(f"write needs a sink, for example sinks.parquet(path), not {type(sink).__name__}.")
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
    """Set the options of ``node`` for which the caller passes a value. Raises GraphError for an invalid option."""
    with error_context(node.where):
        for option, number in (("parallelism", parallelism), ("max_parallelism", max_parallelism)):
            if number is not None and (not isinstance(number, int) or isinstance(number, bool) or number < 1):
                raise GraphError(f"{option} must be an integer of at least 1, not {number!r}.")
        if name is not None and not name.strip():
            raise GraphError("name must not be empty.")
        node.uid = node.uid if uid is None else check_identifier("uid", uid)
    node.name = node.name if name is None else name
    node.parallelism = node.parallelism if parallelism is None else parallelism
    node.max_parallelism = node.max_parallelism if max_parallelism is None else max_parallelism


def check_function(method: str, function: object) -> None:
    if callable(function) and not isinstance(function, type):
        return
    if type(function).__module__.startswith("polars"):
        raise GraphError(f"{method} needs a Python function. For polars expressions use .filter, .select or .with_columns.")
    raise GraphError(f"{method} needs a function, not {function!r}.")


def _parse_form(form: str) -> BatchForm:
    try:
        return BatchForm(form)
    except ValueError:
        raise GraphError(f"form must be 'arrow' or 'polars', not {form!r}.") from None


def _annotated_form(function: Callable[[Any], Any]) -> BatchForm:
    """Return the batch form that the annotation of the function's first parameter selects. The default is Arrow."""
    try:
        parameters = list(inspect.signature(function, eval_str=True).parameters.values())
        annotation = parameters[0].annotation if parameters else None
    except (TypeError, ValueError, NameError):
        # Functions implemented in C can have no signature. Some annotations name types that are imported only for type checkers.
        annotation = None
    module = getattr(annotation, "__module__", "") or ""
    return BatchForm.POLARS if module.partition(".")[0] == "polars" else BatchForm.ARROW


def _union_schema(streams: Iterable[Stream]) -> pa.Schema:
    """Return the schema of the union of streams. If the schemas differ in their Arrow layouts, the result has canonical types.

    A column of the union is nullable if the column is nullable in any stream.
    """
    first, *others = [stream.schema for stream in streams]
    for other in others:
        if other.names != first.names:
            raise SchemaError(
                f"union needs streams with the same columns in the same order, but one stream has {', '.join(first.names)} "
                f"and another has {', '.join(other.names)}. Align the columns with .select(...)."
            )
        for left, right in zip(canonical_schema(first), canonical_schema(other), strict=True):
            if left.type != right.type:
                raise SchemaError(
                    f"column {left.name!r} is {left.type} in one stream and {right.type} in another. Cast one of the columns."
                )
    if all(other.equals(first) for other in others):
        return first
    fields = [
        field.with_nullable(any(other.field(position).nullable for other in (first, *others)))
        for position, field in enumerate(canonical_schema(first))
    ]
    return pa.schema(fields)
