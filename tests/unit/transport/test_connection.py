"""Reading messages from a stream that the Linux kernel divides at any position."""

from __future__ import annotations

import socket

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weir.errors import ProtocolError
from weir.transport.connection import STAGE_BYTES, MessageFormat, MessageReader, SendQueue, StreamClosed


def parse(data: memoryview) -> tuple[bytes, tuple[int, int]]:
    """Parse a header with the lengths of two sections: two bytes for the first length, four bytes for the second."""
    header = bytes(data)
    if header[0] != 7:
        raise ProtocolError("unknown header")
    return header, (int.from_bytes(header[1:3], "little"), int.from_bytes(header[3:7], "little"))


FORMAT: MessageFormat[bytes] = MessageFormat(7, parse)


def message(first: bytes, second: bytes) -> bytes:
    return b"\7" + len(first).to_bytes(2, "little") + len(second).to_bytes(4, "little") + first + second


class Collector:
    def __init__(self) -> None:
        self.messages: list[tuple[bytes, bytes]] = []

    def __call__(self, header: bytes, sections: list[pa.Buffer]) -> None:
        assert all(section.address % 64 == 0 for section in sections if section.size)
        self.messages.append((sections[0].to_pybytes(), sections[1].to_pybytes()))


@pytest.fixture
def pair() -> tuple[socket.socket, socket.socket]:
    return connected_pair()


def connected_pair() -> tuple[socket.socket, socket.socket]:
    left, right = socket.socketpair()
    left.setblocking(False)
    right.setblocking(False)
    return left, right


near_the_stage = st.integers(STAGE_BYTES - 20, STAGE_BYTES + 20)
sizes = st.tuples(st.integers(0, 300), st.one_of(st.integers(0, 200), near_the_stage, st.just(90_000)))


@settings(deadline=None, max_examples=150)
@given(st.lists(sizes, max_size=8), st.lists(st.integers(64, 50_000), min_size=1, max_size=20), st.integers(2_000, 100_000))
def test_messages_arrive_complete_and_in_order_for_any_division_of_the_stream(
    shape: list[tuple[int, int]], cuts: list[int], bytes_max: int
) -> None:
    sent = [(bytes([number]) * first, bytes([number + 100]) * second) for number, (first, second) in enumerate(shape)]
    stream = b"".join(message(*parts) for parts in sent)
    left, right = connected_pair()
    inbox, collector = MessageReader(FORMAT), Collector()
    with left, right:
        position = turn = 0
        while position < len(stream):
            end = position + cuts[turn % len(cuts)]
            try:
                position += left.send(stream[position:end])
            except BlockingIOError:
                pass  # many small chunks fill the socket buffer
            inbox.read(right, bytes_max, collector)
            turn += 1
        left.close()
        with pytest.raises(StreamClosed) as ended:
            while True:
                inbox.read(right, bytes_max, collector)
    assert collector.messages == sent
    assert "in the middle" not in str(ended.value)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.binary(max_size=3_000), max_size=700), st.integers(1, 5_000))
def test_a_send_queue_sends_every_byte_once_and_in_order(chunks: list[bytes], bytes_max: int) -> None:
    left, right = connected_pair()
    left.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)
    outbox = SendQueue()
    outbox.push([pa.py_buffer(chunk) if number % 2 else chunk for number, chunk in enumerate(chunks)])
    total = sum(map(len, chunks))
    received = bytearray()
    with left, right:
        assert outbox.bytes_queued == total
        for _ in range(total + 2):
            emptied = outbox.flush(left, bytes_max)
            try:
                received += right.recv(1 << 20)
            except BlockingIOError:
                pass
            assert outbox.bytes_queued == total - len(received)
            if emptied:
                break
    assert bytes(received) == b"".join(chunks)


def test_a_message_is_complete_even_if_the_stream_divides_its_header() -> None:
    parts = [(b"ab", b"cdefg"), (b"", b""), (b"h", b"")]
    stream = b"".join(message(*part) for part in parts)
    for first in range(1, len(stream)):
        for second in range(first, len(stream)):
            left, right = connected_pair()
            inbox, collector = MessageReader(FORMAT), Collector()
            with left, right:
                for chunk in (stream[:first], stream[first:second], stream[second:]):
                    left.send(chunk)
                    inbox.read(right, 1 << 20, collector)
            assert collector.messages == parts, f"divided at {first} and {second}"


def test_one_read_of_a_connection_stops_at_the_byte_limit(pair: tuple[socket.socket, socket.socket]) -> None:
    left, right = pair
    collector = Collector()
    inbox = MessageReader(FORMAT)
    with left, right:
        for _ in range(20):
            left.send(message(b"", b"x" * 3_000))
        inbox.read(right, 1, collector)
        assert 0 < len(collector.messages) <= STAGE_BYTES // 3_000 + 1
        inbox.read(right, 1 << 20, collector)
        assert len(collector.messages) == 20


def test_a_stream_that_ends_in_the_middle_of_a_message_is_an_error(pair: tuple[socket.socket, socket.socket]) -> None:
    left, right = pair
    with left, right:
        left.send(message(b"ab", b"cd")[:-1])
        left.close()
        with pytest.raises(StreamClosed, match="in the middle of a message"):
            for _ in range(3):
                MessageReader.read(inbox := MessageReader(FORMAT), right, 100, Collector())
                inbox.read(right, 100, Collector())


def test_a_connection_allocates_memory_only_for_its_current_message(pair: tuple[socket.socket, socket.socket]) -> None:
    left, right = pair
    before = pa.total_allocated_bytes()
    inbox, collector = MessageReader(FORMAT), Collector()
    with left, right:
        left.send(message(b"", b"")[:3] + (1 << 30).to_bytes(4, "little") + b"only the beginning")
        inbox.read(right, 1 << 20, collector)
        assert pa.total_allocated_bytes() - before <= 1 << 30
        del inbox
        assert pa.total_allocated_bytes() == before
    assert collector.messages == []
