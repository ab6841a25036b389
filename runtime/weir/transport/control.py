"""Control connections: byte messages between the coordinator and its slots, in order per connection.

One thread calls ``poll``: the loop that owns the endpoint. Any thread may call ``send`` and ``wake``. ``fileno`` is readable
whenever ``poll`` has work, so another loop's selector can wait for it (``DataExchange.register``). On the wire, a message is its
length (u32, little endian) followed by its bytes. It is certain that the last message before ``close`` has arrived only after
the peer has closed its end.
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
from weir.transport.connection import Connection, MessageFormat, SendQueue
from weir.transport.connection_setup import DIAL_TIMEOUT_NS, Acceptor, AuthenticatedSession, Dialer, LogConnection
from weir.transport.handshake import Claim, ConnectionPurpose, JobCredentials
from weir.transport.poller import Poller, Wakeup

MESSAGE_BYTES_MAX = 64 * 1024 * 1024
"""An acknowledgement with thousands of splits takes some MiB."""
QUEUED_BYTES_MAX = 256 * 1024 * 1024
"""Limit per connection. A peer that does not read is dropped."""
CONNECTIONS_MAX = 4096
_LENGTH = struct.Struct("<I")

ControlPeer = NewType("ControlPeer", int)
"""One control connection of an endpoint. Numbers are not reused."""
COORDINATOR = ControlPeer(0)
"""The only peer of a ``ControlClient``."""


@dataclass(frozen=True, slots=True)
class Connected:
    """The peer is connected. ``incarnation`` is proven (the slot's at the server, the coordinator's at the client)."""

    peer: ControlPeer
    incarnation: str


@dataclass(frozen=True, slots=True)
class Message:
    peer: ControlPeer
    data: bytes


@dataclass(frozen=True, slots=True)
class Closed:
    """The connection is closed. This is reported once. A client also reports it if it could not connect."""

    peer: ControlPeer
    reason: str


ControlEvent: TypeAlias = Connected | Message | Closed


def _parse(data: memoryview) -> tuple[None, tuple[int]]:
    (length,) = _LENGTH.unpack(data)
    if not 0 < length <= MESSAGE_BYTES_MAX:
        raise ProtocolError(f"control message of {length} bytes, expected 1 to {MESSAGE_BYTES_MAX}")
    return None, (length,)


_FORMAT: MessageFormat[None] = MessageFormat(_LENGTH.size, _parse)


class _Endpoint:
    """Base of server and client: connections, the queue from other threads, the turn."""

    def __init__(self) -> None:
        self._poller = Poller()
        self._wakeup = Wakeup(self._poller)
        self._connections: dict[ControlPeer, tuple[Connection[None], SendQueue]] = {}
        self._queue: deque[tuple[ControlPeer, bytes]] = deque()
        self._events: list[ControlEvent] = []
        self._owner: int | None = None

    def fileno(self) -> int:
        return self._poller.fileno()

    def wake(self) -> None:
        """Wake a waiting ``poll``. Any thread."""
        self._wakeup.wake()

    def poll(self, now_ns: int, timeout_ns: int = 0) -> list[ControlEvent]:
        """Send and receive what is possible. Wait at most ``timeout_ns`` (rounded up to 1 ms) for an event or ``wake``."""
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
            raise ProtocolError(f"cannot send a control message of {len(data)} bytes, expected 1 to {MESSAGE_BYTES_MAX}")
        self._queue.append((peer, data))
        if threading.get_ident() != self._owner:
            self._wakeup.wake()

    def _flush(self) -> None:
        """Move queued messages to their connections, in the order of the calls to ``send``, then send what the kernel accepts."""
        while self._queue:
            peer, data = self._queue.popleft()
            peer_connection = self._connections.get(peer)
            if peer_connection is None:
                continue  # closed, and reported
            connection, outbox = peer_connection
            outbox.push((_LENGTH.pack(len(data)), data))
            if outbox.bytes_queued > QUEUED_BYTES_MAX:
                connection.close()
                self._on_lost(peer, f"the peer does not read: more than {QUEUED_BYTES_MAX} bytes are queued for it")
        for connection, _ in tuple(self._connections.values()):
            connection.flush()

    def _connect(self, peer: ControlPeer, connected: socket, incarnation: str) -> None:
        outbox = SendQueue()
        connection = Connection(
            self._poller,
            connected,
            _FORMAT,
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
    """The coordinator's end. ``generation`` identifies the coordinator's run: slots of another run are refused.

    Raise ConfigError if no port of ``ports`` (first, last; (0, 0): any) is free.
    """

    def __init__(
        self,
        credentials: JobCredentials,
        *,
        host: str,
        ports: tuple[int, int] = (0, 0),
        generation: int,
        incarnation: str,
        log_connection: LogConnection,
    ) -> None:
        super().__init__()
        self._generation = generation
        self._log_connection = log_connection
        self._next_peer = 0
        self._acceptor = Acceptor(
            self._poller,
            credentials,
            ConnectionPurpose.CONTROL,
            host=host,
            ports=ports,
            incarnation=incarnation,
            proved=self._on_proved,
            ended=lambda _session: None,
            log_connection=log_connection,
        )
        self.port = self._acceptor.port

    def send(self, peer: ControlPeer, data: bytes) -> None:
        """Queue a message. Any thread. A message to a closed peer is dropped; ``poll`` reports the closing. Raise ProtocolError
        (size)."""
        self._send(peer, data)

    def drop(self, peer: ControlPeer) -> None:
        """Close a connection without reporting it. Queued messages are dropped. Only the loop's thread."""
        peer_connection = self._connections.pop(peer, None)
        if peer_connection is not None:
            peer_connection[0].close()

    def _on_proved(self, session: AuthenticatedSession) -> None:
        claim = session.machine.claim
        if claim.generation != self._generation:
            run = f"it belongs to run {claim.generation}, but this is run {self._generation}"
            self._log_connection(f"refused slot process {claim.incarnation}: {run}")
            session.drop("refused")
        elif len(self._connections) >= CONNECTIONS_MAX:
            self._log_connection(
                f"refused slot process {claim.incarnation}: the limit of {CONNECTIONS_MAX} connections is reached"
            )
            session.drop("refused")
        elif session.send(session.machine.accept()):
            peer = ControlPeer(self._next_peer)
            self._next_peer += 1
            self._connect(peer, session.release(), claim.incarnation)

    def _advance(self, now_ns: int) -> None:
        self._acceptor.expire(now_ns)

    def _next_deadline_ns(self) -> int | None:
        return self._acceptor.next_deadline_ns()

    def close(self) -> None:
        self._acceptor.close()
        super().close()


class ControlClient(_Endpoint):
    """The slot's end. It dials at once and is finished once it has reported ``Closed``. It never reconnects."""

    def __init__(
        self,
        credentials: JobCredentials,
        *,
        host: str,
        port: int,
        generation: int,
        incarnation: str,
        dial_timeout_ns: int = DIAL_TIMEOUT_NS,
    ) -> None:
        super().__init__()
        self._dialer = Dialer(
            self._poller,
            credentials,
            Claim(ConnectionPurpose.CONTROL, generation, 0, 0, incarnation),
            (host, port),
            connected=functools.partial(self._connect, COORDINATOR),
            failed=lambda reason: self._events.append(Closed(COORDINATOR, reason)),
            dial_timeout_ns=dial_timeout_ns,
        )

    def send(self, data: bytes) -> None:
        """Queue a message. Any thread. The message is dropped before ``Connected`` and after ``Closed``. Raise ProtocolError (size)."""
        self._send(COORDINATOR, data)

    def _advance(self, now_ns: int) -> None:
        self._dialer.advance(now_ns)

    def _next_deadline_ns(self) -> int | None:
        return self._dialer.next_deadline_ns()

    def close(self) -> None:
        self._dialer.close()
        super().close()
