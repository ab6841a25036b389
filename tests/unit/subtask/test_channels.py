"""Credit-based flow control of channels."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slot_cases import MIB, Rows

from weir.errors import ProtocolError
from weir.protocol.frames import Frame, FrameKind
from weir.protocol.ids import ChannelId, Generation
from weir.subtask.channels import WINDOW_BYTES, InputChannel, LocalOutput, RemoteOutput

CHANNEL = ChannelId(0, 0, 1)
ONE = Generation(1)


class Channel:
    """A remote output, its sent frames, and an input channel that returns credit to the output."""

    def __init__(self) -> None:
        self.sent: list[Frame] = []
        self.output = RemoteOutput(CHANNEL, 0, self.sent.append)
        self.input = InputChannel(CHANNEL, 0, lambda channel, given_back: self.output.on_credit(given_back))
        self._received = 0

    def send(self, nbytes: int) -> None:
        self.output.send_data(Rows(1, nbytes=nbytes), ONE, 1)  # type: ignore[arg-type]  # the channel does not read the batch

    def consume(self) -> Frame | None:
        for frame in self.sent[self._received :]:
            self.input.push(frame)
        self._received = len(self.sent)
        if self.input.head is None:
            return None
        frame = self.input.pop()
        self.input.release(frame)
        return frame


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
    frames = [Frame(FrameKind.DATA, CHANNEL, ONE, 1, number, 8, None, 8) for number in range(3)]
    for frame in frames:
        channel.push(frame)
    for _ in frames:
        channel.release(channel.pop())
    assert credits == [24]


def test_a_local_channel_counts_bytes_until_the_consumer_releases_them() -> None:
    target = InputChannel(CHANNEL, 0, None)
    output = LocalOutput(CHANNEL, 5, target)
    output.send_data(Rows(1, nbytes=WINDOW_BYTES), ONE, 1)
    assert not output.has_room()
    frame = target.pop()
    assert not output.has_room(), "the batch is not consumed yet"
    target.release(frame)
    assert output.has_room()
    assert (frame.sequence, output.sequence) == (5, 6)


@given(st.lists(st.one_of(st.integers(1, 2 * WINDOW_BYTES), st.none()), max_size=60))
def test_only_a_single_batch_in_transit_can_exceed_the_window(steps: list[int | None]) -> None:
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
        assert sum(out) <= WINDOW_BYTES or len(out) == 1
    while consume():
        pass
    assert consumed == list(range(requested))
