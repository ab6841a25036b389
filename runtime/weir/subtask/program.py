"""The real parts of a deployed graph: operators from the code bundle, connectors from their descriptions."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from weir.connectors.registry import sink_from, source_from
from weir.connectors.sink_operator import SinkOperator
from weir.graph.logical import LogicalOperator
from weir.graph.physical import Edge, PhysicalGraph
from weir.graph.schema import schema_of
from weir.operators.base import Operator, SourceOperator
from weir.operators.bundle import CodeBundle
from weir.operators.factory import build_operator
from weir.operators.partition import make_partitioner
from weir.protocol.ids import SubtaskId
from weir.subtask.ports import Partitioner
from weir.transport.framing import holds_dictionary


class Connectors:
    """ConnectorPort: what ``describe`` gave becomes a reader or a writer again."""

    def source(self, operator: LogicalOperator) -> SourceOperator:
        return source_from(operator.config).reader()

    def sink(self, operator: LogicalOperator, schema: pa.Schema) -> Operator:
        return SinkOperator(sink_from(operator.config).writer())


class JobProgram:
    def __init__(self, bundle: CodeBundle, *, batch_rows: int) -> None:
        self._bundle = bundle
        self._batch_rows = batch_rows
        self._connectors = Connectors()

    def operators(self, graph: PhysicalGraph, subtask: SubtaskId) -> Sequence[Operator | SourceOperator]:
        result = []
        for uid in graph.chains[subtask.chain].operators:
            operator = graph.operator(uid)
            schemas = [schema_of(graph.operator(one.operator)) for one in operator.inputs]
            result.append(build_operator(operator, schemas, self._bundle, self._connectors))
        return result

    def partitioner(self, graph: PhysicalGraph, edge: Edge, source_index: int) -> Partitioner:
        target = graph.chains[edge.target]
        partitioner: Partitioner = make_partitioner(
            edge.partitioning,
            edge_schema(graph, edge.index),
            edge.key,
            target.parallelism,
            graph.max_parallelism[target.operators[0]],
            source_index,
            self._batch_rows,
        )
        return partitioner

    def may_join(self, graph: PhysicalGraph, edge: int) -> bool:
        """Each batch has dictionaries of its own, and those of several may be too many for the type of their indices."""
        return not any(holds_dictionary(column.type) for column in edge_schema(graph, edge))

    def join(self, batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
        return pa.concat_batches(batches)


def edge_schema(graph: PhysicalGraph, edge: int) -> pa.Schema:
    """Of the batches on an edge. Raises KeyError for an edge that is not there."""
    if not 0 <= edge < len(graph.edges):
        raise KeyError(edge)
    return schema_of(graph.operator(graph.chains[graph.edges[edge].source].operators[-1]))
