"""The physical graph: chains of fused operators, their parallelism, and the channels between subtasks. Plain data.

Subtask i of every chain lives in slot i, so a chain's parallelism is at most the number of slots.
Chains and edges are numbered in topological order: a chain's index is larger than those of all its
upstream chains (feedback edges apart).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from weir.graph.logical import LogicalGraph, LogicalOperator, Partitioning
from weir.protocol.ids import ChannelId, OperatorUid, SubtaskId


@dataclass(frozen=True, slots=True)
class Chain:
    """Operators that run in one subtask, first to last. The first may be a source, the last a sink.

    Only the first operator can have several inputs, and only the last one's output leaves the chain.
    """

    index: int
    operators: tuple[OperatorUid, ...]
    parallelism: int


@dataclass(frozen=True, slots=True)
class Edge:
    index: int
    source: int
    """Chain whose last operator sends."""
    target: int
    """Chain whose first operator receives."""
    target_input: int
    """Which of the target operator's inputs it is."""
    partitioning: Partitioning
    key: tuple[str, ...] = ()
    feedback: bool = False


@dataclass(frozen=True, slots=True)
class PhysicalGraph:
    logical: LogicalGraph
    slots: int
    chains: tuple[Chain, ...]
    edges: tuple[Edge, ...]
    max_parallelism: dict[str, int]
    """Per operator uid; fixed in the first manifest and from then on taken from there."""

    def subtasks(self) -> Iterator[SubtaskId]:
        for chain in self.chains:
            for index in range(chain.parallelism):
                yield SubtaskId(chain.index, index)

    def subtasks_of_slot(self, slot: int) -> Iterator[SubtaskId]:
        return (subtask for subtask in self.subtasks() if subtask.index == slot)

    def channels_of_edge(self, edge: Edge) -> Iterator[ChannelId]:
        """FORWARD: i to i (both ends have the same parallelism). Anything else: all to all."""
        targets = self.chains[edge.target].parallelism
        for source in range(self.chains[edge.source].parallelism):
            if edge.partitioning is Partitioning.FORWARD:
                yield ChannelId(edge.index, source, source)
            else:
                for target in range(targets):
                    yield ChannelId(edge.index, source, target)

    def inputs_of(self, subtask: SubtaskId) -> tuple[ChannelId, ...]:
        return tuple(
            channel
            for edge in self.edges
            if edge.target == subtask.chain
            for channel in self.channels_of_edge(edge)
            if channel.target == subtask.index
        )

    def outputs_of(self, subtask: SubtaskId) -> tuple[ChannelId, ...]:
        return tuple(
            channel
            for edge in self.edges
            if edge.source == subtask.chain
            for channel in self.channels_of_edge(edge)
            if channel.source == subtask.index
        )

    def operator(self, uid: OperatorUid) -> LogicalOperator:
        return self.logical.operator(uid)

    def chain_of(self, uid: OperatorUid) -> Chain:
        for chain in self.chains:
            if uid in chain.operators:
                return chain
        raise KeyError(uid)
