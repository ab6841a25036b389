"""The operators and connectors of a deployed graph, built from the code bundle and the connectors' descriptions."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from weir.connectors.generated import columns
from weir.connectors.registry import sink_from, source_from
from weir.connectors.sink_operator import SinkOperator
from weir.errors import ConfigError
from weir.graph.logical import LogicalOperator
from weir.graph.physical import Edge, PhysicalGraph
from weir.graph.schema import schema_of
from weir.operators.base import Operator, SourceOperator
from weir.operators.batch_slicing import slice_by_bytes
from weir.operators.code_bundle import CodeBundle
from weir.operators.factory import build_operator
from weir.operators.kernel_warmup import warm_up_kernels
from weir.operators.packed_batch import PackedBatch, unpack
from weir.operators.partitioners import make_partitioner
from weir.protocol.ids import SubtaskId
from weir.subtask.environment import BatchPartitioner
from weir.subtask.heartbeats import warm_up_heartbeats
from weir.transport.framing import holds_dictionary

_ROWS = 16


class Connectors:
    """The ConnectorPort of a slot, which builds readers and writers from the output of the connectors' ``describe``."""

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
            schemas = [schema_of(graph.operator(upstream.operator)) for upstream in operator.inputs]
            result.append(build_operator(operator, schemas, self._bundle, self._connectors))
        return result

    def partitioner(self, graph: PhysicalGraph, edge: Edge, source_index: int, rows_sent: int) -> BatchPartitioner:
        target = graph.chains[edge.target]
        partitioner: BatchPartitioner = make_partitioner(
            edge.partitioning,
            edge_schema(graph, edge.index),
            edge.key,
            target.parallelism,
            graph.max_parallelism[target.operators[0]],
            source_index,
            self._batch_rows,
            rows_sent,
        )
        return partitioner

    def may_join(self, graph: PhysicalGraph, edge: int) -> bool:
        """Return False if a column contains a dictionary type. Each batch has its own dictionary, and the joined dictionary can
        exceed the range of the index type."""
        return not any(holds_dictionary(column.type) for column in edge_schema(graph, edge))

    def join(self, batches: Sequence[pa.RecordBatch | PackedBatch]) -> pa.RecordBatch:
        packed = [batch for batch in batches if isinstance(batch, PackedBatch)]
        if len(packed) == len(batches):
            return unpack(packed)
        if len(batches) == 1:
            return batches[0]
        return pa.concat_batches([unpack((batch,)) if isinstance(batch, PackedBatch) else batch for batch in batches])

    def slice_batch(self, batch: pa.RecordBatch | PackedBatch, bytes_max: int) -> Iterable[pa.RecordBatch | PackedBatch]:
        return batch.parts(bytes_max) if isinstance(batch, PackedBatch) else slice_by_bytes(batch, bytes_max)


def edge_schema(graph: PhysicalGraph, edge: int) -> pa.Schema:
    """Return the schema of an edge's batches. Raise KeyError for an unknown edge."""
    if not 0 <= edge < len(graph.edges):
        raise KeyError(edge)
    return schema_of(graph.operator(graph.chains[graph.edges[edge].source].operators[-1]))


def load_code(code: Mapping[str, bytes], host: str) -> CodeBundle:
    """Unpickle the job's functions. ``code`` is ``SlotBootstrap.code``, which comes with the Spark task and never through one
    of Weir's sockets.

    Raise ConfigError for a module that this host does not have.
    """
    return CodeBundle({reference: _unpickle(reference, data, host) for reference, data in code.items()})


def _unpickle(reference: str, data: bytes, host: str) -> object:
    try:
        return pickle.loads(data)  # noqa: S301  # comes with the Spark task, never through a socket of Weir
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"{reference}: its code needs the Python module {error.name!r}, which the executor on {host} does not have. "
            "Install the module on all executors, or move the code that the job needs into the job's own file, which Weir "
            "sends to the executors."
        ) from error


def warm_up() -> None:
    """Run all code that is compiled on first use, once. Call ``warm_up`` before a slot registers and before Spark's daemon
    forks.

    Forked processes inherit compiled kernels, so the replacement of a lost slot need not compile them. numba kernels start no
    threads, so they can run before a fork. Polars starts threads, so ``warm_up`` must not use Polars. ``warm_up`` takes about
    ten seconds with an empty cache of compiled kernels, and half a second with a full cache. Later calls in the same process
    take no time.
    """
    warm_up_kernels()
    warm_up_heartbeats()
    _warm_up_generator()


def _warm_up_generator() -> None:
    for name, column in {
        "key": columns.uniform_ints(distinct=_ROWS, sparse=True),
        "value": columns.ints(0, 10),
        "word": columns.zipf_words(),
    }.items():
        columns.column_filler(name, column, 0)(0, 1, _ROWS, 0)
