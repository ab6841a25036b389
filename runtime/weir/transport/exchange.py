"""The data plane of one slot: frames to and from the other slots of a generation.

One connection per pair of slots and generation; the slot with the larger index dials the other. One
thread, the slot's loop, makes every call. Call order::

    open_generation -> { send | pump }* -> close_generation -> open_generation (a newer one) ... -> close

A peer that is ahead of us (deployed to a generation that we have not heard of) proves itself and then
waits, parked, until that generation is opened here. Anything of an older one is dropped.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from socket import socket

import pyarrow as pa

from weir.errors import ProtocolError
from weir.protocol.frames import HEADER_BYTES, Frame, FrameHeader, FrameKind, decode_header
from weir.protocol.ids import Generation, SlotIndex
from weir.transport.acceptor import Acceptor, Note, Proved
from weir.transport.connection import BYTES_PER_TURN, Connection
from weir.transport.dialer import PATIENCE_NS, Dialer
from weir.transport.framing import FrameCodec
from weir.transport.handshake import Claim, Credentials, Purpose
from weir.transport.poller import READ, Poller
from weir.transport.streams import Cut, Outbox

PARKED_MAX = 512
"""Peers that wait for a generation to be opened here. One more drops the one that has waited longest (it dials again)."""
_READ_BYTES_MIN = 64 * 1024


@dataclass(frozen=True, slots=True)
class PeerLost:
    """The connection is gone; nothing more comes from this slot in this generation. Reported once."""

    slot: SlotIndex
    reason: str


@dataclass(frozen=True, slots=True)
class FdReady:
    """A descriptor given to ``register`` is readable."""

    token: Hashable


class _Link:
    """What there is of one peer in the open generation. Neither dialer nor connection: waited for, or lost."""

    __slots__ = ("connection", "dialer", "lost", "outbox", "slot")

    def __init__(self, slot: SlotIndex) -> None:
        self.slot = slot
        self.outbox = Outbox()
        self.dialer: Dialer | None = None
        self.connection: Connection[FrameHeader] | None = None
        self.lost = False


class DataExchange:
    """Listens as soon as it is made; ``port`` is what other slots are to be told.

    ``ports``: first and last port to try, (0, 0) for any. ``note`` is told of every connection that was
    dropped, for a log. Raises ConfigError when no port can be had.
    """

    def __init__(
        self,
        credentials: Credentials,
        *,
        host: str,
        ports: tuple[int, int] = (0, 0),
        incarnation: str,
        note: Note,
        patience_ns: int = PATIENCE_NS,
    ) -> None:
        self._credentials = credentials
        self._incarnation = incarnation
        self._note = note
        self._patience_ns = patience_ns
        self._poller = Poller()
        self._acceptor = Acceptor(
            self._poller,
            credentials,
            Purpose.DATA,
            host=host,
            ports=ports,
            incarnation=incarnation,
            proved=self._on_proved,
            ended=self._on_parked_ended,
            note=note,
        )
        self.port = self._acceptor.port
        self._parked: dict[Proved, Claim] = {}
        self._newest = Generation(0)
        self._is_open = False
        self._me = SlotIndex(0)
        self._links: dict[SlotIndex, _Link] = {}
        self._codec: FrameCodec | None = None
        self._events: list[Frame | PeerLost | FdReady] = []

    @property
    def parked(self) -> int:
        """Peers that have proved themselves and wait for a generation that is not open here yet."""
        return len(self._parked)

    # ---- a generation ------------------------------------------------------------------------

    def open_generation(
        self,
        generation: Generation,
        me: SlotIndex,
        peers: Mapping[SlotIndex, tuple[str, int]],
        schemas: Callable[[int], pa.Schema],
    ) -> None:
        """Begin to connect to ``peers`` (host and data port of every other slot; our own entry is ignored).

        ``schemas`` gives the schema of an edge and raises KeyError for an unknown one. ``generation`` must be
        newer than any that was opened before, and that one be closed.
        """
        assert not self._is_open and generation > self._newest, f"generation {generation} opened after {self._newest}"
        self._newest, self._is_open, self._me = generation, True, me
        self._codec = FrameCodec(schemas)
        self._links = {slot: _Link(slot) for slot in peers if slot != me}
        for slot, link in self._links.items():
            if slot < me:
                link.dialer = Dialer(
                    self._poller,
                    self._credentials,
                    Claim(Purpose.DATA, generation, me, slot, self._incarnation),
                    peers[slot],
                    connected=functools.partial(self._on_dialled, link),
                    gave_up=functools.partial(self._on_lost, link),
                    patience_ns=self._patience_ns,
                )
        for greeting, claim in tuple(self._parked.items()):
            if claim.generation <= generation:
                del self._parked[greeting]
                self._let_in(greeting, claim)

    def ready(self) -> bool:
        """Every peer of the open generation is connected (and has let us in)."""
        return self._is_open and all(link.connection is not None for link in self._links.values())

    def close_generation(self) -> None:
        """Drop all peers, forget what is queued and what has come in. May be called when none is open."""
        for link in self._links.values():
            if link.dialer is not None:
                link.dialer.close()
            if link.connection is not None:
                link.connection.close()
        self._links = {}
        self._codec = None
        self._is_open = False
        self._events.clear()  # descriptors that are still readable are reported again

    def close(self) -> None:
        self.close_generation()
        self._acceptor.close()
        for greeting in tuple(self._parked):
            greeting.drop("the exchange is closing")
        self._poller.close()

    # ---- frames ------------------------------------------------------------------------------

    def send(self, peer_slot: SlotIndex, frame: Frame) -> None:
        """Queue behind what is queued already; may be called before the peer is connected. The caller bounds it by credit.

        To a peer that is lost nothing is sent (``pump`` reports it). The batch's memory must stay as it is until it has left.
        """
        assert self._codec is not None and frame.generation == self._newest, "a frame of a generation that is not open"
        link = self._links[peer_slot]
        if not link.lost:
            link.outbox.push(self._codec.encode(frame))

    def register(self, fd: int, token: Hashable) -> None:
        """``pump`` also waits for ``fd`` to be readable and then reports ``FdReady(token)``, at every call until it is read."""
        self._poller.watch(fd, READ, lambda _mask, _now_ns: self._events.append(FdReady(token)))

    def pump(self, now_ns: int, timeout_ns: int = 0) -> list[Frame | PeerLost | FdReady]:
        """Send and receive what is possible, about 4 MiB of input at most; frames are in order per peer.

        Waits at most ``timeout_ns`` (whole milliseconds, rounded up) if there is nothing to do. ``now_ns`` is a monotonic clock.
        """
        for link in self._links.values():
            if link.dialer is not None:
                link.dialer.advance(now_ns)
            if link.connection is not None:
                link.connection.flush()
        self._acceptor.expire(now_ns)
        ready = self._poller.wait(self._wait_ns(now_ns, timeout_ns))
        share = max(_READ_BYTES_MIN, BYTES_PER_TURN // max(1, len(ready)))
        for link in self._links.values():
            if link.connection is not None:
                link.connection.read_bytes_max = share
        for handler, mask in ready:
            handler(mask, now_ns)
        events, self._events = self._events, []
        return events

    def _wait_ns(self, now_ns: int, timeout_ns: int) -> int:
        if self._events or timeout_ns <= 0:
            return 0
        deadlines = [self._acceptor.next_deadline_ns()]
        deadlines += [link.dialer.next_deadline_ns() for link in self._links.values() if link.dialer is not None]
        return max(0, min([timeout_ns, *(deadline - now_ns for deadline in deadlines if deadline is not None)]))

    # ---- connections -------------------------------------------------------------------------

    def _on_proved(self, greeting: Proved) -> None:
        claim = greeting.machine.claim
        if claim.generation > self._newest:
            self._park(greeting, claim)
        else:
            self._let_in(greeting, claim)

    def _park(self, greeting: Proved, claim: Claim) -> None:
        for other, known in tuple(self._parked.items()):
            if (known.generation, known.dialer, known.acceptor) == (claim.generation, claim.dialer, claim.acceptor):
                other.drop("dialled again")
        if len(self._parked) >= PARKED_MAX:
            next(iter(self._parked)).drop("too many are waiting")
        self._parked[greeting] = claim

    def _on_parked_ended(self, greeting: Proved) -> None:
        self._parked.pop(greeting, None)

    def _let_in(self, greeting: Proved, claim: Claim) -> None:
        if not greeting.probe():
            return  # hung up meanwhile: it must not be taken for that slot's only connection
        link = self._links.get(SlotIndex(claim.dialer))
        refusal = None
        if not self._is_open or claim.generation != self._newest:
            refusal = f"generation {claim.generation} is not open here (newest: {self._newest})"
        elif claim.acceptor != self._me:
            refusal = f"it was meant for slot {claim.acceptor}, this is slot {self._me}"
        elif link is None or link.slot < self._me:
            refusal = f"slot {claim.dialer} is none that dials slot {self._me}"
        elif link.connection is not None or link.lost:
            refusal = "that slot has had its connection in this generation"
        if refusal is not None or link is None:
            self._note(f"refused slot {claim.dialer} ({claim.incarnation}) on the data port {self.port}: {refusal}")
            greeting.drop("refused")
        elif greeting.send(greeting.machine.accept()):
            self._connect(link, greeting.release())

    def _on_dialled(self, link: _Link, connected: socket, _incarnation: str) -> None:
        link.dialer = None
        self._connect(link, connected)

    def _connect(self, link: _Link, connected: socket) -> None:
        assert self._codec is not None, "a connection without a generation"
        link.connection = Connection(
            self._poller,
            connected,
            Cut(HEADER_BYTES, functools.partial(self._parse, link.slot)),
            outbox=link.outbox,
            deliver=functools.partial(self._deliver, self._codec),
            lost=functools.partial(self._on_lost, link),
        )
        link.connection.flush()

    def _on_lost(self, link: _Link, reason: str) -> None:
        link.lost = True
        link.dialer = None
        link.connection = None
        link.outbox.clear()
        self._note(f"slot {self._me} lost slot {link.slot} in generation {self._newest}: {reason}")
        self._events.append(PeerLost(link.slot, reason))

    def _parse(self, peer: SlotIndex, data: memoryview) -> tuple[FrameHeader, tuple[int, int]]:
        """Checked before memory is set aside for what the header claims."""
        header = decode_header(data)
        if header.generation != self._newest:
            raise ProtocolError(f"slot {peer} sent a frame of generation {header.generation} in generation {self._newest}")
        if (header.channel.source, header.channel.target) != self._ends(header, peer):
            raise ProtocolError(f"slot {peer} sent a {header.kind.name} frame of channel {header.channel} to slot {self._me}")
        return header, (header.determinants_bytes, header.payload_bytes)

    def _ends(self, header: FrameHeader, peer: SlotIndex) -> tuple[int, int]:
        """Subtask i of every chain lives in slot i; credit travels against the data."""
        return (self._me, peer) if header.kind is FrameKind.CREDIT else (peer, self._me)

    def _deliver(self, codec: FrameCodec, header: FrameHeader, sections: list[pa.Buffer]) -> None:
        determinants, payload = sections
        self._events.append(codec.decode(header, determinants, payload))
