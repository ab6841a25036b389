"""Compiling logical graphs: chains, edges, key groups and errors."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.graph.graph_builders import counts, dealt, graph, hashed, operator, row_map, sink, source, word_count

from weir.errors import GraphError, SchemaError, SlotError
from weir.graph.compile import compile_graph
from weir.graph.logical import LogicalGraph, LogicalOperator, OperatorKind, Partitioning
from weir.graph.physical import PhysicalGraph
from weir.protocol import codec

no_deadline = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def chains(physical: PhysicalGraph) -> list[tuple[str, ...]]:
    return [chain.operators for chain in physical.chains]


def edges(physical: PhysicalGraph) -> list[tuple[int, int, int, str]]:
    return [(edge.source, edge.target, edge.target_input, str(edge.partitioning)) for edge in physical.edges]


def test_a_forward_edge_between_equal_parallelisms_is_fused_into_a_chain() -> None:
    physical = compile_graph(word_count(), slots=2)
    assert chains(physical) == [("lines", "split"), ("count", "out")]
    assert edges(physical) == [(0, 1, 0, "hash")]
    assert physical.edges[0].key == ("word",)
    assert physical.chains[0].parallelism == 2


@pytest.mark.parametrize("partitioning", [Partitioning.REBALANCE, Partitioning.BROADCAST, Partitioning.GLOBAL])
def test_only_forward_edges_are_fused_into_chains(partitioning: Partitioning) -> None:
    physical = compile_graph(graph(source("a"), sink("b", dealt("a", partitioning))), slots=2)
    assert chains(physical) == [("a",), ("b",)]
    assert edges(physical) == [(0, 1, 0, str(partitioning))]


def test_a_forward_edge_between_different_parallelisms_becomes_a_rebalance_edge() -> None:
    physical = compile_graph(graph(source("a", parallelism=1), row_map("b", "a"), sink("c", "b")), slots=3)
    assert chains(physical) == [("a",), ("b", "c")]
    assert edges(physical) == [(0, 1, 0, "rebalance")]
    assert [chain.parallelism for chain in physical.chains] == [1, 3]


def test_a_chain_ends_at_an_operator_with_two_consumers() -> None:
    physical = compile_graph(graph(source("a"), row_map("b", "a"), sink("c", "b"), row_map("d", "b"), sink("e", "d")), slots=1)
    assert chains(physical) == [("a", "b"), ("c",), ("d", "e")]
    assert edges(physical) == [(0, 1, 0, "forward"), (0, 2, 0, "forward")]


def test_a_union_starts_a_chain_and_has_numbered_inputs() -> None:
    physical = compile_graph(
        graph(source("a"), source("b"), row_map("c", "b"), operator("u", OperatorKind.UNION, "a", "c"), sink("d", "u")), slots=2
    )
    assert chains(physical) == [("a",), ("b", "c"), ("u", "d")]
    assert edges(physical) == [(0, 2, 0, "forward"), (1, 2, 1, "forward")]


def test_a_graph_can_have_several_edges_between_the_same_two_operators() -> None:
    diamond = graph(
        source("a"),
        row_map("left", "a"),
        row_map("right", "a"),
        operator("u", OperatorKind.UNION, "left", "right"),
        sink("s", "u"),
    )
    assert edges(compile_graph(diamond, slots=1)) == [
        (0, 1, 0, "forward"),
        (0, 2, 0, "forward"),
        (1, 3, 0, "forward"),
        (2, 3, 1, "forward"),
    ]
    twice = graph(source("a"), operator("u", OperatorKind.UNION, "a", "a"), sink("s", "u"))
    assert edges(compile_graph(twice, slots=1)) == [(0, 1, 0, "forward"), (0, 1, 1, "forward")]


def test_a_graph_can_have_several_independent_pipelines() -> None:
    physical = compile_graph(graph(source("a"), sink("b", "a"), source("c"), sink("d", "c")), slots=2)
    assert chains(physical) == [("a", "b"), ("c", "d")]
    assert physical.edges == ()


def test_an_operator_without_a_parallelism_has_the_parallelism_of_the_job() -> None:
    physical = compile_graph(graph(source("a", parallelism=3), counts("n", "a", "word"), sink("s", "n")), slots=4, parallelism=2)
    assert [chain.parallelism for chain in physical.chains] == [3, 2]


def test_the_error_for_too_few_slots_names_the_operator_and_its_parallelism() -> None:
    with pytest.raises(SlotError, match=r"source 'a' \(at job.py:1\) has parallelism 4, but there are only 2 slots"):
        compile_graph(graph(source("a", parallelism=4), sink("b", "a")), slots=2)
    with pytest.raises(SlotError, match="has parallelism 3, but there are only 2 slots"):
        compile_graph(word_count(), slots=2, parallelism=3)


def test_the_number_of_key_groups_in_a_checkpoint_takes_precedence_over_settings() -> None:
    logical = graph(source("a"), counts("n", "a", "word", max_parallelism=300), sink("s", "n"))
    assert compile_graph(logical, slots=2).max_parallelism == {"a": 128, "n": 300, "s": 128}
    assert compile_graph(logical, slots=2, fixed_max_parallelism={"n": 512}).max_parallelism["n"] == 512


def test_the_error_for_a_parallelism_above_the_number_of_key_groups_names_the_operator() -> None:
    logical = graph(source("a"), counts("n", "a", "word", max_parallelism=2), sink("s", "n"))
    with pytest.raises(
        GraphError, match=r"aggregate 'n' .* has parallelism 3, but its max parallelism is 2 \(set for the operator\)"
    ):
        compile_graph(logical, slots=3)
    with pytest.raises(GraphError, match=r"source 'lines' .* max parallelism is 2 \(fixed by the job's first checkpoint\)"):
        compile_graph(word_count(), slots=3, fixed_max_parallelism={"lines": 2})
    with pytest.raises(GraphError, match="max parallelism 40000 is invalid"):
        compile_graph(graph(source("a", max_parallelism=40_000), sink("s", "a")), slots=1)


@pytest.mark.parametrize(
    ("logical", "error", "message"),
    [
        (graph(source("a")), GraphError, "job 'words' writes nothing"),
        (graph(source("a"), source("b"), sink("c", "b")), GraphError, "output of source 'a' .* has no reader"),
        (graph(source("a"), row_map("a", "a"), sink("c", "a")), GraphError, "map 'a' .* has the uid of source 'a'"),
        (graph(source("a"), sink("c", "b")), GraphError, "sink 'c' .* reads an operator 'b' that is not in the graph"),
        (graph(source("a"), sink("b", "a"), sink("c", "b")), GraphError, "reads sink 'b' .* a sink has no output"),
        (graph(row_map("m", "n"), row_map("n", "m"), sink("c", "n")), GraphError, "has a cycle"),
        (graph(source("a"), row_map("m"), sink("c", "a")), GraphError, "map 'm' .* has 0 inputs, but a map has one input"),
        (graph(source("a"), operator("u", OperatorKind.UNION, "a"), sink("c", "u")), GraphError, "at least two inputs"),
        (graph(source("a"), counts("n", "a", "wrod"), sink("c", "n")), SchemaError, "no column 'wrod'; did you mean 'word'?"),
        (graph(source("a"), operator("n", OperatorKind.AGGREGATE, "a"), sink("c", "n")), GraphError, "put .key_by"),
        (graph(source("a"), sink("c", hashed("a"))), GraphError, "a hash edge must have key columns"),
        (graph(source("a", parallelism=0), sink("c", "a")), GraphError, "has parallelism 0"),
    ],
)
def test_the_error_for_a_graph_that_cannot_run_names_the_operator(
    logical: LogicalGraph, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        compile_graph(logical, slots=2)


@pytest.mark.parametrize(
    ("columns", "difference"),
    [
        (("length",), "does not have 'word'"),
        (("word", "length", "count"), "also has 'count'"),
        (("words", "length"), "does not have 'word' but has 'words'"),
        (("length", "word"), "has the order length, word instead of word, length"),
    ],
)
def test_the_error_for_a_union_of_different_columns_names_the_columns_that_differ(
    columns: tuple[str, ...], difference: str
) -> None:
    other = source("b", schema=pa.schema([(name, pa.string()) for name in columns]))
    with pytest.raises(SchemaError, match=f"but source 'b' .* {difference}$"):
        compile_graph(graph(source("a"), other, operator("u", OperatorKind.UNION, "a", "b"), sink("c", "u")), slots=2)


@st.composite
def logical_graphs(draw: st.DrawFn) -> LogicalGraph:
    """Draw an acyclic graph of sources, row maps, unions and aggregates. Each unused output gets a sink."""
    operators: list[LogicalOperator] = [source("o0", parallelism=draw(st.sampled_from([None, 1, 2, 3])))]
    for number in range(1, draw(st.integers(1, 12))):
        uid, upstream = f"o{number}", st.sampled_from([one.uid for one in operators])
        parallelism = draw(st.sampled_from([None, 1, 2, 3]))
        match draw(st.sampled_from(["source", "map", "map", "union", "aggregate", "rebalance"])):
            case "source":
                operators.append(source(uid, parallelism=parallelism))
            case "map":
                operators.append(row_map(uid, draw(upstream), parallelism=parallelism))
            case "union":
                operators.append(operator(uid, OperatorKind.UNION, draw(upstream), draw(upstream), parallelism=parallelism))
            case "aggregate":
                operators.append(counts(uid, draw(upstream), "word", parallelism=parallelism))
            case _:
                operators.append(row_map(uid, dealt(draw(upstream), Partitioning.REBALANCE), parallelism=parallelism))
    read = {one.operator for each in operators for one in each.inputs}
    sinks = [sink(f"s-{one.uid}", one.uid) for one in operators if one.uid not in read]
    return graph(*operators, *sinks)


@no_deadline
@given(logical_graphs())
def test_every_valid_graph_compiles_to_consistent_chains_and_channels(logical: LogicalGraph) -> None:
    physical = compile_graph(logical, slots=3)
    placed = [uid for chain in physical.chains for uid in chain.operators]
    assert sorted(placed) == sorted(one.uid for one in logical.operators)
    assert [chain.index for chain in physical.chains] == list(range(len(physical.chains)))
    assert [edge.index for edge in physical.edges] == list(range(len(physical.edges)))
    inside = 0
    for chain in physical.chains:
        assert 1 <= chain.parallelism <= 3
        for uid, follower in zip(chain.operators, chain.operators[1:], strict=False):
            (link,) = logical.operator(follower).inputs
            assert (link.operator, link.partitioning) == (uid, Partitioning.FORWARD)
            assert sum(one.operator == uid for each in logical.operators for one in each.inputs) == 1
            inside += 1
    for edge in physical.edges:
        assert edge.source < edge.target
        assert edge.partitioning is not Partitioning.FORWARD or (
            physical.chains[edge.source].parallelism == physical.chains[edge.target].parallelism
        )
        head = logical.operator(physical.chains[edge.target].operators[0])
        assert head.inputs[edge.target_input].operator == physical.chains[edge.source].operators[-1]
    assert inside + len(physical.edges) == sum(len(one.inputs) for one in logical.operators)
    sent = [channel for subtask in physical.subtasks() for channel in physical.outputs_of(subtask)]
    received = [channel for subtask in physical.subtasks() for channel in physical.inputs_of(subtask)]
    assert sorted(sent) == sorted(received)
    assert len(set(sent)) == len(sent)


@no_deadline
@given(logical_graphs())
def test_a_compiled_graph_round_trips_through_json(logical: LogicalGraph) -> None:
    physical = compile_graph(logical, slots=3)
    assert codec.loads(PhysicalGraph, codec.dumps(physical)) == physical
