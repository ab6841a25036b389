"""Slots, intruders and a fake clock for transport tests over loopback sockets."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa

from weir.protocol.frames import Frame, FrameKind
from weir.protocol.ids import ChannelId, Generation, SlotIndex
from weir.transport.connection_setup import Dialer
from weir.transport.control import ControlClient, ControlEvent, ControlServer
from weir.transport.exchange import DataExchange, FdReady, PeerLost
from weir.transport.handshake import Claim, JobCredentials
from weir.transport.poller import Poller

CREDENTIALS = JobCredentials(b"sixteen bytes, at least", "rig")
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
    """Run turns of all participants until ``done`` returns True. The fake clock advances ``turn_ns`` per turn."""
    for _ in range(TURNS_MAX):
        if done():
            return
        clock.now_ns += turn_ns
        for turn in turns:
            turn(clock.now_ns)
    raise AssertionError(f"not done after {TURNS_MAX} turns")


@dataclass
class Slot:
    """The data exchange of a slot, and all frames and events that it received."""

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


def new_slot(index: int, *, credentials: JobCredentials = CREDENTIALS, dial_timeout_ns: int = 60_000_000_000) -> Slot:
    notes: list[str] = []
    exchange = DataExchange(
        credentials, host=HOST, incarnation=f"slot-{index}", log_connection=notes.append, dial_timeout_ns=dial_timeout_ns
    )
    return Slot(index, exchange, notes)


@dataclass
class End:
    """A control server or client, and all events that it reported."""

    endpoint: ControlServer | ControlClient
    notes: list[str] = field(default_factory=list)
    events: list[ControlEvent] = field(default_factory=list)

    def turn(self, now_ns: int) -> None:
        self.events += self.endpoint.poll(now_ns, 1_000_000)


class Intruder:
    """A process that connects with a valid secret and then sends arbitrary data."""

    def __init__(self, port: int, claim: Claim, *, dial_timeout_ns: int = 60_000_000_000) -> None:
        self._poller = Poller()
        self.socket: socket.socket | None = None
        self.gave_up: list[str] = []
        self._dialer = Dialer(
            self._poller,
            CREDENTIALS,
            claim,
            (HOST, port),
            connected=self._keep,
            failed=self.gave_up.append,
            dial_timeout_ns=dial_timeout_ns,
        )

    def _keep(self, connected: socket.socket, _incarnation: str) -> None:
        self.socket = connected

    def turn(self, now_ns: int) -> None:
        self._dialer.advance(now_ns)
        for handler, mask in self._poller.wait(1_000_000):
            handler(mask, now_ns)

    def is_waiting_for_admission(self) -> bool:
        """Return whether the connecting side is waiting for admission. At this point, both sides have proved their identity, but
        the listening side has not admitted the connecting side yet."""
        waiting: bool = self._dialer.is_waiting_for_admission()
        return waiting

    def send(self, data: bytes) -> None:
        """Send as many bytes as the socket accepts. Errors are ignored, because the other end can be closed."""
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
    """Return whether the other end has closed the connection. The socket must be non-blocking."""
    try:
        return connected.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
