"""Control connections over real sockets on loopback."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator

import pytest
from transport_rig import CREDENTIALS, HOST, Clock, End, Intruder, is_hung_up, new_slot, turn_until

from weir.errors import ConfigError, ProtocolError
from weir.transport.acceptor import HALF_OPEN_MAX, PROOF_NS_MAX
from weir.transport.control import (
    COORDINATOR,
    MESSAGE_BYTES_MAX,
    Closed,
    Connected,
    ControlClient,
    ControlServer,
    Message,
)
from weir.transport.handshake import Claim, Credentials, Purpose

GENERATION = 3


class Wire:
    """A server, and clients as a test wants them."""

    def __init__(self) -> None:
        self.clock = Clock()
        notes: list[str] = []
        self.server = ControlServer(CREDENTIALS, host=HOST, generation=GENERATION, incarnation="coordinator", note=notes.append)
        self.ends: list[End] = [End(self.server, notes)]

    @property
    def heard(self) -> End:
        return self.ends[0]

    def client(self, incarnation: str = "slot-a", *, credentials: Credentials = CREDENTIALS, generation: int = GENERATION,
               patience_ns: int = 60_000_000_000) -> tuple[ControlClient, End]:  # fmt: skip
        client = ControlClient(credentials, host=HOST, port=self.server.port, generation=generation,
                               incarnation=incarnation, patience_ns=patience_ns)  # fmt: skip
        self.ends.append(End(client))
        return client, self.ends[-1]

    def until(self, done: object) -> None:
        turn_until(self.clock, done, *[end.turn for end in self.ends])  # type: ignore[arg-type]  # a callable

    def connected(self, incarnation: str = "slot-a") -> tuple[ControlClient, End]:
        client, end = self.client(incarnation)
        self.until(lambda: any(isinstance(event, Connected) for event in end.events))
        self.until(lambda: Connected(self.peers()[-1].peer, incarnation) in self.heard.events)
        return client, end

    def peers(self) -> list[Connected]:
        return [event for event in self.heard.events if isinstance(event, Connected)] or [Connected(COORDINATOR, "")]


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


def stranger(port: int) -> socket.socket:
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
    wire.until(lambda: len(messages(wire.heard)) == len(up) and len(messages(end)) == len(down))
    assert messages(wire.heard) == up and messages(end) == down


def test_a_send_from_another_thread_ends_a_poll_that_waits(wire: Wire) -> None:
    client, _ = wire.connected()
    for end in wire.ends:
        end.turn(wire.clock.now_ns)
    sender = threading.Thread(target=client.send, args=(b"heartbeat",))
    sender.start()
    # Without the wake-up this poll would wait for a minute, which the suite's own time limit does not allow.
    client.poll(wire.clock.now_ns, 60_000_000_000)
    sender.join()
    wire.until(lambda: messages(wire.heard) == [b"heartbeat"])


def test_wake_ends_a_poll_that_waits_and_many_are_one(wire: Wire) -> None:
    for _ in range(100_000):
        wire.server.wake()
    assert wire.server.poll(0, 60_000_000_000) == []
    waker = threading.Thread(target=wire.server.wake)
    waker.start()
    assert wire.server.poll(0, 60_000_000_000) == []
    waker.join()


def test_an_endpoint_can_be_waited_for_in_the_selector_of_the_data_plane(wire: Wire) -> None:
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


def test_a_closed_end_is_reported_once_with_its_peer(wire: Wire) -> None:
    client, _ = wire.connected("slot-a")
    _, other = wire.connected("slot-b")
    client.close()
    del wire.ends[1]
    wire.until(lambda: bool(closed(wire.heard)))
    first = wire.peers()[0].peer
    assert [event.peer for event in wire.heard.events if isinstance(event, Closed)] == [first]
    wire.server.send(first, b"to nobody")
    wire.server.drop(wire.peers()[1].peer)
    wire.until(lambda: bool(closed(other)))
    assert closed(wire.heard) == ["the peer closed the connection"]


@pytest.mark.parametrize("wrong", ["secret", "job", "run"])
def test_a_client_of_another_secret_job_or_run_is_not_let_in_and_gives_up(wire: Wire, wrong: str) -> None:
    credentials = {"secret": Credentials(b"not the secret at all", "rig"), "job": Credentials(CREDENTIALS.secret, "other")}
    client, end = wire.client(credentials=credentials.get(wrong, CREDENTIALS), generation=GENERATION + (wrong == "run"),
                              patience_ns=1_000_000_000)  # fmt: skip
    client.send(b"never to be seen")
    wire.until(lambda: bool(end.events))
    assert "within 1 s" in closed(end)[0] and f"{HOST}:{wire.server.port}" in closed(end)[0]
    assert wire.heard.events == [] and wire.heard.notes


def test_strangers_and_half_open_connections_are_dropped_without_effect_on_others(wire: Wire) -> None:
    client, _ = wire.connected()
    quiet = [stranger(wire.server.port) for _ in range(HALF_OPEN_MAX + 20)]
    wire.until(lambda: sum(map(is_hung_up, quiet)) == 20)
    assert all(is_hung_up(connected) for connected in quiet[:20]), "the oldest go first"
    wire.connected("slot-b")  # an honest one gets in although every place is taken
    loud = stranger(wire.server.port)
    loud.send(b"GET / HTTP/1.1\r\n\r\n" * 20)
    wire.until(lambda: is_hung_up(loud))
    slow = stranger(wire.server.port)
    slow.send(b"WEIRHELO")
    wire.until(lambda: any("more than" in note for note in wire.heard.notes))
    wire.clock.now_ns += PROOF_NS_MAX
    wire.until(lambda: all(map(is_hung_up, [*quiet, slow])))
    client.send(b"still here")
    wire.until(lambda: messages(wire.heard) == [b"still here"])
    assert closed(wire.heard) == []
    for connected in [*quiet, loud, slow]:
        connected.close()


@pytest.mark.parametrize("length", [0, MESSAGE_BYTES_MAX + 1, 2**32 - 1])
def test_an_impossible_length_closes_that_connection_only(wire: Wire, length: int) -> None:
    client, _ = wire.connected()
    intruder = Intruder(wire.server.port, Claim(Purpose.CONTROL, GENERATION, 0, 0, "intruder"))
    turn_until(wire.clock, lambda: intruder.socket is not None, wire.heard.turn, intruder.turn)
    intruder.say(struct.pack("<I", length) + b"body")
    wire.until(lambda: bool(closed(wire.heard)))
    assert "dropped: control message of" in closed(wire.heard)[0]
    client.send(b"still here")
    wire.until(lambda: messages(wire.heard) == [b"still here"])
    intruder.close()


def test_messages_that_no_peer_would_take_are_refused_at_the_sender(wire: Wire) -> None:
    client, _ = wire.connected()
    for data in (b"", bytes(MESSAGE_BYTES_MAX + 1)):
        with pytest.raises(ProtocolError, match="cannot be sent"):
            client.send(data)


def test_a_peer_that_does_not_read_is_dropped_before_it_costs_all_memory(wire: Wire) -> None:
    intruder = Intruder(wire.server.port, Claim(Purpose.CONTROL, GENERATION, 0, 0, "sleeper"))
    turn_until(wire.clock, lambda: intruder.socket is not None, wire.heard.turn, intruder.turn)
    wire.heard.turn(0)
    data = bytes(MESSAGE_BYTES_MAX)  # one object, queued again and again
    for _ in range(5):
        wire.server.send(wire.peers()[0].peer, data)
    wire.heard.turn(0)
    assert "does not read" in closed(wire.heard)[0]
    intruder.close()


def test_a_range_without_a_free_port_is_an_error_that_names_it(wire: Wire) -> None:
    port = wire.server.port
    with pytest.raises(ConfigError, match=f"port range {port}-{port}"):
        ControlServer(CREDENTIALS, host=HOST, ports=(port, port), generation=1, incarnation="c", note=print)
    with pytest.raises(ConfigError, match="is not one"):
        ControlServer(CREDENTIALS, host=HOST, ports=(5, 4), generation=1, incarnation="c", note=print)
