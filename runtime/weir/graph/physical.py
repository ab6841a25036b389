"""The physical graph: chains of fused operators, their parallelism, and the channels between subtasks. Plain data.

Slot i runs subtask i of every chain, so the parallelism of a chain is at most the number of slots.
Chains and edges are numbered in topological order: the index of a chain is larger than the indices of its
upstream chains, ignoring feedback edges.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from weir.graph.logical import LogicalGraph, LogicalOperator, Partitioning
from weir.protocol.ids import ChannelId, OperatorUid, SubtaskId


@dataclass(frozen=True, slots=True)
class Chain:
    """Operators that run in one subtask, first to last. The first operator can be a source, and the last operator can be a
    sink.

    Only the first operator may have several inputs, and only the last operator sends to other chains.
    """

    index: int
    operators: tuple[OperatorUid, ...]
    parallelism: int


@dataclass(frozen=True, slots=True)
class Edge:
    index: int
    source: int
    """Index of the sending chain."""
    target: int
    """Index of the receiving chain."""
    target_input: int
    """Index of this edge among the inputs of the first operator of the receiving chain."""
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
    """The number of key groups of each operator, by uid. The first manifest of a job fixes these numbers for all later manifests.
    """

    def subtasks(self) -> Iterator[SubtaskId]:
        for chain in self.chains:
            for index in range(chain.parallelism):
                yield SubtaskId(chain.index, index)

    def subtasks_of_slot(self, slot: int) -> Iterator[SubtaskId]:
        return (SubtaskId(chain.index, slot) for chain in self.chains if slot < chain.parallelism)

    def channels_of_edge(self, edge: Edge) -> Iterator[ChannelId]:
        """A FORWARD edge connects subtask i to subtask i, with equal parallelism at both ends.

        Every other edge connects all subtasks to all subtasks.
        """
        for source in range(self.chains[edge.source].parallelism):
            for target in self.targets_of(edge, source):
                yield ChannelId(edge.index, source, target)

    def targets_of(self, edge: Edge, source: int) -> range:
        """Return the indices of the subtasks to which subtask ``source`` sends on ``edge``."""
        if edge.partitioning is Partitioning.FORWARD:
            return range(source, source + 1)
        return range(self.chains[edge.target].parallelism)

    def sources_of(self, edge: Edge, target: int) -> range:
        """Return the indices of the subtasks from which subtask ``target`` receives on ``edge``."""
        if edge.partitioning is Partitioning.FORWARD:
            return range(target, target + 1)
        return range(self.chains[edge.source].parallelism)

    def inputs_of(self, subtask: SubtaskId) -> tuple[ChannelId, ...]:
        return tuple(
            ChannelId(edge.index, source, subtask.index)
            for edge in self.edges
            if edge.target == subtask.chain
            for source in self.sources_of(edge, subtask.index)
        )

    def outputs_of(self, subtask: SubtaskId) -> tuple[ChannelId, ...]:
        return tuple(
            ChannelId(edge.index, subtask.index, target)
            for edge in self.edges
            if edge.source == subtask.chain
            for target in self.targets_of(edge, subtask.index)
        )

    def exchanges(self) -> tuple[Edge, ...]:
        """Return the edges over which slots send records to other slots."""
        return tuple(
            edge
            for edge in self.edges
            if edge.partitioning is not Partitioning.FORWARD
            and max(self.chains[edge.source].parallelism, self.chains[edge.target].parallelism) > 1
        )

    def remote_inputs_max(self) -> int:
        """Return the maximum number of input channels that a slot has from other slots."""

        def remote_inputs(slot: int) -> int:
            count = 0
            for edge in self.edges:
                senders = self.chains[edge.source].parallelism
                if edge.partitioning is not Partitioning.FORWARD and slot < self.chains[edge.target].parallelism:
                    count += senders - (slot < senders)
            return count

        # The number changes only where the parallelism of a chain ends.
        ends = {chain.parallelism for chain in self.chains}
        return max(remote_inputs(slot) for slot in {0, *ends, *(end - 1 for end in ends)} if slot < self.slots)

    def operator(self, uid: OperatorUid) -> LogicalOperator:
        return self.logical.operator(uid)

    def chain_of(self, uid: OperatorUid) -> Chain:
        for chain in self.chains:
            if uid in chain.operators:
                return chain
        raise KeyError(uid)
