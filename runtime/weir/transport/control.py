"""Control connections: messages of bytes between the coordinator and its slots, in order per connection.

``poll`` is called by one thread, the loop that owns the endpoint; ``send`` and ``wake`` by any.
``fileno`` is readable whenever ``poll`` has something to do at once: an endpoint can be waited for in
another loop's selector (``DataExchange.register``). On the wire a message is its length as u32, little
endian, and its bytes. A last word before ``close`` is only sure to arrive once the peer has hung up.
"""

from __future__ import annotations

import functools
import struct
import threading
from collections import deque
from dataclasses import dataclass
from socket import socket
from typing import NewType, TypeAlias

import pyarrow as pa

from weir.errors import ProtocolError
from weir.transport.acceptor import Acceptor, Note, Proved
from weir.transport.connection import Connection
from weir.transport.dialer import PATIENCE_NS, Dialer
from weir.transport.handshake import Claim, Credentials, Purpose
from weir.transport.poller import Poller, Wakeup
from weir.transport.streams import Cut, Outbox

MESSAGE_BYTES_MAX = 64 * 1024 * 1024
"""An acknowledgement with thousands of splits is some MiB."""
QUEUED_BYTES_MAX = 256 * 1024 * 1024
"""Per connection. A peer that reads so little is as good as lost, and is dropped."""
CONNECTIONS_MAX = 4096
_LENGTH = struct.Struct("<I")

ControlPeer = NewType("ControlPeer", int)
"""One control connection of an endpoint; never used again by it."""
COORDINATOR = ControlPeer(0)
"""The only peer of a ``ControlClient``."""


@dataclass(frozen=True, slots=True)
class Connected:
    """``incarnation`` has been proven (of the slot at the server, of the coordinator at the client)."""

    peer: ControlPeer
    incarnation: str


@dataclass(frozen=True, slots=True)
class Message:
    peer: ControlPeer
    data: bytes


@dataclass(frozen=True, slots=True)
class Closed:
    """Reported once; nothing more comes from this peer. At the client also: it could not connect."""

    peer: ControlPeer
    reason: str


ControlEvent: TypeAlias = Connected | Message | Closed


def _parse(data: memoryview) -> tuple[None, tuple[int]]:
    (length,) = _LENGTH.unpack(data)
    if not 0 < length <= MESSAGE_BYTES_MAX:
        raise ProtocolError(f"control message of {length} bytes, allowed are 1 to {MESSAGE_BYTES_MAX}")
    return None, (length,)


_CUT: Cut[None] = Cut(_LENGTH.size, _parse)


class _Endpoint:
    """What server and client share: connections, the queue from other threads, the turn."""

    def __init__(self) -> None:
        self._poller = Poller()
        self._wakeup = Wakeup(self._poller)
        self._connections: dict[ControlPeer, tuple[Connection[None], Outbox]] = {}
        self._queue: deque[tuple[ControlPeer, bytes]] = deque()
        self._events: list[ControlEvent] = []
        self._owner: int | None = None

    def fileno(self) -> int:
        return self._poller.fileno()

    def wake(self) -> None:
        """End a ``poll`` that waits. Any thread."""
        self._wakeup.wake()

    def poll(self, now_ns: int, timeout_ns: int = 0) -> list[ControlEvent]:
        """Send and receive what is possible; wait for an event or ``wake``, ``timeout_ns`` at most (rounded up to 1 ms)."""
        self._owner = threading.get_ident()
        self._flush()
        self._advance(now_ns)
        wait_ns = 0
        if not self._events and timeout_ns > 0:
            deadline_ns = self._next_deadline_ns()
            wait_ns = timeout_ns if deadline_ns is None else max(0, min(timeout_ns, deadline_ns - now_ns))
        for handler, mask in self._poller.wait(wait_ns):
            handler(mask, now_ns)
        self._flush()
        events, self._events = self._events, []
        return events

    def _send(self, peer: ControlPeer, data: bytes) -> None:
        if not 0 < len(data) <= MESSAGE_BYTES_MAX:
            raise ProtocolError(f"a control message of {len(data)} bytes cannot be sent, allowed are 1 to {MESSAGE_BYTES_MAX}")
        self._queue.append((peer, data))
        if threading.get_ident() != self._owner:
            self._wakeup.wake()

    def _flush(self) -> None:
        """Queue first, so that order is the order of the calls to ``send``; then whatever the kernel takes."""
        while self._queue:
            peer, data = self._queue.popleft()
            known = self._connections.get(peer)
            if known is None:
                continue  # closed, and reported as such
            connection, outbox = known
            outbox.push((_LENGTH.pack(len(data)), data))
            if outbox.bytes_queued > QUEUED_BYTES_MAX:
                connection.close()
                self._on_lost(peer, f"it does not read: more than {QUEUED_BYTES_MAX} bytes are queued for it")
        for connection, _ in tuple(self._connections.values()):
            connection.flush()

    def _connect(self, peer: ControlPeer, connected: socket, incarnation: str) -> None:
        outbox = Outbox()
        connection = Connection(
            self._poller,
            connected,
            _CUT,
            outbox=outbox,
            deliver=lambda _header, sections: self._deliver(peer, sections),
            lost=functools.partial(self._on_lost, peer),
        )
        self._connections[peer] = (connection, outbox)
        self._events.append(Connected(peer, incarnation))

    def _deliver(self, peer: ControlPeer, sections: list[pa.Buffer]) -> None:
        self._events.append(Message(peer, sections[0].to_pybytes()))

    def _on_lost(self, peer: ControlPeer, reason: str) -> None:
        del self._connections[peer]
        self._events.append(Closed(peer, reason))

    def _advance(self, now_ns: int) -> None:
        raise NotImplementedError

    def _next_deadline_ns(self) -> int | None:
        raise NotImplementedError

    def close(self) -> None:
        for connection, _ in self._connections.values():
            connection.close()
        self._connections = {}
        self._poller.close()


class ControlServer(_Endpoint):
    """The coordinator's end. ``generation`` names this run of the coordinator: a slot of another run is not let in.

    Raises ConfigError when no port of ``ports`` (first, last; (0, 0): any) can be had.
    """

    def __init__(
        self,
        credentials: Credentials,
        *,
        host: str,
        ports: tuple[int, int] = (0, 0),
        generation: int,
        incarnation: str,
        note: Note,
    ) -> None:
        super().__init__()
        self._generation = generation
        self._note = note
        self._next_peer = 0
        self._acceptor = Acceptor(
            self._poller,
            credentials,
            Purpose.CONTROL,
            host=host,
            ports=ports,
            incarnation=incarnation,
            proved=self._on_proved,
            ended=lambda _greeting: None,
            note=note,
        )
        self.port = self._acceptor.port

    def send(self, peer: ControlPeer, data: bytes) -> None:
        """Queue a message. Any thread. To a peer that is gone: dropped, ``poll`` reports it. Raises ProtocolError (size)."""
        self._send(peer, data)

    def drop(self, peer: ControlPeer) -> None:
        """Close a connection without an event of its own. What is queued for it is forgotten. Only the loop's thread."""
        known = self._connections.pop(peer, None)
        if known is not None:
            known[0].close()

    def _on_proved(self, greeting: Proved) -> None:
        claim = greeting.machine.claim
        if claim.generation != self._generation:
            run = f"it belongs to run {claim.generation}, this is {self._generation}"
            self._note(f"refused slot process {claim.incarnation}: {run}")
            greeting.drop("refused")
        elif len(self._connections) >= CONNECTIONS_MAX:
            self._note(f"refused slot process {claim.incarnation}: there are {CONNECTIONS_MAX} connections already")
            greeting.drop("refused")
        elif greeting.send(greeting.machine.accept()):
            peer = ControlPeer(self._next_peer)
            self._next_peer += 1
            self._connect(peer, greeting.release(), claim.incarnation)

    def _advance(self, now_ns: int) -> None:
        self._acceptor.expire(now_ns)

    def _next_deadline_ns(self) -> int | None:
        return self._acceptor.next_deadline_ns()

    def close(self) -> None:
        self._acceptor.close()
        super().close()


class ControlClient(_Endpoint):
    """The slot's end: dials at once, and is over when it has reported ``Closed``. It never dials a second time."""

    def __init__(
        self,
        credentials: Credentials,
        *,
        host: str,
        port: int,
        generation: int,
        incarnation: str,
        patience_ns: int = PATIENCE_NS,
    ) -> None:
        super().__init__()
        self._dialer = Dialer(
            self._poller,
            credentials,
            Claim(Purpose.CONTROL, generation, 0, 0, incarnation),
            (host, port),
            connected=functools.partial(self._connect, COORDINATOR),
            gave_up=lambda reason: self._events.append(Closed(COORDINATOR, reason)),
            patience_ns=patience_ns,
        )

    def send(self, data: bytes) -> None:
        """Queue a message. Any thread. Before ``Connected`` and after ``Closed`` it is dropped. Raises ProtocolError (size)."""
        self._send(COORDINATOR, data)

    def _advance(self, now_ns: int) -> None:
        self._dialer.advance(now_ns)

    def _next_deadline_ns(self) -> int | None:
        return self._dialer.next_deadline_ns()

    def close(self) -> None:
        self._dialer.close()
        super().close()
