"""The data connections of one slot. The data connections transport frames to and from the other slots of a generation.

In each generation, each pair of slots shares one connection. The slot with the larger index dials. Only the thread of the
slot's loop may call a DataExchange. Call order::

    open_generation -> { send | flush | pump }* -> close_generation -> open_generation (a newer one) ... -> close

A peer can open a newer generation before this slot does. The peer authenticates, and then waits until this slot opens the
newer generation. Connections of older generations are dropped.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from socket import socket

import pyarrow as pa

from weir.errors import ProtocolError
from weir.protocol.frames import CREDIT, HEADER_BYTES, Frame, FrameHeader, decode_header
from weir.protocol.ids import Generation, SlotIndex
from weir.transport import sockets
from weir.transport.connection import BYTES_PER_TURN, Connection, MessageFormat, ReadLimit, SendQueue
from weir.transport.connection_setup import DIAL_TIMEOUT_NS, Acceptor, AuthenticatedSession, Dialer, LogConnection
from weir.transport.framing import FrameCodec
from weir.transport.handshake import Claim, ConnectionPurpose, JobCredentials
from weir.transport.poller import READ, Poller

WAITING_MAX = 4096
"""Maximum number of peers that wait for a generation to be opened here. All other slots can wait at the same time.

Beyond this number, a new peer replaces the peer that has waited longest, which then dials again.
"""
_READ_BYTES_MIN = 64 * 1024


@dataclass(frozen=True, slots=True)
class PeerLost:
    """The connection to a slot is lost. Each loss is reported once. No more frames arrive from the lost slot in this
    generation."""

    slot: SlotIndex
    reason: str


@dataclass(frozen=True, slots=True)
class FdReady:
    """A descriptor passed to ``register`` is readable."""

    token: Hashable


class _PeerLink:
    """The connection to one peer of the open generation.

    If ``dialer`` and ``connection`` are None, either the peer has yet to dial, or its connection is lost.
    """

    __slots__ = ("connection", "dialer", "lost", "outbox", "slot")

    def __init__(self, slot: SlotIndex) -> None:
        self.slot = slot
        self.outbox = SendQueue()
        self.dialer: Dialer | None = None
        self.connection: Connection[FrameHeader] | None = None
        self.lost = False


class DataExchange:
    """The data connections of one slot. The constructor starts to listen. ``port`` is the port that other slots dial.

    ``ports`` are the first and last port to try, or (0, 0) for any port. ``log_connection`` is called with a message for every
    dropped connection. Raise ConfigError if no port is free.
    """

    def __init__(
        self,
        credentials: JobCredentials,
        *,
        host: str,
        ports: tuple[int, int] = (0, 0),
        incarnation: str,
        log_connection: LogConnection,
        dial_timeout_ns: int = DIAL_TIMEOUT_NS,
    ) -> None:
        self._credentials = credentials
        self._incarnation = incarnation
        self._log_connection = log_connection
        self._dial_timeout_ns = dial_timeout_ns
        self._poller = Poller()
        self._acceptor = Acceptor(
            self._poller,
            credentials,
            ConnectionPurpose.DATA,
            host=host,
            ports=ports,
            incarnation=incarnation,
            proved=self._on_proved,
            ended=self._on_waiting_ended,
            log_connection=log_connection,
        )
        self.port = self._acceptor.port
        self._waiting: dict[AuthenticatedSession, Claim] = {}
        self._newest = Generation(0)
        self._is_open = False
        self._own_slot = SlotIndex(0)
        self._links: dict[SlotIndex, _PeerLink] = {}
        self._dialing: list[_PeerLink] = []
        self._unsent: dict[SlotIndex, _PeerLink] = {}
        """The peers for which frames were queued since the last call of ``flush`` (``pump`` calls ``flush``)."""
        self._read_limit = ReadLimit()
        self._codec: FrameCodec | None = None
        self._events: list[Frame | PeerLost | FdReady] = []

    @property
    def waiting(self) -> int:
        """Number of authenticated connections of generations that are not deployed in this slot yet."""
        return len(self._waiting)

    # ---- generations -----------------------------------------------------------------------------------

    def open_generation(
        self,
        generation: Generation,
        own_slot: SlotIndex,
        peers: Mapping[SlotIndex, tuple[str, int]],
        schemas: Callable[[int], pa.Schema],
    ) -> None:
        """Start to connect to ``peers``, which contains host and data port of every slot. The entry of this slot is ignored.

        ``schemas`` returns the schema of an edge, and raises KeyError for an unknown edge. ``generation`` must be newer than
        all earlier generations, and the previous generation must be closed. A generation without peers can be opened again.

        Raise ConfigError if this process cannot have a connection to every peer, because its limit of file descriptors is too
        low. The generation is then not open.
        """
        others = len(peers.keys() - {own_slot})
        is_newer = generation > self._newest or (generation == self._newest and not others)
        assert not self._is_open and is_newer, f"generation {generation} opened after {self._newest}"
        connected = sum(claim.generation == generation for claim in self._waiting.values())
        sockets.reserve_descriptors(max(0, others - connected), process=f"Slot {own_slot}")
        self._newest, self._is_open, self._own_slot = generation, True, own_slot
        self._codec = FrameCodec(schemas)
        self._links = {slot: _PeerLink(slot) for slot in peers if slot != own_slot}
        for slot, link in self._links.items():
            if slot < own_slot:
                link.dialer = Dialer(
                    self._poller,
                    self._credentials,
                    Claim(ConnectionPurpose.DATA, generation, own_slot, slot, self._incarnation),
                    peers[slot],
                    connected=functools.partial(self._on_dialed, link),
                    failed=functools.partial(self._on_lost, link),
                    dial_timeout_ns=self._dial_timeout_ns,
                )
                self._dialing.append(link)
        for session, claim in tuple(self._waiting.items()):
            if claim.generation <= generation:
                del self._waiting[session]
                self._admit(session, claim)

    def ready(self) -> bool:
        """Whether every peer of the open generation is connected (and has admitted this slot)."""
        return self._is_open and all(link.connection is not None for link in self._links.values())

    def close_generation(self) -> None:
        """Drop all peers and all queued and received frames. The call has no effect if no generation is open."""
        for link in self._links.values():
            if link.dialer is not None:
                link.dialer.close()
            if link.connection is not None:
                link.connection.close()
        self._links = {}
        self._dialing = []
        self._unsent = {}
        self._codec = None
        self._is_open = False
        self._events.clear()  # the next ``pump`` reports readable descriptors again

    def close(self) -> None:
        self.close_generation()
        self._acceptor.close()
        for session in tuple(self._waiting):
            session.drop("the exchange is closing")
        self._poller.close()

    # ---- frames ------------------------------------------------------------------------------

    def send(self, peer_slot: SlotIndex, frame: Frame) -> None:
        """Queue a frame, even if the peer is not connected yet. The caller uses credit to limit the queue.

        A frame to a lost peer is dropped, and ``pump`` reports the loss. The batch's memory must not change until the frame is
        sent.
        """
        assert self._codec is not None and frame.generation == self._newest, "frame of a generation that is not open"
        link = self._links[peer_slot]
        if not link.lost:
            link.outbox.push(self._codec.encode(frame))
            self._unsent[peer_slot] = link

    def flush(self) -> None:
        """Send queued frames until the kernel accepts no more bytes. ``pump`` sends the rest."""
        unsent, self._unsent = self._unsent, {}
        for link in unsent.values():
            if link.connection is not None:
                link.connection.flush()

    def register(self, fd: int, token: Hashable) -> None:
        """Add ``fd`` to the descriptors that ``pump`` waits for: a readable ``fd`` ends the wait. While ``fd`` is readable, every
        call of ``pump`` returns ``FdReady(token)``."""
        self._poller.watch(fd, READ, lambda _mask, _now_ns: self._events.append(FdReady(token)))

    def pump(self, now_ns: int, timeout_ns: int = 0) -> list[Frame | PeerLost | FdReady]:
        """Send and receive without blocking. A call receives at most about 4 MiB, or 64 KiB per ready connection if that
        is more. The frames of each peer are in order.

        If no event is ready, wait at most ``timeout_ns``, which is rounded up to whole milliseconds. ``now_ns`` is a monotonic
        clock.
        """
        if self._dialing:
            self._dialing = [link for link in self._dialing if link.dialer is not None]
            for link in self._dialing:
                if link.dialer is not None:
                    link.dialer.advance(now_ns)
        self.flush()
        self._acceptor.expire(now_ns)
        ready = self._poller.wait(self._wait_ns(now_ns, timeout_ns))
        self._read_limit.bytes_max = max(_READ_BYTES_MIN, BYTES_PER_TURN // max(1, len(ready)))
        for handler, mask in ready:
            handler(mask, now_ns)
        events, self._events = self._events, []
        return events

    def _wait_ns(self, now_ns: int, timeout_ns: int) -> int:
        if self._events or timeout_ns <= 0:
            return 0
        deadlines = [self._acceptor.next_deadline_ns()]
        deadlines += [link.dialer.next_deadline_ns() for link in self._dialing if link.dialer is not None]
        return max(0, min([timeout_ns, *(deadline - now_ns for deadline in deadlines if deadline is not None)]))

    # ---- connections -------------------------------------------------------------------------

    def _on_proved(self, session: AuthenticatedSession) -> None:
        claim = session.machine.claim
        if claim.generation > self._newest:
            self._keep_waiting(session, claim)
        else:
            self._admit(session, claim)

    def _keep_waiting(self, session: AuthenticatedSession, claim: Claim) -> None:
        for other, waiting_claim in tuple(self._waiting.items()):
            if (waiting_claim.generation, waiting_claim.dialer, waiting_claim.acceptor) == (
                claim.generation,
                claim.dialer,
                claim.acceptor,
            ):
                other.drop("replaced by a newer connection of the same slot")
        if len(self._waiting) >= WAITING_MAX:
            next(iter(self._waiting)).drop("too many peers are waiting")
        self._waiting[session] = claim

    def _on_waiting_ended(self, session: AuthenticatedSession) -> None:
        self._waiting.pop(session, None)

    def _admit(self, session: AuthenticatedSession, claim: Claim) -> None:
        if not session.probe():
            return  # the peer has closed the connection in the meantime, and can connect again
        link = self._links.get(SlotIndex(claim.dialer))
        refusal = None
        if not self._is_open or claim.generation != self._newest:
            refusal = f"generation {claim.generation} is not open here (newest: {self._newest})"
        elif claim.acceptor != self._own_slot:
            refusal = f"the peer dialed slot {claim.acceptor}, but this is slot {self._own_slot}"
        elif link is None or link.slot < self._own_slot:
            refusal = f"slot {claim.dialer} must not dial slot {self._own_slot}"
        elif link.connection is not None or link.lost:
            refusal = "the slot already had a connection in this generation"
        if refusal is not None or link is None:
            self._log_connection(f"refused slot {claim.dialer} ({claim.incarnation}) on the data port {self.port}: {refusal}")
            session.drop("refused")
        elif session.send(session.machine.accept()):
            self._connect(link, session.release())

    def _on_dialed(self, link: _PeerLink, connected: socket, _incarnation: str) -> None:
        link.dialer = None
        self._connect(link, connected)

    def _connect(self, link: _PeerLink, connected: socket) -> None:
        assert self._codec is not None, "a connection without a generation"
        link.connection = Connection(
            self._poller,
            connected,
            MessageFormat(HEADER_BYTES, functools.partial(self._parse, link.slot)),
            outbox=link.outbox,
            deliver=functools.partial(self._deliver, self._codec),
            lost=functools.partial(self._on_lost, link),
            read_limit=self._read_limit,
        )
        link.connection.flush()

    def _on_lost(self, link: _PeerLink, reason: str) -> None:
        link.lost = True
        link.dialer = None
        link.connection = None
        link.outbox.clear()
        self._log_connection(f"slot {self._own_slot} lost slot {link.slot} in generation {self._newest}: {reason}")
        self._events.append(PeerLost(link.slot, reason))

    def _parse(self, peer: SlotIndex, data: memoryview) -> tuple[FrameHeader, tuple[int, int]]:
        """Check a header, and return it with its section sizes. The check is made before memory is allocated for the claimed
        sizes."""
        header = decode_header(data)
        if header.generation != self._newest:
            raise ProtocolError(f"slot {peer} sent a frame of generation {header.generation} in generation {self._newest}")
        # Subtask i of every chain is in slot i, and credit travels from the target to the source.
        _, source, target = header.channel
        sender, receiver = (target, source) if header.kind is CREDIT else (source, target)
        if sender != peer or receiver != self._own_slot:
            raise ProtocolError(
                f"slot {peer} sent a {header.kind.name} frame of channel {header.channel} to slot {self._own_slot}"
            )
        return header, (header.determinants_bytes, header.payload_bytes)

    def _deliver(self, codec: FrameCodec, header: FrameHeader, sections: list[pa.Buffer]) -> None:
        determinants, payload = sections
        self._events.append(codec.decode(header, determinants, payload))
