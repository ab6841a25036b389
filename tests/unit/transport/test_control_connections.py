"""Control connections over loopback sockets."""

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


class ControlNetwork:
    """A control server and its clients."""

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
        turn_until(self.clock, done, *[end.turn for end in self.ends])  # type: ignore[arg-type]  # ``done`` is a callable

    def connected(self, incarnation: str = "slot-a") -> tuple[ControlClient, End]:
        client, end = self.client(incarnation)
        self.until(lambda: any(isinstance(event, Connected) for event in end.events))
        self.until(lambda: Connected(self.peers()[-1].peer, incarnation) in self.events.events)
        return client, end

    def peers(self) -> list[Connected]:
        return [event for event in self.events.events if isinstance(event, Connected)] or [Connected(COORDINATOR, "")]


@pytest.fixture
def network() -> Iterator[ControlNetwork]:
    network = ControlNetwork()
    yield network
    for end in network.ends:
        end.endpoint.close()


def messages(end: End) -> list[bytes]:
    return [event.data for event in end.events if isinstance(event, Message)]


def closed(end: End) -> list[str]:
    return [event.reason for event in end.events if isinstance(event, Closed)]


def unauthenticated(port: int) -> socket.socket:
    connected = socket.create_connection((HOST, port))
    connected.setblocking(False)
    return connected


def test_messages_of_any_size_arrive_in_order_in_both_directions(network: ControlNetwork) -> None:
    client, end = network.connected()
    assert end.events == [Connected(COORDINATOR, "coordinator")]
    peer = network.peers()[0].peer
    up = [b"x", b"y" * 100_000, b"z" * 9_000_000] + [str(number).encode() for number in range(1_000)]
    down = [b"D" * 5_000_000, b"d"]
    for data in up:
        client.send(data)
    for data in down:
        network.server.send(peer, data)
    network.until(lambda: len(messages(network.events)) == len(up) and len(messages(end)) == len(down))
    assert messages(network.events) == up and messages(end) == down


def test_a_message_that_waits_is_sent_together_with_the_next_message(network: ControlNetwork) -> None:
    client, end = network.connected()
    peer = network.peers()[0].peer
    network.server.send(peer, b"published", waits=True)
    client.send(b"heartbeat")
    network.until(lambda: messages(network.events) == [b"heartbeat"])
    assert messages(end) == []
    network.server.send(peer, b"lease")
    network.until(lambda: len(messages(end)) == 2)
    assert messages(end) == [b"published", b"lease"]


def test_several_messages_can_be_sent_in_one_call(network: ControlNetwork) -> None:
    client, _ = network.connected()
    client.send(b"acknowledge", b"metrics")
    network.until(lambda: len(messages(network.events)) == 2)
    with pytest.raises(ProtocolError, match="0 bytes"):
        client.send(b"valid", b"")
    client.send(b"heartbeat")
    network.until(lambda: len(messages(network.events)) == 3)
    assert messages(network.events) == [b"acknowledge", b"metrics", b"heartbeat"]


def test_a_send_from_another_thread_wakes_a_waiting_poll(network: ControlNetwork) -> None:
    client, _ = network.connected()
    for end in network.ends:
        end.turn(network.clock.now_ns)
    sender = threading.Thread(target=client.send, args=(b"heartbeat",))
    sender.start()
    # Without the wake-up, this poll would wait a minute and exceed the test's timeout.
    client.poll(network.clock.now_ns, 60_000_000_000)
    sender.join()
    network.until(lambda: messages(network.events) == [b"heartbeat"])


def test_many_wake_calls_cause_only_one_wake_up(network: ControlNetwork) -> None:
    for _ in range(100_000):
        network.server.wake()
    assert network.server.poll(0, 60_000_000_000) == []
    waker = threading.Thread(target=network.server.wake)
    waker.start()
    assert network.server.poll(0, 60_000_000_000) == []
    waker.join()


def test_the_loop_of_a_data_exchange_can_also_serve_a_control_connection(network: ControlNetwork) -> None:
    client, end = network.connected()
    slot = new_slot(0)
    slot.exchange.register(client.fileno(), "control")
    slot.turn(0)
    assert slot.ready_fds == []
    network.server.send(network.peers()[0].peer, b"deploy")
    network.server.poll(0)
    slot.exchange.pump(0, 0)
    turn_until(network.clock, lambda: bool(slot.ready_fds), slot.turn)
    assert [ready.token for ready in slot.ready_fds[:1]] == ["control"]
    end.turn(0)
    assert messages(end) == [b"deploy"]
    client.wake()
    slot.ready_fds.clear()
    turn_until(network.clock, lambda: bool(slot.ready_fds), slot.turn)
    slot.exchange.close()


def test_a_closed_connection_is_reported_once_with_the_name_of_its_peer(network: ControlNetwork) -> None:
    client, _ = network.connected("slot-a")
    _, other = network.connected("slot-b")
    client.close()
    del network.ends[1]
    network.until(lambda: bool(closed(network.events)))
    first = network.peers()[0].peer
    assert [event.peer for event in network.events.events if isinstance(event, Closed)] == [first]
    network.server.send(first, b"to a closed peer")
    network.server.drop(network.peers()[1].peer)
    network.until(lambda: bool(closed(other)))
    assert closed(network.events) == ["the peer closed the connection"]


@pytest.mark.parametrize("wrong", ["secret", "job", "run"])
def test_a_client_with_a_different_secret_or_job_or_run_is_refused(network: ControlNetwork, wrong: str) -> None:
    credentials = {"secret": JobCredentials(b"not the secret at all", "rig"), "job": JobCredentials(CREDENTIALS.secret, "other")}
    client, end = network.client(credentials=credentials.get(wrong, CREDENTIALS), generation=GENERATION + (wrong == "run"),
                              dial_timeout_ns=1_000_000_000)  # fmt: skip
    client.send(b"must not arrive")
    network.until(lambda: bool(end.events))
    assert "within 1 s" in closed(end)[0] and f"{HOST}:{network.server.port}" in closed(end)[0]
    assert network.events.events == [] and network.events.notes


def test_unauthenticated_connections_are_dropped_without_effect_on_other_connections(network: ControlNetwork) -> None:
    client, _ = network.connected()
    silent = [unauthenticated(network.server.port) for _ in range(PENDING_HANDSHAKES_MAX + 20)]
    network.until(lambda: sum(map(is_hung_up, silent)) == 20)
    assert all(is_hung_up(connected) for connected in silent[:20]), "the oldest connections are dropped first"
    network.connected("slot-b")  # a valid client connects although the limit of pending handshakes is reached
    loud = unauthenticated(network.server.port)
    loud.send(b"GET / HTTP/1.1\r\n\r\n" * 20)
    network.until(lambda: is_hung_up(loud))
    slow = unauthenticated(network.server.port)
    slow.send(b"WEIRHELO")
    network.until(lambda: any("more than" in note for note in network.events.notes))
    network.clock.now_ns += HANDSHAKE_NS_MAX
    network.until(lambda: all(map(is_hung_up, [*silent, slow])))
    client.send(b"still connected")
    network.until(lambda: messages(network.events) == [b"still connected"])
    assert closed(network.events) == []
    for connected in [*silent, loud, slow]:
        connected.close()


@pytest.mark.parametrize("length", [0, MESSAGE_BYTES_MAX + 1, 2**32 - 1])
def test_a_message_with_an_invalid_length_closes_only_its_own_connection(network: ControlNetwork, length: int) -> None:
    client, _ = network.connected()
    intruder = Intruder(network.server.port, Claim(ConnectionPurpose.CONTROL, GENERATION, 0, 0, "intruder"))
    turn_until(network.clock, lambda: intruder.socket is not None, network.events.turn, intruder.turn)
    intruder.send(struct.pack("<I", length) + b"body")
    network.until(lambda: bool(closed(network.events)))
    assert "dropped: control message of" in closed(network.events)[0]
    client.send(b"still connected")
    network.until(lambda: messages(network.events) == [b"still connected"])
    intruder.close()


def test_a_message_of_an_invalid_size_cannot_be_sent(network: ControlNetwork) -> None:
    client, _ = network.connected()
    for data in (b"", bytes(MESSAGE_BYTES_MAX + 1)):
        with pytest.raises(ProtocolError, match="cannot send"):
            client.send(data)


def test_a_peer_that_does_not_read_its_messages_is_dropped(network: ControlNetwork) -> None:
    intruder = Intruder(network.server.port, Claim(ConnectionPurpose.CONTROL, GENERATION, 0, 0, "sleeper"))
    turn_until(network.clock, lambda: intruder.socket is not None, network.events.turn, intruder.turn)
    network.events.turn(0)
    data = bytes(MESSAGE_BYTES_MAX)  # the test queues the same message object repeatedly
    for _ in range(5):
        network.server.send(network.peers()[0].peer, data)
    network.events.turn(0)
    assert "does not read" in closed(network.events)[0]
    intruder.close()


def test_a_port_range_without_a_free_port_is_an_error(network: ControlNetwork) -> None:
    port = network.server.port
    with pytest.raises(ConfigError, match=f"port range {port}-{port}"):
        ControlServer(CREDENTIALS, host=HOST, ports=(port, port), generation=1, incarnation="c", log_connection=print)
    with pytest.raises(ConfigError, match="invalid port range"):
        ControlServer(CREDENTIALS, host=HOST, ports=(5, 4), generation=1, incarnation="c", log_connection=print)
