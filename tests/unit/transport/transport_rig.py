"""What the tests of the transport share: real sockets on loopback, a clock that only the test moves."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa

from weir.protocol.frames import Frame, FrameKind
from weir.protocol.ids import ChannelId, Generation, SlotIndex
from weir.transport.control import ControlClient, ControlEvent, ControlServer
from weir.transport.dialer import Dialer
from weir.transport.exchange import DataExchange, FdReady, PeerLost
from weir.transport.handshake import Claim, Credentials
from weir.transport.poller import Poller

CREDENTIALS = Credentials(b"sixteen bytes, at least", "rig")
SCHEMA = pa.schema([("key", pa.int64()), ("word", pa.string())])
TURNS_MAX = 5_000
TURN_NS = 10_000_000
HOST = "127.0.0.1"


def data_frame(source: int, target: int, sequence: int, *, rows: int = 10, generation: int = 1, edge: int = 0) -> Frame:
    keys = pa.array(range(sequence, sequence + rows), pa.int64())
    batch = pa.record_batch([keys, keys.cast(pa.string())], schema=SCHEMA)
    channel = ChannelId(edge, source, target)
    return Frame(FrameKind.DATA, channel, Generation(generation), 0, sequence, batch.nbytes, batch, batch.nbytes)


def barrier(source: int, target: int, checkpoint: int, *, generation: int = 1) -> Frame:
    return Frame(FrameKind.BARRIER, ChannelId(0, source, target), Generation(generation), 0, 0, checkpoint)


def schema_of_edge(edge: int) -> pa.Schema:
    return {0: SCHEMA}[edge]


@dataclass
class Clock:
    now_ns: int = 1_000_000_000


def turn_until(clock: Clock, done: Callable[[], bool], *turns: Callable[[int], None], turn_ns: int = TURN_NS) -> None:
    """Give every party a turn, ``turn_ns`` of the test's clock apart, until ``done``. In a turn sockets have a millisecond."""
    for _ in range(TURNS_MAX):
        if done():
            return
        clock.now_ns += turn_ns
        for turn in turns:
            turn(clock.now_ns)
    raise AssertionError(f"not done after {TURNS_MAX} turns")


@dataclass
class Slot:
    """A slot's data plane and all that has come in."""

    index: int
    exchange: DataExchange
    notes: list[str]
    frames: list[Frame] = field(default_factory=list)
    lost: list[PeerLost] = field(default_factory=list)
    ready_fds: list[FdReady] = field(default_factory=list)

    def turn(self, now_ns: int) -> None:
        for event in self.exchange.pump(now_ns, 1_000_000):
            match event:
                case Frame():
                    self.frames.append(event)
                case PeerLost():
                    self.lost.append(event)
                case FdReady():
                    self.ready_fds.append(event)

    def close(self) -> None:
        self.exchange.close()

    def open(self, generation: int, ports: dict[int, int]) -> None:
        peers = {SlotIndex(slot): (HOST, port) for slot, port in ports.items()}
        self.exchange.open_generation(Generation(generation), SlotIndex(self.index), peers, schema_of_edge)

    def send(self, frame: Frame) -> None:
        target = frame.channel.source if frame.kind is FrameKind.CREDIT else frame.channel.target
        self.exchange.send(SlotIndex(target), frame)


def new_slot(index: int, *, credentials: Credentials = CREDENTIALS, patience_ns: int = 60_000_000_000) -> Slot:
    notes: list[str] = []
    exchange = DataExchange(credentials, host=HOST, incarnation=f"slot-{index}", note=notes.append, patience_ns=patience_ns)
    return Slot(index, exchange, notes)


@dataclass
class End:
    """One end of control connections and all that it was told."""

    endpoint: ControlServer | ControlClient
    notes: list[str] = field(default_factory=list)
    events: list[ControlEvent] = field(default_factory=list)

    def turn(self, now_ns: int) -> None:
        self.events += self.endpoint.poll(now_ns, 1_000_000)


class Intruder:
    """A process that knows the secret, or does not, and says whatever the test wants once it is let in."""

    def __init__(self, port: int, claim: Claim, *, patience_ns: int = 60_000_000_000) -> None:
        self._poller = Poller()
        self.socket: socket.socket | None = None
        self.gave_up: list[str] = []
        self._dialer = Dialer(
            self._poller,
            CREDENTIALS,
            claim,
            (HOST, port),
            connected=self._keep,
            gave_up=self.gave_up.append,
            patience_ns=patience_ns,
        )

    def _keep(self, connected: socket.socket, _incarnation: str) -> None:
        self.socket = connected

    def turn(self, now_ns: int) -> None:
        self._dialer.advance(now_ns)
        for handler, mask in self._poller.wait(1_000_000):
            handler(mask, now_ns)

    def is_waiting_to_be_let_in(self) -> bool:
        """The acceptor has proved itself, and our proof is on its way."""
        waits: bool = self._dialer.is_waiting_to_be_let_in()
        return waits

    def say(self, data: bytes) -> None:
        """Whatever the kernel takes, whether the other end still listens or not."""
        assert self.socket is not None
        try:
            self.socket.send(data)
        except OSError:
            pass

    def close(self) -> None:
        self._dialer.close()
        self._poller.close()
        if self.socket is not None:
            self.socket.close()


def is_hung_up(connected: socket.socket) -> bool:
    """Whether the other end has closed; the socket must be non-blocking."""
    try:
        return connected.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
