"""The operators and partitioners of a deployed graph."""

from __future__ import annotations

import pyarrow as pa
import pytest

from weir import Job, sinks, sources
from weir.graph.compile import compile_graph
from weir.subtask.program import JobProgram

CATEGORY = pa.dictionary(pa.int8(), pa.string())


@pytest.mark.parametrize(
    ("kind", "can_join"), [(pa.string(), True), (pa.list_(pa.int64()), True), (CATEGORY, False), (pa.list_(CATEGORY), False)]
)
def test_batches_with_dictionaries_are_not_joined(kind: pa.DataType, can_join: bool) -> None:
    job = Job("categories")
    stream = job.read(sources.iterable([{"n": 1}])).map_batches(lambda batch: batch, schema={"c": kind})
    # The source has two consumers, so it is not fused with them.
    stream.write(sinks.console())
    stream.write(sinks.console(), uid="again")
    logical, code = job.to_graph()
    graph = compile_graph(logical, slots=1)
    program = JobProgram(code, batch_rows=10)
    assert {program.may_join(graph, edge.index) for edge in graph.edges} == {can_join}
