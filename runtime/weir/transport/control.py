"""Control connections between the coordinator and its slots, for byte messages that arrive in order per connection.

Only the thread of the loop that owns the endpoint calls ``poll``. Any thread may call ``send`` and ``wake``. ``fileno`` is
readable whenever ``poll`` has work, so another poller can wait for it (``DataExchange.register``). On the wire, a
message is its length (u32, little endian) followed by its bytes. Messages that were sent just before ``close`` can be lost.
A sender can be sure that all its messages have arrived only after the peer has closed its end of the connection.
"""

from __future__ import annotations

import functools
import struct
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
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
"""Maximum size of a message. An acknowledgement with thousands of splits can take several MiB."""
QUEUED_BYTES_MAX = 256 * 1024 * 1024
"""Maximum number of bytes that are queued for a peer. A peer that does not read reaches this limit and is dropped."""
CONNECTIONS_MAX = 4096
_LENGTH = struct.Struct("<I")

ControlPeer = NewType("ControlPeer", int)
"""The number of a control connection within its endpoint. Numbers are not reused."""
COORDINATOR = ControlPeer(0)
"""The only peer of a ``ControlClient``."""


@dataclass(frozen=True, slots=True)
class Connected:
    """The peer is connected. ``incarnation`` is the proven incarnation of the peer. The peer of a server is a slot, and the
    peer of a client is the coordinator."""

    peer: ControlPeer
    incarnation: str


@dataclass(frozen=True, slots=True)
class Message:
    peer: ControlPeer
    data: bytes


@dataclass(frozen=True, slots=True)
class Closed:
    """The connection is closed. Each closing is reported once. A client also reports ``Closed`` if it could not connect."""

    peer: ControlPeer
    reason: str


ControlEvent: TypeAlias = Connected | Message | Closed


def _parse(data: memoryview) -> tuple[None, tuple[int]]:
    (length,) = _LENGTH.unpack(data)
    if not 0 < length <= MESSAGE_BYTES_MAX:
        raise ProtocolError(f"control message of {length} bytes, expected 1 to {MESSAGE_BYTES_MAX}")
    return None, (length,)


def frame_message(data: bytes) -> bytes:
    """Return ``data`` in the format of a control connection: the length, then the data."""
    return _LENGTH.pack(len(data)) + data


_FORMAT: MessageFormat[None] = MessageFormat(_LENGTH.size, _parse)


class _Endpoint(ABC):
    """Base class of server and client. The base class contains the connections, the queue of messages from other threads, and
    ``poll``."""

    def __init__(self) -> None:
        self._poller = Poller()
        self._wakeup = Wakeup(self._poller)
        self._connections: dict[ControlPeer, tuple[Connection[None], SendQueue]] = {}
        self._queue: deque[tuple[ControlPeer, bytes, bool]] = deque()
        """The peer, the message, and whether the message waits for the next message to this peer."""
        self._events: list[ControlEvent] = []
        self._owner: int | None = None

    def fileno(self) -> int:
        return self._poller.fileno()

    def wake(self) -> None:
        """Wake a waiting ``poll``. Any thread may call ``wake``."""
        self._wakeup.wake()

    def poll(self, now_ns: int, timeout_ns: int = 0) -> list[ControlEvent]:
        """Send and receive without blocking, and return the events. If no event is ready, wait at most ``timeout_ns`` (rounded
        up to 1 ms) for an event or ``wake``."""
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

    def _send(self, peer: ControlPeer, messages: Sequence[bytes], *, waits: bool = False) -> None:
        for data in messages:
            if not 0 < len(data) <= MESSAGE_BYTES_MAX:
                raise ProtocolError(f"cannot send a control message of {len(data)} bytes, expected 1 to {MESSAGE_BYTES_MAX}")
        self._queue.extend((peer, data, waits) for data in messages)
        if messages and threading.get_ident() != self._owner:
            self._wakeup.wake()

    def _flush(self) -> None:
        """Move queued messages to their connections, in the order of the calls to ``send``, then send as many bytes as the
        kernel accepts. The poller reports when a connection accepts more bytes."""
        unsent: dict[ControlPeer, Connection[None]] = {}
        while self._queue:
            peer, data, waits = self._queue.popleft()
            peer_connection = self._connections.get(peer)
            if peer_connection is None:
                continue  # the connection is not established yet, or is closed: drop the message
            connection, outbox = peer_connection
            outbox.push((_LENGTH.pack(len(data)), data))
            if not waits:
                unsent[peer] = connection
            if outbox.bytes_queued > QUEUED_BYTES_MAX:
                connection.close()
                self._on_lost(peer, f"the peer does not read, and more than {QUEUED_BYTES_MAX} bytes are queued for the peer")
        for connection in unsent.values():
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

    @abstractmethod
    def _advance(self, now_ns: int) -> None: ...

    @abstractmethod
    def _next_deadline_ns(self) -> int | None: ...

    def close(self) -> None:
        for connection, _ in self._connections.values():
            connection.close()
        self._connections = {}
        self._poller.close()


class ControlServer(_Endpoint):
    """The coordinator's end of the control connections. ``generation`` identifies the coordinator's run. Slots of other runs
    are refused.

    ``ports`` are the first and last port to try, or (0, 0) for any port. Raise ConfigError if no port is free.
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

    def send(self, peer: ControlPeer, data: bytes, *, waits: bool = False) -> None:
        """Queue a message. If ``waits`` is True, the message is sent together with the next message to ``peer``. Any thread may
        call ``send``. A message to a closed connection is dropped. ``poll`` reports the closing, unless ``drop`` has closed the
        connection. Raise ProtocolError for an invalid size."""
        self._send(peer, (data,), waits=waits)

    def drop(self, peer: ControlPeer) -> None:
        """Close a connection without reporting ``Closed``. Queued messages are dropped. Only the loop's thread may call
        ``drop``."""
        peer_connection = self._connections.pop(peer, None)
        if peer_connection is not None:
            peer_connection[0].close()

    def _on_proved(self, session: AuthenticatedSession) -> None:
        claim = session.machine.claim
        if claim.generation != self._generation:
            run = f"the slot belongs to run {claim.generation}, but this is run {self._generation}"
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
    """The slot's end of the control connection. The client dials at once, and is finished once it has reported ``Closed``. It
    never reconnects."""

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

    def send(self, *messages: bytes) -> None:
        """Queue messages. Any thread may call ``send``. Messages before ``Connected`` and after ``Closed`` are dropped. Raise
        ProtocolError for an invalid size."""
        self._send(COORDINATOR, messages)

    def _advance(self, now_ns: int) -> None:
        self._dialer.advance(now_ns)

    def _next_deadline_ns(self) -> int | None:
        return self._dialer.next_deadline_ns()

    def close(self) -> None:
        self._dialer.close()
        super().close()
