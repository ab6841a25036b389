"""Control connections over real sockets on loopback."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator

import pytest
from transport_rig import CREDENTIALS, HOST, Clock, End, Intruder, is_hung_up, new_slot, turn_until

from weir.errors import ConfigError, ProtocolError
from weir.transport.connection_setup import HANDSHAKE_NS_MAX, PENDING_HANDSHAKES_MAX
from weir.transport.control import (
    COORDINATOR,
    MESSAGE_BYTES_MAX,
    Closed,
    Connected,
    ControlClient,
    ControlServer,
    Message,
)
from weir.transport.handshake import Claim, ConnectionPurpose, JobCredentials

GENERATION = 3


class Wire:
    """A server and the clients of a test."""

    def __init__(self) -> None:
        self.clock = Clock()
        notes: list[str] = []
        self.server = ControlServer(
            CREDENTIALS, host=HOST, generation=GENERATION, incarnation="coordinator", log_connection=notes.append
        )
        self.ends: list[End] = [End(self.server, notes)]

    @property
    def events(self) -> End:
        return self.ends[0]

    def client(self, incarnation: str = "slot-a", *, credentials: JobCredentials = CREDENTIALS, generation: int = GENERATION,
               dial_timeout_ns: int = 60_000_000_000) -> tuple[ControlClient, End]:  # fmt: skip
        client = ControlClient(credentials, host=HOST, port=self.server.port, generation=generation,
                               incarnation=incarnation, dial_timeout_ns=dial_timeout_ns)  # fmt: skip
        self.ends.append(End(client))
        return client, self.ends[-1]

    def until(self, done: object) -> None:
        turn_until(self.clock, done, *[end.turn for end in self.ends])  # type: ignore[arg-type]  # a callable

    def connected(self, incarnation: str = "slot-a") -> tuple[ControlClient, End]:
        client, end = self.client(incarnation)
        self.until(lambda: any(isinstance(event, Connected) for event in end.events))
        self.until(lambda: Connected(self.peers()[-1].peer, incarnation) in self.events.events)
        return client, end

    def peers(self) -> list[Connected]:
        return [event for event in self.events.events if isinstance(event, Connected)] or [Connected(COORDINATOR, "")]


@pytest.fixture
def wire() -> Iterator[Wire]:
    wire = Wire()
    yield wire
    for end in wire.ends:
        end.endpoint.close()


def messages(end: End) -> list[bytes]:
    return [event.data for event in end.events if isinstance(event, Message)]


def closed(end: End) -> list[str]:
    return [event.reason for event in end.events if isinstance(event, Closed)]


def unauthenticated(port: int) -> socket.socket:
    connected = socket.create_connection((HOST, port))
    connected.setblocking(False)
    return connected


def test_messages_of_any_size_arrive_in_order_both_ways(wire: Wire) -> None:
    client, end = wire.connected()
    assert end.events == [Connected(COORDINATOR, "coordinator")]
    peer = wire.peers()[0].peer
    up = [b"x", b"y" * 100_000, b"z" * 9_000_000] + [str(number).encode() for number in range(1_000)]
    down = [b"D" * 5_000_000, b"d"]
    for data in up:
        client.send(data)
    for data in down:
        wire.server.send(peer, data)
    wire.until(lambda: len(messages(wire.events)) == len(up) and len(messages(end)) == len(down))
    assert messages(wire.events) == up and messages(end) == down


def test_a_send_from_another_thread_wakes_a_waiting_poll(wire: Wire) -> None:
    client, _ = wire.connected()
    for end in wire.ends:
        end.turn(wire.clock.now_ns)
    sender = threading.Thread(target=client.send, args=(b"heartbeat",))
    sender.start()
    # Without the wake-up, this poll would wait a minute and exceed the test's timeout.
    client.poll(wire.clock.now_ns, 60_000_000_000)
    sender.join()
    wire.until(lambda: messages(wire.events) == [b"heartbeat"])


def test_several_wakes_count_as_one(wire: Wire) -> None:
    for _ in range(100_000):
        wire.server.wake()
    assert wire.server.poll(0, 60_000_000_000) == []
    waker = threading.Thread(target=wire.server.wake)
    waker.start()
    assert wire.server.poll(0, 60_000_000_000) == []
    waker.join()


def test_an_endpoint_can_be_registered_in_a_data_exchange(wire: Wire) -> None:
    client, end = wire.connected()
    slot = new_slot(0)
    slot.exchange.register(client.fileno(), "control")
    slot.turn(0)
    assert slot.ready_fds == []
    wire.server.send(wire.peers()[0].peer, b"deploy")
    wire.server.poll(0)
    slot.exchange.pump(0, 0)
    turn_until(wire.clock, lambda: bool(slot.ready_fds), slot.turn)
    assert [ready.token for ready in slot.ready_fds[:1]] == ["control"]
    end.turn(0)
    assert messages(end) == [b"deploy"]
    client.wake()
    slot.ready_fds.clear()
    turn_until(wire.clock, lambda: bool(slot.ready_fds), slot.turn)
    slot.exchange.close()


def test_a_closed_connection_is_reported_once_with_its_peer(wire: Wire) -> None:
    client, _ = wire.connected("slot-a")
    _, other = wire.connected("slot-b")
    client.close()
    del wire.ends[1]
    wire.until(lambda: bool(closed(wire.events)))
    first = wire.peers()[0].peer
    assert [event.peer for event in wire.events.events if isinstance(event, Closed)] == [first]
    wire.server.send(first, b"to a closed peer")
    wire.server.drop(wire.peers()[1].peer)
    wire.until(lambda: bool(closed(other)))
    assert closed(wire.events) == ["the peer closed the connection"]


@pytest.mark.parametrize("wrong", ["secret", "job", "run"])
def test_a_client_of_another_secret_job_or_run_is_refused(wire: Wire, wrong: str) -> None:
    credentials = {"secret": JobCredentials(b"not the secret at all", "rig"), "job": JobCredentials(CREDENTIALS.secret, "other")}
    client, end = wire.client(credentials=credentials.get(wrong, CREDENTIALS), generation=GENERATION + (wrong == "run"),
                              dial_timeout_ns=1_000_000_000)  # fmt: skip
    client.send(b"never to be seen")
    wire.until(lambda: bool(end.events))
    assert "within 1 s" in closed(end)[0] and f"{HOST}:{wire.server.port}" in closed(end)[0]
    assert wire.events.events == [] and wire.events.notes


def test_unauthenticated_connections_are_dropped_without_effect_on_others(wire: Wire) -> None:
    client, _ = wire.connected()
    quiet = [unauthenticated(wire.server.port) for _ in range(PENDING_HANDSHAKES_MAX + 20)]
    wire.until(lambda: sum(map(is_hung_up, quiet)) == 20)
    assert all(is_hung_up(connected) for connected in quiet[:20]), "the oldest go first"
    wire.connected("slot-b")  # a valid client connects although all pending places are taken
    loud = unauthenticated(wire.server.port)
    loud.send(b"GET / HTTP/1.1\r\n\r\n" * 20)
    wire.until(lambda: is_hung_up(loud))
    slow = unauthenticated(wire.server.port)
    slow.send(b"WEIRHELO")
    wire.until(lambda: any("more than" in note for note in wire.events.notes))
    wire.clock.now_ns += HANDSHAKE_NS_MAX
    wire.until(lambda: all(map(is_hung_up, [*quiet, slow])))
    client.send(b"still here")
    wire.until(lambda: messages(wire.events) == [b"still here"])
    assert closed(wire.events) == []
    for connected in [*quiet, loud, slow]:
        connected.close()


@pytest.mark.parametrize("length", [0, MESSAGE_BYTES_MAX + 1, 2**32 - 1])
def test_an_invalid_length_closes_only_that_connection(wire: Wire, length: int) -> None:
    client, _ = wire.connected()
    intruder = Intruder(wire.server.port, Claim(ConnectionPurpose.CONTROL, GENERATION, 0, 0, "intruder"))
    turn_until(wire.clock, lambda: intruder.socket is not None, wire.events.turn, intruder.turn)
    intruder.say(struct.pack("<I", length) + b"body")
    wire.until(lambda: bool(closed(wire.events)))
    assert "dropped: control message of" in closed(wire.events)[0]
    client.send(b"still here")
    wire.until(lambda: messages(wire.events) == [b"still here"])
    intruder.close()


def test_messages_of_an_invalid_size_are_refused_at_the_sender(wire: Wire) -> None:
    client, _ = wire.connected()
    for data in (b"", bytes(MESSAGE_BYTES_MAX + 1)):
        with pytest.raises(ProtocolError, match="cannot send"):
            client.send(data)


def test_a_peer_that_does_not_read_is_dropped(wire: Wire) -> None:
    intruder = Intruder(wire.server.port, Claim(ConnectionPurpose.CONTROL, GENERATION, 0, 0, "sleeper"))
    turn_until(wire.clock, lambda: intruder.socket is not None, wire.events.turn, intruder.turn)
    wire.events.turn(0)
    data = bytes(MESSAGE_BYTES_MAX)  # one object, queued repeatedly
    for _ in range(5):
        wire.server.send(wire.peers()[0].peer, data)
    wire.events.turn(0)
    assert "does not read" in closed(wire.events)[0]
    intruder.close()


def test_a_port_range_without_a_free_port_is_reported(wire: Wire) -> None:
    port = wire.server.port
    with pytest.raises(ConfigError, match=f"port range {port}-{port}"):
        ControlServer(CREDENTIALS, host=HOST, ports=(port, port), generation=1, incarnation="c", log_connection=print)
    with pytest.raises(ConfigError, match="invalid port range"):
        ControlServer(CREDENTIALS, host=HOST, ports=(5, 4), generation=1, incarnation="c", log_connection=print)
