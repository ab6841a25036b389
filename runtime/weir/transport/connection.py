"""A non-blocking stream of messages over a connected socket, driven by a poller."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Generic, TypeVar

import pyarrow as pa

from weir.errors import ProtocolError
from weir.transport.poller import READ, WRITE, Poller
from weir.transport.streams import Cut, EndOfStream, Inbox, Outbox

H = TypeVar("H")

BYTES_PER_TURN = 4 * 1024 * 1024
"""Each way, per connection and turn, so that the loop keeps turning: about a millisecond of copying."""


class Connection(Generic[H]):
    """Owns its socket. ``deliver`` gets whole messages, ``lost`` the reason, once, after which nothing more comes.

    What is queued in ``outbox`` (also before the connection was up) goes out in order. Raises nothing:
    whatever the peer does ends here, in ``lost``.
    """

    def __init__(
        self,
        poller: Poller,
        connected: socket.socket,
        cut: Cut[H],
        *,
        outbox: Outbox,
        deliver: Callable[[H, list[pa.Buffer]], None],
        lost: Callable[[str], None],
    ) -> None:
        self._poller = poller
        self._socket = connected
        self._inbox: Inbox[H] = Inbox(cut)
        self._outbox = outbox
        self._deliver = deliver
        self._lost = lost
        self._blocked = False
        """The kernel took no more: the poller tells when it does, and until then nobody tries."""
        self.closed = False
        self.read_bytes_max = BYTES_PER_TURN
        poller.watch(connected, READ, self._ready)

    def flush(self) -> None:
        """Send what is queued, as far as the kernel takes it."""
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
            self._inbox.read(self._socket, self.read_bytes_max, self._deliver)
        except EndOfStream as error:
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
        """Close without a word to ``lost``. What is still queued is forgotten."""
        if self.closed:
            return
        self.closed = True
        self._poller.forget(self._socket)
        self._socket.close()
        self._outbox.clear()
