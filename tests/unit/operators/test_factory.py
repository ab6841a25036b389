"""Building operators from the graph and the code bundle."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from tests.unit.graph.graph_builders import SCHEMA, counts, row_map, sink, source
from tests.unit.operators.operator_harness import process

from weir.errors import GraphError, ProtocolError
from weir.graph.logical import LogicalOperator, OperatorKind
from weir.operators.aggregate import AggregateOperator
from weir.operators.base import Operator, SourceOperator
from weir.operators.code_bundle import CodeBundle
from weir.operators.factory import build_operator
from weir.operators.union import UnionOperator


class Recording:
    """A ConnectorPort that records its calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, object]] = []

    def source(self, operator: LogicalOperator) -> SourceOperator:
        self.calls.append((operator.uid, operator.config))
        return None  # type: ignore[return-value]  # never opened

    def sink(self, operator: LogicalOperator, schema: object) -> Operator:
        self.calls.append((operator.uid, schema))
        return UnionOperator(SCHEMA)


def test_sources_and_sinks_are_created_by_the_connector_port() -> None:
    port = Recording()
    build_operator(source("in"), [], CodeBundle(), port)
    build_operator(sink("out", "in"), [SCHEMA], CodeBundle(), port)
    assert port.calls == [("in", {"kind": "text"}), ("out", SCHEMA)]


def test_an_aggregate_operator_is_built_from_its_configuration() -> None:
    assert isinstance(build_operator(counts("n", "in", "word"), [SCHEMA], CodeBundle(), Recording()), AggregateOperator)
    with pytest.raises(ProtocolError, match="AggregateConfig"):
        build_operator(replace(counts("n", "in", "word"), config={"key": ["word"]}), [SCHEMA], CodeBundle(), Recording())


def test_a_code_reference_that_is_missing_or_not_a_function_is_refused() -> None:
    mapped = replace(row_map("m", "in"), code="code/m")
    with pytest.raises(GraphError, match="no entry 'code/m': graph and code come from different builds"):
        build_operator(mapped, [SCHEMA], CodeBundle(), Recording())
    with pytest.raises(GraphError, match="map 'm' .* the code 'code/m' of the operator is not a function"):
        build_operator(mapped, [SCHEMA], CodeBundle({"code/m": 5}), Recording())
    built = build_operator(mapped, [SCHEMA], CodeBundle({"code/m": lambda row: row}), Recording())
    assert isinstance(built, Operator)
    batch = pa.RecordBatch.from_pylist([{"word": "a", "length": 1}], schema=SCHEMA)
    assert process(built, batch) == [batch]


@pytest.mark.parametrize("config", [None, {}, {"columns": [["a"]], "reads": []}, {"columns": [["a", None]]}])
def test_a_projection_with_an_invalid_configuration_is_refused(config: object) -> None:
    selected = replace(row_map("s", "in"), kind=OperatorKind.SELECT, config=config)  # type: ignore[arg-type]  # JSON values, all of them
    with pytest.raises(GraphError, match="select 's' .*: the configuration"):
        build_operator(selected, [SCHEMA], CodeBundle(), Recording())
