"""From an operator of the logical graph to the object that does its work in a slot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

import pyarrow as pa

from weir.errors import GraphError
from weir.graph.checks import label
from weir.graph.logical import LogicalOperator, OperatorKind
from weir.graph.schema import schema_of
from weir.operators.aggregate_config import AggregateConfig
from weir.operators.base import Operator, SourceOperator
from weir.operators.batches import BatchForm, MapBatchesOperator
from weir.operators.bundle import CodeBundle
from weir.operators.expressions import FilterOperator, OutputColumn, ProjectOperator
from weir.operators.rowwise import FilterRowsOperator, FlatMapOperator, MapOperator
from weir.operators.union import UnionOperator
from weir.protocol.codec import from_json
from weir.protocol.snapshots import JsonValue


class ConnectorPort(Protocol):
    """Sources and sinks belong to a higher layer; whoever builds operators brings it along."""

    def source(self, operator: LogicalOperator) -> SourceOperator:
        """``operator.config`` is what ``Source.describe`` returned."""
        ...

    def sink(self, operator: LogicalOperator, schema: pa.Schema) -> Operator:
        """``operator.config`` is what ``Sink.describe`` returned, ``schema`` what the sink is given."""
        ...


def build_operator(
    operator: LogicalOperator, input_schemas: Sequence[pa.Schema], bundle: CodeBundle, connectors: ConnectorPort
) -> Operator | SourceOperator:
    """Not yet opened. ``input_schemas``: of its inputs, in order (none for a source). Raises GraphError."""
    where = label(operator)
    schema = schema_of(operator)
    config = operator.config if isinstance(operator.config, dict) else {}
    match operator.kind:
        case OperatorKind.SOURCE:
            return connectors.source(operator)
        case OperatorKind.SINK:
            return connectors.sink(operator, input_schemas[0])
        case OperatorKind.MAP:
            return MapOperator(_function(operator, bundle), schema, where)
        case OperatorKind.FLAT_MAP:
            return FlatMapOperator(_function(operator, bundle), schema, where)
        case OperatorKind.FILTER_ROWS:
            return FilterRowsOperator(_function(operator, bundle), where)
        case OperatorKind.MAP_BATCHES:
            form, blocking = BatchForm(str(config.get("form", BatchForm.ARROW))), bool(config.get("blocking", False))
            return MapBatchesOperator(_function(operator, bundle), schema, where, form=form, blocking=blocking)
        case OperatorKind.SELECT | OperatorKind.WITH_COLUMNS:
            columns = [
                OutputColumn(str(name), None if source is None else str(source)) for name, source in _pairs(operator, config)
            ]
            expressions = cast("tuple[Any, ...]", bundle.get(operator.code)) if operator.code else ()
            return ProjectOperator(columns, expressions, reads=_names(operator, config), schema=schema, where=where)
        case OperatorKind.FILTER:
            (predicate,) = cast("tuple[Any, ...]", bundle.get(operator.code))
            return FilterOperator(predicate, reads=_names(operator, config), where=where)
        case OperatorKind.UNION:
            return UnionOperator(schema)
        case OperatorKind.AGGREGATE:
            # Imported here: it brings the compiled kernels along, which a slot without state need not load.
            from weir.operators.aggregate import AggregateOperator

            keyed = from_json(AggregateConfig, config)
            return AggregateOperator(keyed.key, keyed.aggregates, input_schemas[0], keyed.emit)


def _function(operator: LogicalOperator, bundle: CodeBundle) -> Callable[[Any], Any]:
    function = bundle.get(operator.code)
    if not callable(function):
        raise GraphError(f"{label(operator)}: its code {operator.code!r} is no function")
    return function


def _pairs(operator: LogicalOperator, config: dict[str, JsonValue]) -> list[tuple[JsonValue, JsonValue]]:
    columns = config.get("columns")
    if isinstance(columns, list):
        pairs = [(pair[0], pair[1]) for pair in columns if isinstance(pair, list) and len(pair) == 2]
        if len(pairs) == len(columns):
            return pairs
    raise GraphError(f"{label(operator)}: its configuration has no list of columns")


def _names(operator: LogicalOperator, config: dict[str, JsonValue]) -> list[str]:
    reads = config.get("reads")
    if not isinstance(reads, list):
        raise GraphError(f"{label(operator)}: its configuration does not say which columns it reads")
    return [str(name) for name in reads]
