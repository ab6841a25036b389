"""Connections: a non-blocking stream of messages over a socket, driven by a poller.

A message consists of a header of fixed size and of sections. The header gives the sizes of the sections. Each section is received
directly into a separate Arrow buffer (64-byte aligned), so a record batch can be read in place. The call that receives the end of
a message also receives the following bytes into a small staging buffer. So headers and small messages need no separate call. Only
bytes of a section that arrive in the staging buffer are copied.
"""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar, cast

import pyarrow as pa

from weir.errors import ProtocolError
from weir.transport.framing import Piece
from weir.transport.poller import READ, WRITE, Poller

H = TypeVar("H")

IO_VECTORS_MAX = 512
"""Maximum number of buffers per call. Linux accepts 1024 buffers. But even 512 buffers contain more bytes than a socket accepts,
unless the frames are tiny."""
STAGE_BYTES = 32 * 1024
_EMPTY = pa.py_buffer(b"")

BYTES_PER_TURN = 4 * 1024 * 1024
"""In one turn, a connection sends at most about this many bytes and receives at most about this many bytes. So one connection
cannot stop the loop. Copying this many bytes takes about a millisecond."""


@dataclass(slots=True)
class ReadLimit:
    """The maximum number of bytes that a connection receives in one turn. Several connections can share a limit."""

    bytes_max: int = BYTES_PER_TURN


class SendQueue:
    """Buffers queued for one peer, in order. The queue keeps the memory of a batch alive until the kernel has accepted the
    whole batch."""

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
        """Send until the queue is empty, the kernel's buffer is full or ``bytes_max`` is reached. Return whether the queue is
        empty. Raise OSError."""
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
class MessageFormat(Generic[H]):
    """The format of the messages in a stream. ``parse`` returns a header and the sizes of its sections, or raises
    ProtocolError."""

    header_bytes: int
    parse: Callable[[memoryview], tuple[H, tuple[int, ...]]]


class StreamClosed(Exception):
    """The peer closed the connection. ``clean`` is False if the connection was closed in the middle of a message."""

    def __init__(self, clean: bool) -> None:
        super().__init__("the peer closed the connection" + ("" if clean else " in the middle of a message"))


class MessageReader(Generic[H]):
    """Reads messages from a stream. A reader contains the staging buffer and the sections of the message that is arriving."""

    __slots__ = ("_begin", "_end", "_filled", "_format", "_header", "_in_message", "_sections", "_stage", "_views")

    def __init__(self, message_format: MessageFormat[H]) -> None:
        self._format = message_format
        self._stage = memoryview(bytearray(STAGE_BYTES))
        self._begin = 0
        self._end = 0
        self._header: H | None = None
        self._in_message = False
        """Whether a header has been parsed but some of its sections are incomplete. ``_in_message`` is a separate flag because
        a parsed header can be None."""
        self._sections: list[pa.Buffer] = []
        self._views: list[memoryview] = []
        """Views of the incomplete sections. The first view can be partly filled."""
        self._filled = 0

    def read(self, connected: socket.socket, bytes_max: int, deliver: Callable[[H, list[pa.Buffer]], None]) -> None:
        """Receive up to about ``bytes_max`` bytes and pass on complete messages in order.

        Raise StreamClosed, OSError, ProtocolError, and the errors of ``deliver``.
        """
        received = 0
        while received < bytes_max:
            try:
                count, requested = self._receive(connected, bytes_max - received)
            except (BlockingIOError, InterruptedError):
                return
            if count == 0:
                raise StreamClosed(clean=not self._in_message and self._begin == self._end)
            received += count
            self._split_messages(deliver)
            if count < requested:
                return  # the socket is empty, and the poller reports when more bytes arrive

    def _receive(self, connected: socket.socket, bytes_max: int) -> tuple[int, int]:
        """Return the numbers of bytes received and requested. Before the call, the staging buffer is empty or contains a part
        of a header."""
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

    def _staged(self, size: int) -> pa.Buffer:
        """Copy the next section, which is in the staging buffer."""
        begin, self._begin = self._begin, self._begin + size
        section = pa.allocate_buffer(size)
        memoryview(section).cast("B")[:] = self._stage[begin : self._begin]
        return section

    def _split_messages(self, deliver: Callable[[H, list[pa.Buffer]], None]) -> None:
        header_bytes, parse = self._format.header_bytes, self._format.parse
        while True:
            if not self._in_message:
                end = self._begin + header_bytes
                if end > self._end:
                    return
                self._header, sizes = parse(self._stage[self._begin : end])
                self._begin = end
                if sum(sizes) <= self._end - end:
                    deliver(self._header, [self._staged(size) if size else _EMPTY for size in sizes])
                    continue
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


class Connection(Generic[H]):
    """A stream of messages over a socket. The Connection owns the socket. ``deliver`` is called with each complete message.
    ``lost`` is called once, with the reason, when the connection ends.

    Messages in ``outbox`` are sent in order, including messages that were queued before the connection was established.
    No method raises an error that the peer causes. Instead, ``lost`` is called.
    """

    def __init__(
        self,
        poller: Poller,
        connected: socket.socket,
        message_format: MessageFormat[H],
        *,
        outbox: SendQueue,
        deliver: Callable[[H, list[pa.Buffer]], None],
        lost: Callable[[str], None],
        read_limit: ReadLimit | None = None,
    ) -> None:
        self._poller = poller
        self._socket = connected
        self._inbox: MessageReader[H] = MessageReader(message_format)
        self._outbox = outbox
        self._deliver = deliver
        self._lost = lost
        self._blocked = False
        """Whether the last ``flush`` left bytes in the queue, because the kernel's buffer was full or BYTES_PER_TURN was reached. Sending
        continues when the poller reports that the socket is writable."""
        self.closed = False
        self._read_limit = read_limit or ReadLimit()
        poller.watch(connected, READ, self._ready)

    def flush(self) -> None:
        """Send queued messages until the kernel accepts no more bytes."""
        if self.closed or self._blocked or not self._outbox.bytes_queued:
            return
        try:
            emptied = self._outbox.flush(self._socket, BYTES_PER_TURN)
        except OSError as error:
            self._end(f"sending failed: {error.strerror or error}")
            return
        if not emptied:
            self._blocked = True
            self._poller.change(self._socket, READ | WRITE, self._ready)

    def _ready(self, mask: int, _now_ns: int) -> None:
        if mask & READ and not self.closed:
            self._read()
        if mask & WRITE and not self.closed:
            self._blocked = False
            self.flush()
            if not self._blocked and not self.closed:
                self._poller.change(self._socket, READ, self._ready)

    def _read(self) -> None:
        try:
            self._inbox.read(self._socket, self._read_limit.bytes_max, self._deliver)
        except StreamClosed as error:
            self._end(str(error))
        except OSError as error:
            self._end(f"receiving failed: {error.strerror or error}")
        except (ProtocolError, MemoryError) as error:
            self._end(f"dropped: {error}")

    def _end(self, reason: str) -> None:
        if not self.closed:
            self.close()
            self._lost(reason)

    def close(self) -> None:
        """Close without calling ``lost``. Queued messages are dropped."""
        if self.closed:
            return
        self.closed = True
        self._poller.unwatch(self._socket)
        self._socket.close()
        self._outbox.clear()
