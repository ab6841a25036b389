"""Builds the operators of a slot from the operators of the logical graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import pyarrow as pa

from weir.errors import GraphError
from weir.graph.logical import LogicalOperator, OperatorKind
from weir.graph.schema import schema_of
from weir.operators.base import Operator, SourceOperator
from weir.operators.code_bundle import CodeBundle
from weir.operators.expressions import FilterOperator, OutputColumn, ProjectOperator
from weir.operators.map_batches import BatchForm, MapBatchesOperator
from weir.operators.row_operators import FilterRowsOperator, FlatMapOperator, MapOperator
from weir.operators.union import UnionOperator
from weir.protocol.codec import from_json
from weir.protocol.snapshots import JsonValue
from weir.state.backend import AggregateConfig


class ConnectorPort(Protocol):
    """Builds the operators of sources and sinks. Connectors belong to a higher layer than operators, so the caller of
    ``build_operator`` provides an implementation of ConnectorPort."""

    def source(self, operator: LogicalOperator) -> SourceOperator:
        """Build a source. ``operator.config`` is the result of ``Source.describe``."""
        ...

    def sink(self, operator: LogicalOperator, schema: pa.Schema) -> Operator:
        """Build a sink. ``operator.config`` is the result of ``Sink.describe``. ``schema`` is the schema of the sink's input."""
        ...


@dataclass(frozen=True, slots=True)
class _Definition:
    """An operator of the graph with everything that its constructor needs."""

    operator: LogicalOperator
    input_schemas: Sequence[pa.Schema]
    bundle: CodeBundle
    connectors: ConnectorPort

    @property
    def label(self) -> str:
        return self.operator.label

    @property
    def schema(self) -> pa.Schema:
        return schema_of(self.operator)

    @property
    def config(self) -> dict[str, JsonValue]:
        return self.operator.config if isinstance(self.operator.config, dict) else {}

    def function(self) -> Callable[[Any], Any]:
        function = self.bundle.get(self.operator.code)
        if not callable(function):
            raise GraphError(f"{self.label}: the code {self.operator.code!r} of the operator is not a function.")
        return function

    def expressions(self) -> tuple[Any, ...]:
        return cast("tuple[Any, ...]", self.bundle.get(self.operator.code)) if self.operator.code else ()

    def output_columns(self) -> list[OutputColumn]:
        columns = self.config.get("columns")
        if isinstance(columns, list):
            pairs = [(pair[0], pair[1]) for pair in columns if isinstance(pair, list) and len(pair) == 2]
            if len(pairs) == len(columns):
                return [OutputColumn(str(name), None if source is None else str(source)) for name, source in pairs]
        raise GraphError(f"{self.label}: the configuration of the operator has no list of columns.")

    def columns_read(self) -> list[str]:
        reads = self.config.get("reads")
        if not isinstance(reads, list):
            raise GraphError(f"{self.label}: the configuration does not list the columns that the operator reads.")
        return [str(name) for name in reads]


def _map_batches(of: _Definition) -> Operator:
    form, blocking = BatchForm(str(of.config.get("form", BatchForm.ARROW))), bool(of.config.get("blocking", False))
    return MapBatchesOperator(of.function(), of.schema, of.label, form=form, blocking=blocking)


def _project(of: _Definition) -> Operator:
    return ProjectOperator(of.output_columns(), of.expressions(), reads=of.columns_read(), schema=of.schema, where=of.label)


def _filter(of: _Definition) -> Operator:
    (predicate,) = of.expressions()
    return FilterOperator(predicate, reads=of.columns_read(), where=of.label)


def _aggregate(of: _Definition) -> Operator:
    # Import lazily, because importing ``weir.operators.aggregate`` loads the compiled kernels of keyed state. A slot without
    # keyed state does not need these kernels.
    from weir.operators.aggregate import AggregateOperator

    config = from_json(AggregateConfig, of.config)
    return AggregateOperator(config.key, config.aggregates, of.input_schemas[0], config.emit)


CONSTRUCTORS: dict[OperatorKind, Callable[[_Definition], Operator | SourceOperator]] = {
    OperatorKind.SOURCE: lambda of: of.connectors.source(of.operator),
    OperatorKind.SINK: lambda of: of.connectors.sink(of.operator, of.input_schemas[0]),
    OperatorKind.MAP: lambda of: MapOperator(of.function(), of.schema, of.label),
    OperatorKind.FLAT_MAP: lambda of: FlatMapOperator(of.function(), of.schema, of.label),
    OperatorKind.FILTER_ROWS: lambda of: FilterRowsOperator(of.function(), of.label),
    OperatorKind.MAP_BATCHES: _map_batches,
    OperatorKind.SELECT: _project,
    OperatorKind.WITH_COLUMNS: _project,
    OperatorKind.FILTER: _filter,
    OperatorKind.UNION: lambda of: UnionOperator(of.schema),
    OperatorKind.AGGREGATE: _aggregate,
}
"""Maps each kind of operator to the function that constructs the operator. ``weir.graph.operator_kinds`` contains the other
properties of each kind."""


def build_operator(
    operator: LogicalOperator, input_schemas: Sequence[pa.Schema], bundle: CodeBundle, connectors: ConnectorPort
) -> Operator | SourceOperator:
    """Construct an operator without opening it. ``input_schemas`` contains one schema per input, in the order of the inputs.
    Raises GraphError."""
    return CONSTRUCTORS[operator.kind](_Definition(operator, input_schemas, bundle, connectors))
