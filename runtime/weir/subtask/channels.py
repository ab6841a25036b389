"""Channels and outputs of a subtask, with credit-based flow control in bytes.

A channel has room while the sum of its bytes in transit and its waiting bytes is less than its window. A receiver returns credit
only when it owes 1 / CREDIT_PARTS of the window, so that several small batches share one credit frame. While the frames of a channel
use less than this part of the window, the sender cannot know whether any of them is still waiting. It then sends a batch of any
size. Control events need no credit, but do not overtake waiting data. ``Outputs`` combines the output channels of a subtask. For each
outgoing edge, ``Outputs`` has one partitioner and a set of channels.

The channels from other slots share the network memory of the receiving slot (see ``ChannelLimits``). Channels inside a slot use
no network memory, because the number of these channels does not grow with the parallelism.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from weir.errors import ProtocolError
from weir.graph.physical import Edge, PhysicalGraph
from weir.operators.base import BUFFER_ROWS_ENOUGH, Batch
from weir.operators.batch_slicing import BATCH_BYTES
from weir.protocol.channel_state import EdgeSnapshot, PackedInts
from weir.protocol.frames import DATA, Frame, FrameKind
from weir.protocol.ids import ChannelId, Generation
from weir.subtask.environment import BatchPartitioner

WINDOW_BYTES = 4 * 1024 * 1024
SHARE_BYTES_MIN = 64 * 1024
"""Minimum share of a channel in the network memory. If the share were smaller, batches would be so small that the fixed cost per
batch would dominate."""
CREDIT_PARTS = 8
SliceBatch = Callable[[Batch, int], Iterable[Batch]]
"""A function that slices a batch into batches of at most the given number of bytes. A row that is larger than the given number of
bytes becomes a batch with one row."""


@dataclass(frozen=True, slots=True)
class ChannelLimits:
    """Limits of each channel between slots. ``window_bytes`` is the credit of the channel. ``batch_bytes`` is the maximum size
    of a batch.

    Each channel has a fixed share of the receiving slot's network memory, and never uses the share of another channel. So a
    channel that is blocked during an alignment fills only its own share. Each of the other channels can continue until it has
    delivered the barrier. A sender does not request memory, so flow control needs no messages except the returned credit.
    """

    window_bytes: int = WINDOW_BYTES
    batch_bytes: int = BATCH_BYTES

    @classmethod
    def of(cls, graph: PhysicalGraph, network_bytes: int) -> Self:
        """Return the limits for ``network_bytes`` of network memory per slot. All slots compute the same limits.

        ``network_bytes`` limits the total size of the frames that are in transit to a slot or wait in the slot. If
        ``network_bytes`` is less than SHARE_BYTES_MIN per channel, the limit is SHARE_BYTES_MIN per channel. Only a row that is
        larger than a share can exceed the limit.
        """
        share = max(SHARE_BYTES_MIN, network_bytes // max(1, graph.remote_inputs_max()))
        window_bytes = min(WINDOW_BYTES, share)
        # If the window is small, limit each batch to half of the window. The sender can then send a batch while the receiver
        # consumes the batch before it.
        return cls(window_bytes, BATCH_BYTES if share >= BATCH_BYTES else window_bytes // 2)


FULL_LIMITS = ChannelLimits()

BUFFER_MS_PER_CHANNEL = 5
BUFFER_MS_MIN, BUFFER_MS_MAX = 23, 80


def buffer_ns_of(graph: PhysicalGraph, buffer_timeout_ms: float | None) -> int:
    """Return the maximum time in nanoseconds for which a buffer waits for more rows. All slots compute the same time.

    If ``buffer_timeout_ms`` is None, the time grows with the number of channels of a subtask, because the fixed cost of one round
    of batches grows with this number.
    """
    if buffer_timeout_ms is not None:
        return round(buffer_timeout_ms * 1_000_000)
    channels = max((chain.parallelism for chain in graph.chains), default=1)
    return min(BUFFER_MS_MAX, max(BUFFER_MS_MIN, BUFFER_MS_PER_CHANNEL * channels)) * 1_000_000


class Arrivals:
    """Counts the frames in all input channels of a subtask, so that most turns do not check every channel."""

    __slots__ = ("control_events", "frames", "is_credit_low", "rows", "total")

    def __init__(self) -> None:
        self.frames = 0
        """Number of waiting frames."""
        self.control_events = 0
        """Number of waiting frames without data."""
        self.is_credit_low = False
        """Whether a sender may be out of credit, because waiting frames use much of the credit of its channel. Stays True until all
        waiting frames are read."""
        self.rows = 0
        """Number of rows in the waiting frames."""
        self.total = 0
        """Number of frames that have ever arrived."""


class InputChannel:
    """The receiving end of a channel. An InputChannel contains the frames that have arrived and are not yet consumed. All
    channels of a subtask share ``arrivals``."""

    def __init__(
        self,
        channel: ChannelId,
        input_index: int,
        return_credit: Callable[[ChannelId, int], None] | None,
        limits: ChannelLimits = FULL_LIMITS,
        arrivals: Arrivals | None = None,
    ) -> None:
        self.arrivals = arrivals or Arrivals()
        self.channel = channel
        self.input_index = input_index
        self._return_credit = return_credit
        self._credit_return_bytes = limits.window_bytes // CREDIT_PARTS
        self.frames: deque[Frame] = deque()
        """The waiting frames. Only ``push`` and ``pop`` change them."""
        self._bytes_held = 0
        self._bytes_owed = 0
        self.read_ns: int | None = None
        """The time of the last read of a batch, or None."""

    def __len__(self) -> int:
        return len(self.frames)

    @property
    def bytes_held(self) -> int:
        return self._bytes_held

    @property
    def head(self) -> Frame | None:
        return self.frames[0] if self.frames else None

    def push(self, frame: Frame) -> None:
        self.frames.append(frame)
        arrivals = self.arrivals
        arrivals.frames += 1
        arrivals.total += 1
        if frame.batch is None:
            arrivals.control_events += 1
            return
        arrivals.rows += frame.rows
        self._bytes_held += frame.bytes_held
        if self._bytes_held >= self._credit_return_bytes:
            arrivals.is_credit_low = True

    def pop(self, now_ns: int) -> Frame:
        frame = self.frames.popleft()
        arrivals = self.arrivals
        arrivals.frames -= 1
        if not arrivals.frames:
            arrivals.is_credit_low = False
        if frame.batch is None:
            arrivals.control_events -= 1
        else:
            arrivals.rows -= frame.rows
            self.read_ns = now_ns
        return frame

    def release(self, frame: Frame) -> None:
        """Release a consumed frame. The frame's bytes no longer count against the window. The credit of several small frames is
        returned to the sender together."""
        self._bytes_held -= frame.bytes_held
        if self._return_credit is None:
            return
        self._bytes_owed += frame.bytes_held
        if self._bytes_owed >= self._credit_return_bytes:
            returnable, self._bytes_owed = self._bytes_owed, 0
            self._return_credit(self.channel, returnable)


class OutputChannel(Protocol):
    channel: ChannelId
    sequence: int

    def has_room(self) -> bool: ...
    def send_data(self, batch: Batch, generation: Generation, epoch: int) -> int:
        """Send a batch and return its size in bytes. Call ``send_data`` only if the channels had room when the step that
        produced the batch started."""
        ...

    def send_control_event(self, kind: FrameKind, generation: Generation, epoch: int, argument: int) -> None: ...


class LocalOutput:
    """A channel to a subtask of the same slot. Frames go directly into the input channel of that subtask."""

    def __init__(self, channel: ChannelId, sequence: int, target: InputChannel) -> None:
        self.channel = channel
        self.sequence = sequence
        self._target = target

    def has_room(self) -> bool:
        return self._target.bytes_held < WINDOW_BYTES

    def send_data(self, batch: Batch, generation: Generation, epoch: int) -> int:
        held: int = batch.nbytes
        self._target.push(Frame(DATA, self.channel, generation, epoch, self.sequence, held, batch, held))
        self.sequence += batch.num_rows
        return held

    def send_control_event(self, kind: FrameKind, generation: Generation, epoch: int, argument: int) -> None:
        self._target.push(Frame(kind, self.channel, generation, epoch, self.sequence, argument))


class RemoteOutput:
    """A channel to a subtask of another slot. ``send`` passes a frame to the transport."""

    def __init__(
        self,
        channel: ChannelId,
        sequence: int,
        send: Callable[[Frame], None],
        slice_batch: SliceBatch,
        limits: ChannelLimits = FULL_LIMITS,
    ) -> None:
        self.channel = channel
        self.sequence = sequence
        self._send = send
        self._slice_batch = slice_batch
        self._window_bytes = limits.window_bytes
        self._kept_bytes_max = limits.window_bytes // CREDIT_PARTS
        self._batch_bytes_max = limits.batch_bytes
        self._waiting: deque[Frame] = deque()
        self._bytes_out = 0

    def has_room(self) -> bool:
        return not self._waiting and self._bytes_out < self._window_bytes

    def send_data(self, batch: Batch, generation: Generation, epoch: int) -> int:
        held: int = batch.nbytes
        if held <= self._batch_bytes_max:
            self._send_batch(batch, held, generation, epoch)
            return held
        parts = [(part, part.nbytes) for part in self._slice_batch(batch, self._batch_bytes_max)]
        for part, part_held in parts:
            self._send_batch(part, part_held, generation, epoch)
        return sum(part_held for _, part_held in parts)

    def _send_batch(self, batch: Batch, held: int, generation: Generation, epoch: int) -> None:
        self._enqueue(Frame(DATA, self.channel, generation, epoch, self.sequence, held, batch, held))
        self.sequence += batch.num_rows

    def send_control_event(self, kind: FrameKind, generation: Generation, epoch: int, argument: int) -> None:
        self._enqueue(Frame(kind, self.channel, generation, epoch, self.sequence, argument))

    def on_credit(self, returned: int) -> None:
        """Add the credit that the peer has returned. Raise ProtocolError if the peer returns more credit than is in use."""
        if not 0 <= returned <= self._bytes_out:
            raise ProtocolError(
                f"{self.channel}: the peer returned {returned} bytes of credit, but only {self._bytes_out} are in use"
            )
        self._bytes_out -= returned
        while self._waiting and self._admits(self._waiting[0]):
            self._transmit(self._waiting.popleft())

    def _enqueue(self, frame: Frame) -> None:
        if self._waiting or not self._admits(frame):
            self._waiting.append(frame)
        else:
            self._transmit(frame)

    def _admits(self, frame: Frame) -> bool:
        # If less credit is in use than the receiver may owe, the receiver may have consumed all frames. It would then return no credit,
        # and the frame would wait forever.
        if self._bytes_out < self._kept_bytes_max:
            return True
        return frame.bytes_held == 0 or self._bytes_out + frame.bytes_held <= self._window_bytes

    def _transmit(self, frame: Frame) -> None:
        self._bytes_out += frame.bytes_held
        self._send(frame)


class OutputEdge:
    """An outgoing edge of one sending subtask.

    Look up a channel by the index of its target, not by its position in ``channels``. On a FORWARD edge, a sending subtask has
    only one channel, and the target has the same index as the sending subtask.
    """

    def __init__(self, edge: Edge, partitioner: BatchPartitioner, channels: Sequence[OutputChannel]) -> None:
        self.edge = edge
        self.channels = tuple(channels)
        self._channels_by_target = {channel.channel.target: channel for channel in channels}
        self._partitioner = partitioner

    @property
    def pending_rows(self) -> int:
        return self._partitioner.pending_rows

    def add(self, batch: Batch, generation: Generation, epoch: int) -> int:
        return self._send(self._partitioner.add(batch), generation, epoch)

    def flush(self, generation: Generation, epoch: int) -> int:
        return self._send(self._partitioner.flush(), generation, epoch) if self.pending_rows else 0

    def _send(self, parts: list[tuple[int, Batch]], generation: Generation, epoch: int) -> int:
        channels = self._channels_by_target
        return sum([channels[target].send_data(batch, generation, epoch) for target, batch in parts])


class Outputs:
    """All outputs of a subtask. A partitioner's pending rows are sent when a batch is full, before a control event, or by
    ``flush``."""

    def __init__(self, edges: Sequence[OutputEdge], *, generation: Generation, epoch: int, flush_interval_ns: int = 0) -> None:
        """``flush_interval_ns``: the minimum time between two calls of ``flush`` that the loop makes while the slot is idle."""
        self._edges = tuple(edges)
        self._flush_interval_ns = flush_interval_ns
        self._flushed_ns: int | None = None
        self._enough = False
        self._channels = tuple(channel for edge in edges for channel in edge.channels)
        self._generation = generation
        self.epoch = epoch
        self.records = 0
        self.bytes = 0
        self.pending_since_ns: int | None = None

    def has_room(self) -> bool:
        return all(channel.has_room() for channel in self._channels)

    def full_channels(self) -> Iterator[OutputChannel]:
        return (channel for channel in self._channels if not channel.has_room())

    def add(self, batch: Batch, now_ns: int) -> None:
        self.records += batch.num_rows
        for edge in self._edges:
            self.bytes += edge.add(batch, self._generation, self.epoch)
        pending_rows = max((edge.pending_rows for edge in self._edges), default=0)
        self._enough = pending_rows >= BUFFER_ROWS_ENOUGH
        if pending_rows and self.pending_since_ns is None:
            self.pending_since_ns = now_ns

    def flush_at_ns(self) -> int | None:
        """Return the time at which an idle slot sends the pending rows, or None if no rows are pending.

        The first rows after a pause are sent at once. While rows arrive all the time, they are sent once per ``flush_interval_ns``.
        """
        since_ns = self.pending_since_ns
        if since_ns is None or self._flushed_ns is None or self._enough:
            return since_ns
        return max(since_ns, self._flushed_ns + self._flush_interval_ns)

    def flush(self, now_ns: int | None = None) -> bool:
        """Send pending rows. Return whether any rows were pending. ``now_ns``: None if a control event causes the flush."""
        if self.pending_since_ns is None:
            return False
        self.pending_since_ns = None
        if now_ns is not None:
            self._flushed_ns = now_ns
        for edge in self._edges:
            self.bytes += edge.flush(self._generation, self.epoch)
        return True

    def broadcast(self, kind: FrameKind, argument: int = 0) -> None:
        """Send a control event on all channels, after all batches that were added earlier."""
        self.flush()
        for channel in self._channels:
            channel.send_control_event(kind, self._generation, self.epoch, argument)

    def snapshots(self) -> tuple[EdgeSnapshot, ...]:
        """Return the channels' sequence numbers. Call ``snapshots`` after a flush and before sending the barrier."""
        return tuple(
            EdgeSnapshot(edge.edge.index, PackedInts.pack([channel.sequence for channel in edge.channels]))
            for edge in self._edges
        )
