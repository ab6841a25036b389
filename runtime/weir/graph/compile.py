"""Compiles a logical graph to a physical graph: parallelism, chains, edges and key groups. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from weir.errors import GraphError, SlotError
from weir.graph.key_groups import MAX_PARALLELISM_MAX, max_parallelism_for
from weir.graph.logical import LogicalGraph, LogicalOperator, Partitioning
from weir.graph.physical import Chain, Edge, PhysicalGraph
from weir.graph.validation import validate_graph
from weir.protocol.ids import OperatorUid


def compile_graph(
    logical: LogicalGraph,
    *,
    slots: int,
    parallelism: int | None = None,
    fixed_max_parallelism: Mapping[str, int] | None = None,
) -> PhysicalGraph:
    """``parallelism`` is the job's default for operators that have no parallelism in the graph. If ``parallelism`` is None, the
    default is one subtask in each slot.

    ``fixed_max_parallelism`` comes from the job's first manifest and overrides the graph. Raises GraphError or
    SchemaError for an invalid graph, and SlotError for a graph that needs more slots.
    """
    validate_graph(logical)
    if slots < 1:
        raise SlotError(f"job {logical.job!r} needs at least one slot, but has {slots}")
    if parallelism is not None and parallelism < 1:
        raise GraphError(f"job {logical.job!r}: parallelism {parallelism} is invalid: it must be at least 1")
    fixed = fixed_max_parallelism or {}
    subtasks: dict[OperatorUid, int] = {}
    max_parallelism: dict[str, int] = {}
    for operator in logical.operators:
        subtasks[operator.uid] = _parallelism(operator, parallelism or slots, slots)
        max_parallelism[operator.uid] = _max_parallelism(operator, subtasks[operator.uid], fixed)
    chains = _chains(logical, subtasks)
    return PhysicalGraph(
        logical=logical,
        slots=slots,
        chains=chains,
        edges=_edges(logical, chains),
        max_parallelism=max_parallelism,
    )


def _parallelism(operator: LogicalOperator, default: int, slots: int) -> int:
    parallelism = operator.parallelism or default
    if parallelism > slots:
        raise SlotError(
            f"{operator.label} has parallelism {parallelism}, but there are only {slots} slots, and each slot runs one of "
            "its subtasks: "
            "add slots or lower the parallelism"
        )
    return parallelism


def _max_parallelism(operator: LogicalOperator, parallelism: int, fixed: Mapping[str, int]) -> int:
    chosen = fixed.get(operator.uid) or operator.max_parallelism or max_parallelism_for(parallelism)
    if not 1 <= chosen <= MAX_PARALLELISM_MAX:
        raise GraphError(f"{operator.label}: max parallelism {chosen} is invalid: it must be 1 to {MAX_PARALLELISM_MAX}")
    if parallelism > chosen:
        why = "fixed by the job's first checkpoint" if operator.uid in fixed else "set for the operator"
        raise GraphError(
            f"{operator.label} has parallelism {parallelism}, but its max parallelism is {chosen} ({why}): "
            f"set a parallelism of {chosen} or less"
        )
    return chosen


def _chains(logical: LogicalGraph, subtasks: Mapping[OperatorUid, int]) -> tuple[Chain, ...]:
    """Fuse an operator into its upstream chain if a forward edge connects them, their parallelism is equal, and the
    upstream operator has no other consumer.

    The operators are in topological order, so chain indices grow downstream.
    """
    consumers = Counter(source.operator for operator in logical.operators for source in operator.inputs)
    chains: list[Chain] = []
    chain_of: dict[OperatorUid, int] = {}
    for operator in logical.operators:
        if len(operator.inputs) == 1:
            (source,) = operator.inputs
            fuses = (
                source.partitioning is Partitioning.FORWARD
                and not source.feedback
                and consumers[source.operator] == 1
                and subtasks[source.operator] == subtasks[operator.uid]
            )
            if fuses:
                index = chain_of[source.operator]
                chains[index] = replace(chains[index], operators=(*chains[index].operators, operator.uid))
                chain_of[operator.uid] = index
                continue
        chain_of[operator.uid] = len(chains)
        chains.append(Chain(len(chains), (operator.uid,), subtasks[operator.uid]))
    return tuple(chains)


def _edges(logical: LogicalGraph, chains: tuple[Chain, ...]) -> tuple[Edge, ...]:
    """Number the edges by target chain, then by input. A forward edge between different parallelisms becomes REBALANCE."""
    chain_of = {uid: chain for chain in chains for uid in chain.operators}
    edges: list[Edge] = []
    for chain in chains:
        head = logical.operator(chain.operators[0])
        for position, source in enumerate(head.inputs):
            upstream = chain_of[source.operator]
            assert upstream.operators[-1] == source.operator, "only the last operator of a chain sends to other chains"
            partitioning = source.partitioning
            if partitioning is Partitioning.FORWARD and upstream.parallelism != chain.parallelism:
                partitioning = Partitioning.REBALANCE
            edges.append(Edge(len(edges), upstream.index, chain.index, position, partitioning, source.key, source.feedback))
    return tuple(edges)
