"""Credit-based flow control of channels."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slot_cases import KIB, MIB, Rows, graph, slice_rows

from weir.errors import ProtocolError
from weir.kernel.alignment import CheckpointMode
from weir.kernel.config import NETWORK_BYTES
from weir.kernel.input_processor import InputProcessor, InputStart
from weir.operators.batch_slicing import BATCH_BYTES
from weir.protocol.frames import Frame, FrameKind
from weir.protocol.ids import ChannelId, CheckpointId, Generation
from weir.subtask.channels import (
    CREDIT_PARTS,
    FULL_LIMITS,
    SHARE_BYTES_MIN,
    WINDOW_BYTES,
    ChannelLimits,
    InputChannel,
    LocalOutput,
    RemoteOutput,
    buffer_ns_of,
)

CHANNEL = ChannelId(0, 0, 1)
ONE = Generation(1)


class Channel:
    """A remote output, its sent frames, and an input channel that returns credit to the output."""

    def __init__(self, limits: ChannelLimits = FULL_LIMITS) -> None:
        self.sent: list[Frame] = []
        self.output = RemoteOutput(CHANNEL, 0, self.sent.append, slice_rows, limits)
        self.input = InputChannel(CHANNEL, 0, lambda channel, given_back: self.output.on_credit(given_back), limits)
        self._received = 0

    def send(self, nbytes: int) -> None:
        self.output.send_data(Rows(1, nbytes=nbytes), ONE, 1)  # type: ignore[arg-type]  # ``Rows`` has the attributes that a channel reads

    def consume(self) -> Frame | None:
        for frame in self.sent[self._received :]:
            self.input.push(frame)
        self._received = len(self.sent)
        if self.input.head is None:
            return None
        frame = self.input.pop(0)
        self.input.release(frame)
        return frame


@pytest.mark.parametrize(
    ("slots", "timeout_ms", "buffer_ms"),
    [(1, None, 23), (2, None, 23), (8, None, 40), (16, None, 80), (100, None, 80), (16, 0, 0), (2, 2.5, 2.5)],
)
def test_the_default_buffer_timeout_grows_with_the_number_of_channels(
    slots: int, timeout_ms: float | None, buffer_ms: float
) -> None:
    assert buffer_ns_of(graph(slots), timeout_ms) == buffer_ms * 1_000_000


def test_a_channel_has_room_until_the_bytes_in_transit_fill_its_window() -> None:
    wire = Channel()
    for _ in range(4):
        assert wire.output.has_room()
        wire.send(MIB)
    assert not wire.output.has_room()
    wire.consume()
    assert wire.output.has_room()


def test_an_empty_channel_admits_one_batch_that_is_larger_than_the_window() -> None:
    wire = Channel()
    wire.send(3 * WINDOW_BYTES)
    assert len(wire.sent) == 1
    wire.send(8)
    assert len(wire.sent) == 1, "the second batch waits until the first is consumed"
    wire.consume()
    assert len(wire.sent) == 2


def test_a_control_event_waits_for_earlier_frames_but_needs_no_credit() -> None:
    wire = Channel()
    wire.send(WINDOW_BYTES)
    wire.send(MIB)
    wire.output.send_control_event(FrameKind.BARRIER, ONE, 1, 7)
    assert [frame.kind for frame in wire.sent] == [FrameKind.DATA]
    wire.consume()
    assert [(frame.kind, frame.sequence) for frame in wire.sent] == [
        (FrameKind.DATA, 0),
        (FrameKind.DATA, 1),
        (FrameKind.BARRIER, 2),
    ]


def test_a_control_event_is_sent_without_credit_if_no_earlier_frame_is_waiting() -> None:
    wire = Channel()
    wire.send(WINDOW_BYTES)
    wire.output.send_control_event(FrameKind.BARRIER, ONE, 1, 7)
    assert [frame.kind for frame in wire.sent] == [FrameKind.DATA, FrameKind.BARRIER]


def test_returning_more_credit_than_is_in_use_is_refused() -> None:
    wire = Channel()
    wire.send(8)
    with pytest.raises(ProtocolError, match="returned 9 bytes of credit, but only 8 are in use"):
        wire.output.on_credit(9)


def test_the_credit_of_several_small_batches_is_returned_in_one_message() -> None:
    credits: list[int] = []
    channel = InputChannel(CHANNEL, 0, lambda _, given_back: credits.append(given_back))
    held = WINDOW_BYTES // 20
    frames = [Frame(FrameKind.DATA, CHANNEL, ONE, 1, number, held, Rows(number), held) for number in range(5)]
    for frame in frames:
        channel.push(frame)
        channel.release(channel.pop(0))
    assert credits == [3 * held]


def test_a_large_batch_needs_no_credit_of_consumed_small_batches() -> None:
    wire = Channel()
    wire.send(8)
    assert wire.consume() is not None
    wire.send(2 * WINDOW_BYTES)
    assert len(wire.sent) == 2


def test_a_local_channel_counts_bytes_until_the_consumer_releases_them() -> None:
    target = InputChannel(CHANNEL, 0, None)
    output = LocalOutput(CHANNEL, 5, target)
    output.send_data(Rows(1, nbytes=WINDOW_BYTES), ONE, 1)
    assert not output.has_room()
    frame = target.pop(0)
    assert not output.has_room(), "the output has no room until the batch is released"
    target.release(frame)
    assert output.has_room()
    assert (frame.sequence, output.sequence) == (5, 6)


@given(st.lists(st.one_of(st.integers(1, 2 * WINDOW_BYTES), st.none()), max_size=60))
def test_only_the_last_batch_of_a_nearly_empty_channel_can_exceed_the_window(steps: list[int | None]) -> None:
    wire = Channel()
    requested = 0
    consumed: list[int] = []

    def consume() -> bool:
        frame = wire.consume()
        if frame is not None:
            consumed.append(frame.sequence)
        return frame is not None

    for nbytes in steps:
        if nbytes is None:
            consume()
        elif wire.output.has_room():
            wire.send(nbytes)
            requested += 1
        out = [frame.bytes_held for frame in wire.sent if frame.sequence >= len(consumed)]
        assert sum(out) <= WINDOW_BYTES or sum(out[:-1]) < WINDOW_BYTES // CREDIT_PARTS
    while consume():
        pass
    assert consumed == list(range(requested))


@pytest.mark.parametrize(
    ("slots", "network_bytes", "limits"),
    [
        (1, NETWORK_BYTES, ChannelLimits(WINDOW_BYTES, BATCH_BYTES)),
        (33, NETWORK_BYTES, ChannelLimits(WINDOW_BYTES, BATCH_BYTES)),
        (65, NETWORK_BYTES, ChannelLimits(WINDOW_BYTES, WINDOW_BYTES // 2)),
        (129, NETWORK_BYTES, ChannelLimits(WINDOW_BYTES // 2, WINDOW_BYTES // 4)),
        (1_025, NETWORK_BYTES, ChannelLimits(256 * KIB, 128 * KIB)),
        (1_025, MIB, ChannelLimits(SHARE_BYTES_MIN, SHARE_BYTES_MIN // 2)),
    ],
)
def test_the_channels_of_a_slot_share_its_network_memory(slots: int, network_bytes: int, limits: ChannelLimits) -> None:
    assert ChannelLimits.of(graph(slots), network_bytes) == limits


def test_a_batch_that_exceeds_the_batch_limit_of_its_channel_is_sent_in_ordered_slices() -> None:
    wire = Channel(ChannelLimits(window_bytes=64, batch_bytes=32))
    wire.output.send_data(Rows(*range(10), nbytes=100), ONE, 1)
    arrived: list[object] = []
    while (frame := wire.consume()) is not None:
        assert isinstance(frame.batch, Rows) and frame.bytes_held <= 32
        arrived += frame.batch.rows
    assert arrived == list(range(10))
    assert [frame.sequence for frame in wire.sent] == [0, 3, 6, 9] and wire.output.sequence == 10


class SharedNetworkMemory:
    """The channels from several other slots to one subtask, with the frames and credits in transit.

    ``items`` contains one list for each sending slot. In each list, a number is the size of a batch in
    bytes, and None stands for the next barrier.
    """

    def __init__(self, items: list[list[int | None]], network_bytes: int) -> None:
        limits = ChannelLimits.of(graph(len(items) + 1), network_bytes)
        self.bytes_max = max(network_bytes, len(items) * SHARE_BYTES_MIN)
        self.items = [deque(one) for one in items]
        self.frames: list[deque[Frame]] = [deque() for _ in items]
        self.credits: list[deque[int]] = [deque() for _ in items]
        self.rows_sent = [0] * len(items)
        self.rows_consumed = [0] * len(items)
        self._barriers = [0] * len(items)
        channels = [ChannelId(0, number + 1, 0) for number in range(len(items))]
        self.outputs = [
            RemoteOutput(channel, 0, self.frames[number].append, slice_rows, limits) for number, channel in enumerate(channels)
        ]
        self.inputs = [
            InputChannel(channel, 0, lambda one, given_back: self.credits[one.source - 1].append(given_back), limits)
            for channel in channels
        ]
        self.processor = InputProcessor(
            generation=ONE,
            inputs={channel: InputStart() for channel in channels},
            mode=CheckpointMode.EXACTLY_ONCE,
            last_checkpoint=CheckpointId(0),
        )

    @property
    def bytes_held(self) -> int:
        in_transit = sum(frame.bytes_held for frames in self.frames for frame in frames)
        return in_transit + sum(channel.bytes_held for channel in self.inputs)

    def send(self, number: int) -> bool:
        output, items = self.outputs[number], self.items[number]
        if not items or (items[0] is not None and not output.has_room()):
            return False
        nbytes = items.popleft()
        if nbytes is None:
            self._barriers[number] += 1
            output.send_control_event(FrameKind.BARRIER, ONE, 1, self._barriers[number])
        else:
            rows = max(1, nbytes // (8 * KIB))
            output.send_data(Rows(*range(rows), nbytes=nbytes), ONE, 1)
            self.rows_sent[number] += rows
        return True

    def deliver(self, number: int) -> bool:
        if not self.frames[number]:
            return False
        self.inputs[number].push(self.frames[number].popleft())
        return True

    def return_credit(self, number: int) -> bool:
        if not self.credits[number]:
            return False
        self.outputs[number].on_credit(self.credits[number].popleft())
        return True

    def consume(self, number: int) -> bool:
        channel = self.inputs[number]
        if channel.head is None or self.processor.is_blocked(channel.channel):
            return False
        frame = channel.pop(0)
        self.processor.on_frame(frame, now_ns=0)
        if isinstance(frame.batch, Rows):
            self.rows_consumed[number] += frame.batch.num_rows
        channel.release(frame)
        return True


@given(
    st.integers(2, 5).flatmap(
        lambda senders: st.lists(
            st.lists(st.one_of(st.integers(1, 6 * MIB), st.none()), max_size=12), min_size=senders, max_size=senders
        )
    ),
    st.sampled_from((0, 300 * KIB, 2 * MIB, 40 * MIB)),
    st.data(),
)
def test_blocked_channels_never_exceed_the_network_memory_or_stop_the_other_channels(
    items: list[list[int | None]], network_bytes: int, data: st.DataObject
) -> None:
    barriers = max(one.count(None) for one in items)
    for one in items:
        one += [None] * (barriers - one.count(None))
    memory = SharedNetworkMemory(items, network_bytes)
    steps = [
        lambda step=step, number=number: step(number)
        for step in (memory.send, memory.deliver, memory.return_credit, memory.consume)
        for number in range(len(items))
    ]
    for chosen in data.draw(st.lists(st.sampled_from(steps), max_size=60)):
        chosen()
        assert memory.bytes_held <= memory.bytes_max
    while any(step() for step in steps):
        assert memory.bytes_held <= memory.bytes_max
    assert not any(memory.items) and memory.rows_consumed == memory.rows_sent
    assert memory.processor.aligner.current is None
