"""Runs a complete job in the current thread. Each operator has one subtask, and the operators run one after the other."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from tests.unit.operators.operator_harness import context

from weir.api.job import Job
from weir.api.stream import Stream
from weir.connectors import sinks, sources
from weir.connectors.iterable_source import IterableSource
from weir.graph.logical import LogicalOperator, OperatorKind
from weir.graph.schema import schema_of
from weir.operators.base import Operator, SourceOperator
from weir.operators.code_bundle import CodeBundle
from weir.operators.factory import build_operator
from weir.protocol.ids import OperatorUid

FLIGHTS = pa.schema([("origin", pa.string()), ("dest", pa.string()), ("delay", pa.int64()), ("distance", pa.float64())])


class NoConnectors:
    def source(self, operator: LogicalOperator) -> SourceOperator:
        raise AssertionError("the runner reads sources itself")

    def sink(self, operator: LogicalOperator, schema: pa.Schema) -> Operator:
        raise AssertionError("the runner collects the input of sinks itself")


def run(job: Job, *, batch_rows: int = 4) -> dict[OperatorUid, list[pa.RecordBatch]]:
    """Run the job and return the batches that each sink receives. Assert that each batch has the schema that the graph
    declares."""
    graph, bundle = job.to_graph()
    inputs = job.sources()
    made: dict[OperatorUid, list[pa.RecordBatch]] = {}
    written: dict[OperatorUid, list[pa.RecordBatch]] = {}
    for logical in graph.operators:
        upstream = [made[one.operator] for one in logical.inputs]
        if logical.kind is OperatorKind.SOURCE:
            source = inputs[logical.uid]
            assert isinstance(source, IterableSource)
            made[logical.uid] = source.table().to_batches(max_chunksize=batch_rows)
        elif logical.kind is OperatorKind.SINK:
            written[logical.uid] = upstream[0]
            continue
        else:
            schemas = [schema_of(graph.operator(one.operator)) for one in logical.inputs]
            operator = build_operator(logical, schemas, unpickled(bundle, logical), NoConnectors())
            assert isinstance(operator, Operator)
            operator.open(context(batch_rows))
            made[logical.uid] = [
                result
                for index, batches in enumerate(upstream)
                for batch in batches
                for result in operator.process(batch, index)
                if result is not None
            ]
            operator.close()
        for batch in made[logical.uid]:
            assert batch.schema.equals(schema_of(logical)), f"{logical.uid}: {batch.schema} instead of {schema_of(logical)}"
            assert batch.num_rows > 0
    return written


def unpickled(bundle: CodeBundle, logical: LogicalOperator) -> CodeBundle:
    """Return the code bundle as a slot receives it, with expressions that were pickled and unpickled."""
    if logical.kind in (OperatorKind.SELECT, OperatorKind.WITH_COLUMNS, OperatorKind.FILTER):
        return CodeBundle({reference: pickle.loads(pickle.dumps(bundle.get(reference))) for reference in bundle})
    return bundle


def flights(rows: list[dict[str, Any]], schema: pa.Schema = FLIGHTS) -> tuple[Job, Stream]:
    job = Job("flights")
    return job, job.read(sources.iterable(rows, schema), uid="flights")


def result(rows: list[dict[str, Any]], build: Callable[[Stream], Stream], *, schema: pa.Schema = FLIGHTS) -> list[dict[str, Any]]:
    """Run a job that reads ``rows`` and applies ``build`` to the stream, and return its output rows."""
    job, stream = flights(rows, schema)
    build(stream).write(sinks.console(), uid="out")
    return [row for batch in run(job)[OperatorUid("out")] for row in batch.to_pylist()]


def flight(
    origin: str | None = "JFK", dest: str | None = "SFO", delay: int | None = 0, distance: float | None = 1.0
) -> dict[str, Any]:
    return {"origin": origin, "dest": dest, "delay": delay, "distance": distance}


def schema(**columns: pa.DataType) -> pa.Schema:
    fields: Mapping[str, pa.DataType] = columns
    return pa.schema(list(fields.items()))
