"""Validation of logical graphs from any origin. The error for the first violation names the operator or the job."""

from __future__ import annotations

from weir.errors import GraphError, SchemaError
from weir.graph.logical import FORMAT_VERSION, Input, LogicalGraph, LogicalOperator, OperatorKind, Partitioning
from weir.graph.operator_kinds import OPERATOR_KINDS
from weir.graph.schema import near_miss
from weir.protocol.ids import OperatorUid


def validate_graph(graph: LogicalGraph) -> None:
    """Raises GraphError, or SchemaError for columns that do not match."""
    if graph.version != FORMAT_VERSION:
        raise GraphError(
            f"job {graph.job!r}: the graph has format {graph.version}, but this version of Weir reads {FORMAT_VERSION}"
        )
    if not any(operator.kind is OperatorKind.SINK for operator in graph.operators):
        raise GraphError(f"job {graph.job!r} writes nothing: end a stream with .write(...)")
    by_uid: dict[OperatorUid, LogicalOperator] = {}
    for operator in graph.operators:
        if operator.uid in by_uid:
            raise GraphError(
                f"{operator.label} has the uid of {by_uid[operator.uid].label}. State belongs to a uid: give each "
                "operator its own uid"
            )
        by_uid[operator.uid] = operator
    visited: set[OperatorUid] = set()
    consumed: set[OperatorUid] = set()
    for operator in graph.operators:
        _check_inputs(operator)
        for source in operator.inputs:
            upstream = _upstream(operator, source, by_uid)
            if not source.feedback and source.operator not in visited:
                raise GraphError(f"{operator.label} reads {upstream.label}, which comes after it: the graph has a cycle")
            _check_key(operator, source, upstream)
            consumed.add(source.operator)
        _check_union(operator, by_uid)
        visited.add(operator.uid)
    for operator in graph.operators:
        if operator.kind is not OperatorKind.SINK and operator.uid not in consumed:
            raise GraphError(f"the output of {operator.label} has no reader: write it, use it or remove it")


def _upstream(operator: LogicalOperator, source: Input, by_uid: dict[OperatorUid, LogicalOperator]) -> LogicalOperator:
    if source.operator not in by_uid:
        raise GraphError(f"{operator.label} reads an operator {source.operator!r} that is not in the graph")
    upstream = by_uid[source.operator]
    if upstream.kind is OperatorKind.SINK:
        raise GraphError(f"{operator.label} reads {upstream.label}: a sink has no output")
    return upstream


def _check_inputs(operator: LogicalOperator) -> None:
    if operator.parallelism is not None and operator.parallelism < 1:
        raise GraphError(f"{operator.label} has parallelism {operator.parallelism}: it must be at least 1")
    properties, count = OPERATOR_KINDS[operator.kind], len(operator.inputs)
    if count < properties.inputs_min or (properties.inputs_max is not None and count > properties.inputs_max):
        raise GraphError(f"{operator.label} has {count} inputs, but a {operator.kind} has {properties.inputs}")


def _check_key(operator: LogicalOperator, source: Input, upstream: LogicalOperator) -> None:
    hashed = source.partitioning is Partitioning.HASH
    if hashed != bool(source.key):
        raise GraphError(f"{operator.label}: a hash edge must have key columns, and other edges must not have any")
    if OPERATOR_KINDS[operator.kind].keyed and not hashed:
        raise GraphError(
            f"{operator.label} keeps state by key, but its input is not partitioned by key: put .key_by(...) before it"
        )
    names = [column.name for column in upstream.columns]
    for name in source.key:
        if name not in names:
            raise SchemaError(f"{operator.label}: {upstream.label} has no column {name!r}{near_miss(name, names)}")


def _check_union(operator: LogicalOperator, by_uid: dict[OperatorUid, LogicalOperator]) -> None:
    if operator.kind is not OperatorKind.UNION:
        return
    expected = [column.name for column in operator.columns]
    for source in operator.inputs:
        upstream = by_uid[source.operator]
        actual = [column.name for column in upstream.columns]
        if actual != expected:
            raise SchemaError(
                f"{operator.label}: its inputs must have the same columns in the same order, but {upstream.label} "
                f"{_column_difference(actual, expected)}"
            )


def _column_difference(actual: list[str], expected: list[str]) -> str:
    missing = ", ".join(repr(name) for name in expected if name not in actual)
    extra = ", ".join(repr(name) for name in actual if name not in expected)
    if missing:
        return f"does not have {missing}" + (f" but has {extra}" if extra else "")
    return f"also has {extra}" if extra else f"has the order {', '.join(actual)} instead of {', '.join(expected)}"
