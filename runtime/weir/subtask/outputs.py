"""All that leaves a subtask: one partitioner and a set of channels for each edge of its chain's tail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from weir.graph.physical import Edge
from weir.operators.base import Batch
from weir.protocol.frames import FrameKind
from weir.protocol.ids import Generation
from weir.protocol.snapshots import ChannelSnapshot
from weir.subtask.channels import OutputChannel
from weir.subtask.ports import Partitioner


class OutputEdge:
    """``channels``: those of one sending subtask. On a FORWARD edge that is one, whichever subtask it leads to."""

    def __init__(self, edge: Edge, partitioner: Partitioner, channels: Sequence[OutputChannel]) -> None:
        self.edge = edge
        self.channels = tuple(channels)
        self._channel_to = {channel.channel.target: channel for channel in channels}
        self._partitioner = partitioner

    def has_pending(self) -> bool:
        return self._partitioner.pending_rows > 0

    def add(self, batch: Batch, generation: Generation, epoch: int) -> int:
        return self._send(self._partitioner.add(batch), generation, epoch)

    def flush(self, generation: Generation, epoch: int) -> int:
        return self._send(self._partitioner.flush(), generation, epoch) if self.has_pending() else 0

    def _send(self, dealt: list[tuple[int, Batch]], generation: Generation, epoch: int) -> int:
        return sum(self._channel_to[target].send_data(batch, generation, epoch) for target, batch in dealt)


class Outputs:
    """Rows held back in a partitioner go out when it is full, when a mark follows, or by ``flush``."""

    def __init__(self, edges: Sequence[OutputEdge], *, generation: Generation, epoch: int) -> None:
        self._edges = tuple(edges)
        self._channels = tuple(channel for edge in edges for channel in edge.channels)
        self._generation = generation
        self.epoch = epoch
        self.records = 0
        self.bytes = 0
        self.pending_since_ns: int | None = None

    def has_room(self) -> bool:
        return all(channel.has_room() for channel in self._channels)

    def lacking(self) -> Iterator[OutputChannel]:
        return (channel for channel in self._channels if not channel.has_room())

    def add(self, batch: Batch, now_ns: int) -> None:
        self.records += batch.num_rows
        for edge in self._edges:
            self.bytes += edge.add(batch, self._generation, self.epoch)
        if self.pending_since_ns is None and any(edge.has_pending() for edge in self._edges):
            self.pending_since_ns = now_ns

    def flush(self) -> bool:
        """True if something was held back."""
        if self.pending_since_ns is None:
            return False
        self.pending_since_ns = None
        for edge in self._edges:
            self.bytes += edge.flush(self._generation, self.epoch)
        return True

    def broadcast(self, kind: FrameKind, argument: int = 0) -> None:
        """Behind everything that was added before."""
        self.flush()
        for channel in self._channels:
            channel.send_mark(kind, self._generation, self.epoch, argument)

    def snapshots(self) -> tuple[ChannelSnapshot, ...]:
        """To be taken after a flush, before the barrier."""
        return tuple(ChannelSnapshot(channel.channel, channel.sequence) for channel in self._channels)
