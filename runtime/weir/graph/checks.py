"""What every logical graph must fulfil, wherever it came from. The first violation is a GraphError that names the operator."""

from __future__ import annotations

from weir.errors import GraphError, SchemaError
from weir.graph.logical import FORMAT_VERSION, Input, LogicalGraph, LogicalOperator, OperatorKind, Partitioning
from weir.graph.schema import near_miss
from weir.protocol.ids import OperatorUid


def label(operator: LogicalOperator) -> str:
    """How messages name an operator: kind, uid and the author's line."""
    return f"{operator.kind} {operator.uid!r}" + (f" (at {operator.site})" if operator.site else "")


def check_logical(graph: LogicalGraph) -> None:
    """Raises GraphError, or SchemaError where columns do not fit."""
    if graph.version != FORMAT_VERSION:
        raise GraphError(f"job {graph.job!r}: the graph has format {graph.version}, this version of weir reads {FORMAT_VERSION}")
    if not any(operator.kind is OperatorKind.SINK for operator in graph.operators):
        raise GraphError(f"job {graph.job!r} writes nothing: end a stream with .write(...)")
    known: dict[OperatorUid, LogicalOperator] = {}
    for operator in graph.operators:
        if operator.uid in known:
            raise GraphError(
                f"{label(operator)} has the uid of {label(known[operator.uid])}: "
                "state hangs on uids, so give each operator its own"
            )
        known[operator.uid] = operator
    seen: set[OperatorUid] = set()
    consumed: set[OperatorUid] = set()
    for operator in graph.operators:
        _check_arity(operator)
        for source in operator.inputs:
            upstream = _upstream(operator, source, known)
            if not source.feedback and source.operator not in seen:
                raise GraphError(f"{label(operator)} reads {label(upstream)}, which comes after it: the graph has a cycle")
            _check_key(operator, source, upstream)
            consumed.add(source.operator)
        _check_union(operator, known)
        seen.add(operator.uid)
    for operator in graph.operators:
        if operator.kind is not OperatorKind.SINK and operator.uid not in consumed:
            raise GraphError(f"the output of {label(operator)} goes nowhere: write it, use it or remove it")


def _upstream(operator: LogicalOperator, source: Input, known: dict[OperatorUid, LogicalOperator]) -> LogicalOperator:
    if source.operator not in known:
        raise GraphError(f"{label(operator)} reads an operator {source.operator!r} that is not in the graph")
    upstream = known[source.operator]
    if upstream.kind is OperatorKind.SINK:
        raise GraphError(f"{label(operator)} reads {label(upstream)}: a sink has no output")
    return upstream


def _check_arity(operator: LogicalOperator) -> None:
    if operator.parallelism is not None and operator.parallelism < 1:
        raise GraphError(f"{label(operator)} has parallelism {operator.parallelism}: it must be at least 1")
    inputs = len(operator.inputs)
    match operator.kind:
        case OperatorKind.SOURCE:
            fits, wanted = inputs == 0, "no input"
        case OperatorKind.UNION:
            fits, wanted = inputs >= 2, "at least two inputs"
        case _:
            fits, wanted = inputs == 1, "one input"
    if not fits:
        raise GraphError(f"{label(operator)} has {inputs} inputs, but a {operator.kind} has {wanted}")


def _check_key(operator: LogicalOperator, source: Input, upstream: LogicalOperator) -> None:
    hashed = source.partitioning is Partitioning.HASH
    if hashed != bool(source.key):
        raise GraphError(f"{label(operator)}: a hash edge needs key columns, and no other edge has any")
    if operator.kind is OperatorKind.AGGREGATE and not hashed:
        raise GraphError(
            f"{label(operator)} keeps state by key, but its input is not partitioned by key: put .key_by(...) before it"
        )
    names = [column.name for column in upstream.columns]
    for name in source.key:
        if name not in names:
            raise SchemaError(f"{label(operator)}: {label(upstream)} has no column {name!r}{near_miss(name, names)}")


def _check_union(operator: LogicalOperator, known: dict[OperatorUid, LogicalOperator]) -> None:
    if operator.kind is not OperatorKind.UNION:
        return
    names = tuple(column.name for column in operator.columns)
    for source in operator.inputs:
        upstream = known[source.operator]
        if tuple(column.name for column in upstream.columns) != names:
            raise SchemaError(
                f"{label(operator)}: its inputs have different columns ({label(upstream)} does not have {', '.join(names)})"
            )
