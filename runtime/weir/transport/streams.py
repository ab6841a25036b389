"""The two directions of a byte stream: buffers going out by ``sendmsg``, messages coming in where they will stay.

A message is a header of fixed size, then sections whose sizes the header tells. Each section is
received straight into an Arrow buffer of its own (64-byte aligned), so that a record batch can be
read in place. What the kernel has beyond the section goes into a small stage in the same call:
headers and small messages cost no call of their own, and only their bytes are copied.
"""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar, cast

import pyarrow as pa

from weir.transport.framing import Piece

H = TypeVar("H")

IO_VECTORS_MAX = 512
"""Linux takes 1024 at a time; half of it is far more than a socket's buffer holds of anything but tiny frames."""
STAGE_BYTES = 32 * 1024


class Outbox:
    """Buffers queued for one peer, in order. Memory of a batch is held until the kernel has all of it."""

    __slots__ = ("_pieces", "bytes_queued")

    def __init__(self) -> None:
        self._pieces: deque[Piece] = deque()
        self.bytes_queued = 0

    def push(self, pieces: Sequence[Piece]) -> None:
        for piece in pieces:
            if len(piece):
                self._pieces.append(piece)
                self.bytes_queued += len(piece)

    def flush(self, connected: socket.socket, bytes_max: int) -> bool:
        """Send until the queue is empty (True), or the kernel or ``bytes_max`` is full (False). Raises OSError."""
        sent_total = 0
        while self._pieces and sent_total < bytes_max:
            try:
                sent = connected.sendmsg(islice(self._pieces, IO_VECTORS_MAX))
            except (BlockingIOError, InterruptedError):
                break
            sent_total += sent
            self._advance(sent)
        return not self._pieces

    def _advance(self, sent: int) -> None:
        self.bytes_queued -= sent
        pieces = self._pieces
        while sent:
            first = pieces[0]
            if sent < len(first):
                pieces[0] = memoryview(first).cast("B")[sent:]
                return
            sent -= len(first)
            pieces.popleft()

    def clear(self) -> None:
        self._pieces.clear()
        self.bytes_queued = 0


@dataclass(frozen=True, slots=True)
class Cut(Generic[H]):
    """How a stream is cut into messages. ``parse`` gives a header and its sections' sizes, or raises ProtocolError."""

    header_bytes: int
    parse: Callable[[memoryview], tuple[H, tuple[int, ...]]]


class EndOfStream(Exception):
    """The peer closed. ``clean`` False: in the middle of a message."""

    def __init__(self, clean: bool) -> None:
        super().__init__("the peer closed the connection" + ("" if clean else " in the middle of a message"))


class Inbox(Generic[H]):
    """Reads messages. Memory: the stage, and the sections of the one message that is arriving."""

    __slots__ = ("_begin", "_cut", "_end", "_filled", "_header", "_in_message", "_sections", "_stage", "_views")

    def __init__(self, cut: Cut[H]) -> None:
        self._cut = cut
        self._stage = memoryview(bytearray(STAGE_BYTES))
        self._begin = 0
        self._end = 0
        self._header: H | None = None
        self._in_message = False
        """A header has been parsed (which may be None) and its sections are not yet full."""
        self._sections: list[pa.Buffer] = []
        self._views: list[memoryview] = []
        """Of the sections that are not yet full, the first of them partly."""
        self._filled = 0

    def read(self, connected: socket.socket, bytes_max: int, deliver: Callable[[H, list[pa.Buffer]], None]) -> None:
        """Receive about ``bytes_max`` bytes or what there is, handing over whole messages in order.

        Raises EndOfStream, OSError, ProtocolError (also what ``deliver`` raises).
        """
        received = 0
        while received < bytes_max:
            try:
                count, asked = self._receive(connected, bytes_max - received)
            except (BlockingIOError, InterruptedError):
                return
            if count == 0:
                raise EndOfStream(clean=not self._in_message and self._begin == self._end)
            received += count
            self._cut_messages(deliver)
            if count < asked:
                return  # drained; the poller tells when there is more

    def _receive(self, connected: socket.socket, bytes_max: int) -> tuple[int, int]:
        """Bytes received and asked for. The stage is empty, or holds a part of a header."""
        if not self._views:
            if self._begin:
                left = self._end - self._begin
                self._stage[:left] = bytes(self._stage[self._begin : self._end])
                self._begin, self._end = 0, left
            count = connected.recv_into(self._stage[self._end :])
            self._end += count
            return count, STAGE_BYTES - self._end + count
        self._begin = self._end = 0
        rest = self._views[0][self._filled : self._filled + bytes_max]
        last_of_message = len(self._views) == 1 and len(rest) == len(self._views[0]) - self._filled
        if last_of_message:
            count = connected.recvmsg_into((rest, self._stage))[0]
        else:
            count = connected.recv_into(rest)
        in_section = min(count, len(rest))
        self._end = count - in_section
        self._fill(in_section)
        return count, len(rest) + (STAGE_BYTES if last_of_message else 0)

    def _fill(self, count: int) -> None:
        self._filled += count
        if self._filled == len(self._views[0]):
            del self._views[0]
            self._filled = 0

    def _cut_messages(self, deliver: Callable[[H, list[pa.Buffer]], None]) -> None:
        while True:
            if not self._in_message:
                end = self._begin + self._cut.header_bytes
                if end > self._end:
                    return
                self._header, sizes = self._cut.parse(self._stage[self._begin : end])
                self._begin = end
                self._in_message = True
                self._sections = [pa.allocate_buffer(size) for size in sizes]
                self._views = [memoryview(section).cast("B") for section in self._sections if section.size]
            while self._views:
                available = self._end - self._begin
                if available == 0:
                    return
                count = min(available, len(self._views[0]) - self._filled)
                self._views[0][self._filled : self._filled + count] = self._stage[self._begin : self._begin + count]
                self._begin += count
                self._fill(count)
            header, sections = self._header, self._sections
            self._header, self._sections, self._in_message = None, [], False
            deliver(cast(H, header), sections)
