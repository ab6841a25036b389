"""Data connections between several slots over loopback sockets."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator

import pytest
from transport_rig import CREDENTIALS, HOST, Clock, Intruder, Slot, barrier, data_frame, is_hung_up, new_slot, turn_until

from weir.errors import ConfigError
from weir.protocol.frames import Frame, FrameKind
from weir.protocol.ids import ChannelId, Generation, SlotIndex
from weir.transport import exchange
from weir.transport.connection import SendQueue
from weir.transport.exchange import DataExchange, PeerLost
from weir.transport.framing import FrameCodec
from weir.transport.handshake import Claim, ConnectionPurpose, JobCredentials


class Mesh:
    def __init__(self, count: int) -> None:
        self.clock = Clock()
        self.slots = [new_slot(index) for index in range(count)]
        self.intruders: list[Intruder] = []

    @property
    def ports(self) -> dict[int, int]:
        return {slot.index: slot.exchange.port for slot in self.slots}

    def until(self, done: Callable[[], bool]) -> None:
        turn_until(self.clock, done, *[slot.turn for slot in self.slots], *[intruder.turn for intruder in self.intruders])

    def open(self, generation: int = 1) -> None:
        for slot in self.slots:
            slot.open(generation, self.ports)
        self.until(lambda: all(slot.exchange.ready() for slot in self.slots))

    def add_intruder(
        self, *, dialer: int, generation: int = 1, acceptor: int = 0, dial_timeout_ns: int = 60_000_000_000
    ) -> Intruder:
        claim = Claim(ConnectionPurpose.DATA, generation, dialer, acceptor, "intruder")
        self.intruders.append(Intruder(self.ports[acceptor], claim, dial_timeout_ns=dial_timeout_ns))
        return self.intruders[-1]

    def close(self) -> None:
        for slot in self.slots:
            slot.close()
        for intruder in self.intruders:
            intruder.close()


@pytest.fixture
def mesh() -> Iterator[Mesh]:
    mesh = Mesh(3)
    yield mesh
    mesh.close()


def of(slot: Slot, source: int) -> list[Frame]:
    return [frame for frame in slot.frames if frame.channel.source == source]


def test_frames_arrive_complete_and_in_order_from_every_peer(mesh: Mesh) -> None:
    mesh.open()
    pairs = [(source, target) for source in range(3) for target in range(3) if source != target]
    sent: dict[tuple[int, int], list[Frame]] = {pair: [] for pair in pairs}
    for sequence in range(60):
        for source, target in pairs:
            frames = [data_frame(source, target, sequence, rows=1 + 700 * (sequence % 9)), barrier(source, target, sequence)]
            sent[source, target] += frames
            for frame in frames:
                mesh.slots[source].send(frame)
    mesh.until(lambda: all(len(slot.frames) == 240 for slot in mesh.slots))
    for source, target in pairs:
        assert of(mesh.slots[target], source) == sent[source, target]
    assert [slot.lost for slot in mesh.slots] == [[], [], []]


def test_credit_is_sent_in_the_opposite_direction_of_the_data(mesh: Mesh) -> None:
    mesh.open()
    credit = Frame(FrameKind.CREDIT, ChannelId(0, 1, 2), Generation(1), 0, 0, 4_096)
    mesh.slots[2].send(credit)
    mesh.until(lambda: mesh.slots[1].frames == [credit])


def test_frames_that_were_queued_before_the_connection_existed_are_sent_first(mesh: Mesh) -> None:
    for slot in mesh.slots[1:]:
        slot.open(1, mesh.ports)
    frames = [data_frame(1, 0, sequence) for sequence in range(5)]
    for frame in frames:
        mesh.slots[1].send(frame)
    mesh.slots[0].open(1, mesh.ports)
    late = data_frame(1, 0, 5)
    mesh.until(mesh.slots[1].exchange.ready)
    mesh.slots[1].send(late)
    mesh.until(lambda: len(mesh.slots[0].frames) == 6)
    assert mesh.slots[0].frames == [*frames, late]


def test_a_peer_of_a_newer_generation_waits_until_the_slot_opens_that_generation(mesh: Mesh) -> None:
    for slot in mesh.slots[1:]:
        slot.open(4, mesh.ports)
    for _ in range(150):  # the loop simulates 150 s, which is longer than the dial timeout
        mesh.clock.now_ns += 1_000_000_000
        for slot in mesh.slots:
            slot.turn(mesh.clock.now_ns)
    assert not mesh.slots[1].exchange.ready() and mesh.slots[1].lost == []
    mesh.slots[0].open(4, mesh.ports)
    mesh.until(lambda: all(slot.exchange.ready() for slot in mesh.slots))


def test_a_peer_that_disconnects_while_it_waits_can_connect_again(mesh: Mesh) -> None:
    first = mesh.add_intruder(dialer=1)
    mesh.until(first.is_waiting_for_admission)
    first.close()
    mesh.intruders.remove(first)
    for slot in mesh.slots:
        slot.open(1, mesh.ports)
    mesh.until(lambda: all(slot.exchange.ready() for slot in mesh.slots))


def test_a_peer_of_an_old_generation_is_refused(mesh: Mesh) -> None:
    waiting = mesh.add_intruder(dialer=1, generation=2, dial_timeout_ns=500_000_000)
    mesh.until(waiting.is_waiting_for_admission)
    mesh.open(3)
    zombie = mesh.add_intruder(dialer=2, generation=2, dial_timeout_ns=500_000_000)
    mesh.until(lambda: bool(waiting.gave_up) and bool(zombie.gave_up))
    assert any("generation 2 is not open here (newest: 3)" in note for note in mesh.slots[0].notes)
    assert all(slot.exchange.ready() and slot.lost == [] for slot in mesh.slots)


@pytest.mark.parametrize(
    ("dialer", "claimed_acceptor", "reason"),
    [(1, 0, "already had a connection"), (9, 0, "must not dial"), (0, 0, "must not dial"), (1, 2, "the peer dialed slot 2")],
)
def test_a_peer_whose_claim_does_not_match_the_deployment_is_refused(
    mesh: Mesh, dialer: int, claimed_acceptor: int, reason: str
) -> None:
    mesh.open()
    claim = Claim(ConnectionPurpose.DATA, 1, dialer, claimed_acceptor, "intruder")
    mesh.intruders.append(Intruder(mesh.ports[0], claim, dial_timeout_ns=300_000_000))
    mesh.until(lambda: bool(mesh.intruders[0].gave_up))
    assert any(reason in note for note in mesh.slots[0].notes)
    assert all(slot.exchange.ready() for slot in mesh.slots)


def test_a_connection_from_a_slot_with_a_smaller_index_is_refused(mesh: Mesh) -> None:
    acceptor = mesh.slots[1]
    acceptor.open(1, {0: mesh.ports[0]})  # slot 0 admits no peer, because it has not opened a generation
    mesh.add_intruder(dialer=0, acceptor=1, dial_timeout_ns=300_000_000)
    mesh.until(lambda: bool(mesh.intruders[0].gave_up))
    assert any("slot 0 must not dial slot 1" in note for note in acceptor.notes) and not acceptor.exchange.ready()


def test_a_peer_with_a_different_secret_is_refused_without_effect_on_other_peers(mesh: Mesh) -> None:
    mesh.slots.append(new_slot(3, credentials=JobCredentials(b"this is not the secret", "rig"), dial_timeout_ns=500_000_000))
    for slot in mesh.slots:
        slot.open(1, {index: port for index, port in mesh.ports.items() if index < 3 or slot.index == 3})
    unauthenticated = mesh.slots[3]
    mesh.until(lambda: len(unauthenticated.lost) == 3 and all(slot.exchange.ready() for slot in mesh.slots[:3]))
    assert "did not prove" in unauthenticated.lost[0].reason


def test_a_lost_peer_is_reported_once_after_its_last_frame(mesh: Mesh) -> None:
    mesh.open()
    frame = data_frame(1, 0, 0)
    mesh.slots[1].send(frame)
    mesh.slots[1].turn(mesh.clock.now_ns)
    mesh.slots.pop(1).exchange.close()
    mesh.until(lambda: all(slot.lost for slot in mesh.slots))
    zero, two = mesh.slots
    assert zero.frames == [frame] and [lost.slot for lost in zero.lost] == [1] and [lost.slot for lost in two.lost] == [1]
    zero.send(data_frame(0, 1, 0))  # the frame is dropped without an error
    assert zero.exchange._links[SlotIndex(1)].outbox.bytes_queued == 0, "the dropped frame is not queued"
    zero.send(data_frame(0, 2, 0))
    mesh.until(lambda: len(two.frames) == 1)
    assert not zero.exchange.ready()


def test_a_new_generation_receives_no_frames_of_the_old_generation(mesh: Mesh) -> None:
    mesh.open(1)
    for target in (1, 2):
        for sequence in range(200):
            mesh.slots[0].send(data_frame(0, target, sequence, rows=3_000))
    for slot in mesh.slots:
        slot.exchange.pump(mesh.clock.now_ns)
        slot.exchange.close_generation()
        slot.frames.clear()
    mesh.open(2)
    frame = data_frame(0, 1, 7, generation=2)
    mesh.slots[0].send(frame)
    mesh.until(lambda: bool(mesh.slots[1].frames))
    assert mesh.slots[1].frames == [frame] and all(slot.lost == [] for slot in mesh.slots)


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (data_frame(1, 0, 0, generation=2), "of generation 2 in generation 1"),
        (data_frame(2, 0, 0), "sent a DATA frame of channel e0:2>0"),
        (data_frame(0, 1, 0), "sent a DATA frame of channel e0:0>1"),
        (Frame(FrameKind.CREDIT, ChannelId(0, 1, 0), Generation(1), 0, 0, 5), "sent a CREDIT frame"),
    ],
)
def test_a_peer_that_sends_a_frame_of_another_channel_or_generation_is_dropped(mesh: Mesh, frame: Frame, reason: str) -> None:
    mesh.slots[1].exchange.close()
    mesh.slots[1] = new_slot(1)
    intruder = mesh.add_intruder(dialer=1)
    mesh.slots[0].open(1, mesh.ports)
    mesh.until(lambda: intruder.socket is not None)
    outbox = SendQueue()
    outbox.push(FrameCodec(lambda edge: frame.batch.schema).encode(frame))
    assert intruder.socket is not None
    outbox.flush(intruder.socket, 1 << 20)
    mesh.until(lambda: bool(mesh.slots[0].lost))
    assert reason in mesh.slots[0].lost[0].reason and mesh.slots[0].frames == []
    assert any(reason in note for note in mesh.slots[0].notes)


def test_a_slot_tries_to_connect_until_its_peer_listens() -> None:
    with socket.create_server((HOST, 0)) as reserved:
        port = reserved.getsockname()[1]
    clock, dialer = Clock(), new_slot(1)
    dialer.open(1, {0: port})
    for _ in range(20):
        clock.now_ns += 100_000_000
        dialer.turn(clock.now_ns)
    assert dialer.lost == []
    late = Slot(0, DataExchange(CREDENTIALS, host=HOST, ports=(port, port), incarnation="late", log_connection=print), [])
    late.open(1, {1: dialer.exchange.port})
    turn_until(clock, lambda: late.exchange.ready() and dialer.exchange.ready(), late.turn, dialer.turn)
    late.exchange.close()
    dialer.exchange.close()


def test_the_report_of_a_connection_timeout_contains_the_reason() -> None:
    with socket.create_server((HOST, 0)) as reserved:
        port = reserved.getsockname()[1]
    clock, dialer = Clock(), new_slot(1, dial_timeout_ns=2_000_000_000)
    dialer.open(1, {0: port})
    turn_until(clock, lambda: bool(dialer.lost), dialer.turn, turn_ns=50_000_000)
    assert dialer.lost == [PeerLost(SlotIndex(0), f"no connection to {HOST}:{port} within 2 s: ECONNREFUSED")]
    dialer.exchange.close()


def test_a_slot_stops_connecting_after_a_timeout_if_its_peer_does_not_respond() -> None:
    with socket.create_server((HOST, 0)) as silent:
        clock, dialer = Clock(), new_slot(1, dial_timeout_ns=25_000_000_000)
        dialer.open(1, {0: silent.getsockname()[1]})
        turn_until(clock, lambda: bool(dialer.lost), dialer.turn, turn_ns=500_000_000)
        assert "did not answer" in dialer.lost[0].reason
        silent.setblocking(False)
        attempts = [silent.accept()[0] for _ in range(2)]
        assert len(attempts) == 2
        for attempt in attempts:
            attempt.close()
    dialer.exchange.close()


def test_the_number_of_waiting_peers_is_limited(mesh: Mesh, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "WAITING_MAX", 3)
    intruders = [mesh.add_intruder(dialer=dialer, dial_timeout_ns=1_500_000_000) for dialer in (1, 1, 2, 3, 4, 5)]
    mesh.until(lambda: mesh.slots[0].exchange.waiting == 3)
    for intruder in intruders:
        intruder.close()
    mesh.intruders.clear()
    mesh.until(lambda: mesh.slots[0].exchange.waiting == 0)


def test_a_slot_listens_on_the_first_free_port_of_the_range() -> None:
    first = new_slot(0)
    port = first.exchange.port
    second = DataExchange(CREDENTIALS, host=HOST, ports=(port, min(port + 20, 65535)), incarnation="s", log_connection=print)
    assert port < second.port <= port + 20
    with pytest.raises(ConfigError, match=f"{port}-{port}"):
        DataExchange(CREDENTIALS, host=HOST, ports=(port, port), incarnation="s", log_connection=print)
    second.close()
    first.exchange.close()


def test_closing_the_exchange_closes_all_connections(mesh: Mesh) -> None:
    intruder = mesh.add_intruder(dialer=1, generation=9)
    mesh.until(intruder.is_waiting_for_admission)
    half_open = socket.create_connection((HOST, mesh.ports[0]))
    half_open.setblocking(False)
    mesh.until(lambda: mesh.slots[0].exchange._acceptor.pending_handshakes == 1)
    mesh.slots[0].exchange.close()
    with half_open:
        turn_until(mesh.clock, lambda: is_hung_up(half_open), intruder.turn)
    turn_until(mesh.clock, lambda: not intruder.is_waiting_for_admission(), intruder.turn)
    mesh.slots.pop(0)
