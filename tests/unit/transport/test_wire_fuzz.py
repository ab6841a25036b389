"""Thousands of random attacks on connections. An attack must not crash or hang the process, leak memory or disturb valid peers.

The message of a failure contains the seed of the attack. To repeat the attack, run ``attack(seed)``.
"""

from __future__ import annotations

import gc
import random
import socket

import pyarrow as pa
import pytest
from transport_rig import CREDENTIALS, HOST, SCHEMA, Clock, Intruder, Slot, data_frame, new_slot, schema_of_edge, turn_until

from weir.errors import ProtocolError
from weir.protocol.frames import DETERMINANTS_BYTES_MAX, HEADER_BYTES, PAYLOAD_BYTES_MAX, Frame, FrameKind, decode_header
from weir.protocol.ids import ChannelId, Generation
from weir.transport.connection import Connection, MessageFormat, SendQueue
from weir.transport.framing import BatchCodec, FrameCodec, content_hash
from weir.transport.handshake import Claim, ConnectionPurpose
from weir.transport.poller import Poller

CASES = 3_000
ODD_VALUES = (0, 1, 0x7F, 0x80, 0xFF)


def valid_frames(rng: random.Random) -> list[bytes]:
    codec = FrameCodec(schema_of_edge)
    frames: list[Frame] = []
    for sequence in range(rng.randint(1, 4)):
        frames.append(data_frame(1, 0, sequence, rows=rng.choice((0, 1, 7, 900))))
        if rng.random() < 0.5:
            kind = rng.choice([kind for kind in FrameKind if kind is not FrameKind.DATA])
            frames.append(Frame(kind, ChannelId(0, 1, 0), Generation(1), 0, sequence, rng.randint(-5, 5)))
    return [b"".join(bytes(memoryview(piece)) for piece in codec.encode(frame)) for frame in frames]


def damaged(rng: random.Random, frames: list[bytes]) -> bytes:
    """Return a stream that is damaged in one of several ways. A few streams are valid."""
    match rng.randrange(7):
        case 0:
            return rng.randbytes(rng.randint(0, 400))
        case 1:
            stream = bytearray(b"".join(frames))
            for _ in range(rng.randint(1, 5)):
                stream[rng.randrange(len(stream))] ^= 1 << rng.randrange(8)
            return bytes(stream)
        case 2:
            stream = bytearray(b"".join(frames))
            return bytes(stream[: rng.randrange(len(stream))])
        case 3:
            shuffled = [frame[cut:] for frame in frames for cut in (0, rng.randrange(len(frame)))]
            rng.shuffle(shuffled)
            return b"".join(shuffled)
        case 4:
            stream = bytearray(b"".join(frames))
            offset = rng.choice((48, 52))  # in the header: the size of the determinants, and the size of the payload
            claimed = rng.choice((1, PAYLOAD_BYTES_MAX, PAYLOAD_BYTES_MAX + 1, 2**32 - 1))
            stream[offset : offset + 4] = claimed.to_bytes(4, "little")
            return bytes(stream)
        case 5:
            return b"".join(rehashed(rng, frame) for frame in frames)
        case _:
            stream = bytearray(frames[0][:HEADER_BYTES])
            stream[rng.randrange(HEADER_BYTES)] = rng.choice(ODD_VALUES)
            return bytes(stream) + b"".join(frames)


def rehashed(rng: random.Random, frame: bytes) -> bytes:
    """Return a frame with a damaged payload and a matching content hash. An attacker with the secret
    could send a damaged payload together with a matching hash."""
    payload = mangled(rng, frame[HEADER_BYTES:])
    stream = bytearray(frame[:HEADER_BYTES] + payload)
    stream[40:48] = content_hash((payload,)).to_bytes(8, "little")
    stream[52:56] = len(payload).to_bytes(4, "little")
    return bytes(stream)


def mangled(rng: random.Random, payload: bytes) -> bytes:
    data = bytearray(payload)
    for _ in range(rng.randint(1, 6)):
        if not data:
            break
        # Damage mostly the first bytes, which contain the structure of the message.
        position = rng.randrange(min(len(data), rng.choice((8, 64, 300, 1 << 20))))
        if rng.random() < 0.5:
            data[position] = rng.choice(ODD_VALUES)
        else:
            word = rng.choice((0, 1, 2**31 - 1, 2**31, 2**63 - 1, 2**64 - 1, rng.getrandbits(64))).to_bytes(8, "little")
            data[position : position + 8] = word
    return bytes(data)


def attack(seed: int) -> str:
    """Send a damaged stream to a connection and check the invariants. Return how the connection ended."""
    rng = random.Random(seed)
    frames = valid_frames(rng)
    stream = damaged(rng, frames)
    poller, codec = Poller(), FrameCodec(schema_of_edge)
    ends: list[str] = []
    delivered: list[Frame] = []
    left, right = socket.socketpair()
    left.setblocking(False)
    right.setblocking(False)
    Connection(
        poller,
        right,
        MessageFormat(
            HEADER_BYTES, lambda data: (header := decode_header(data), (header.determinants_bytes, header.payload_bytes))
        ),
        outbox=SendQueue(),
        deliver=lambda header, sections: delivered.append(codec.decode(header, *sections)),
        lost=ends.append,
    )
    before = pa.total_allocated_bytes()
    position = 0
    while position < len(stream) and not ends:
        position += left.send(stream[position : position + rng.randint(1, 60_000)])
        for handler, mask in poller.wait(0):
            handler(mask, 0)
    assert pa.total_allocated_bytes() - before <= DETERMINANTS_BYTES_MAX + PAYLOAD_BYTES_MAX + (1 << 20), f"seed {seed}"
    left.close()
    while not ends:
        for handler, mask in poller.wait(0):
            handler(mask, 0)
    assert len(ends) == 1, f"seed {seed}"
    for frame in delivered:
        read_values(frame)
    poller.close()
    return "dropped" if ends[0].startswith("dropped") else "ended"


def read_values(frame: Frame) -> None:
    """Read all values of the frame, like an operator."""
    if isinstance(frame.batch, pa.RecordBatch):
        frame.batch.to_pydict()


def test_no_damaged_stream_crashes_or_hangs_a_connection() -> None:
    gc.collect()  # batches of earlier tests
    before = pa.total_allocated_bytes()
    endings = [attack(seed) for seed in range(CASES)]
    assert pa.total_allocated_bytes() == before, "the memory of dropped frames is released"
    # The attacks have an effect if most streams are detected as damaged, and a few are valid or only truncated.
    assert endings.count("dropped") > CASES // 2 and endings.count("ended") > CASES // 50


KINDS = {
    "integers": pa.record_batch({"a": pa.array([1, None, 3] * 20), "b": pa.array([1, 2, 3] * 20, pa.uint8())}),
    "texts": pa.record_batch(
        {
            "a": ["x", None, "word"] * 20,
            "b": pa.array(["a text that is not stored inline", "", None] * 20, pa.string_view()),
        }
    ),
    "nested": pa.record_batch({"l": [[1, 2], None, []] * 9, "s": [{"x": 1, "y": "a"}, None, {"x": None, "y": "b"}] * 9}),
    "others": pa.record_batch({"b": [True, None] * 30, "n": pa.nulls(60), "f": pa.array([b"four", None] * 30, pa.binary(4))}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_no_damaged_payload_crashes_the_process_or_gives_an_invalid_batch(kind: str) -> None:
    batch = KINDS[kind]
    codec = BatchCodec(0, batch.schema)
    valid = b"".join(bytes(memoryview(piece)) for piece in codec.pieces(batch))
    refused = 0
    for seed in range(CASES):
        payload = pa.py_buffer(mangled(random.Random(seed), valid))
        try:
            decoded = codec.batch(payload)
        except ProtocolError:
            refused += 1
            continue
        assert decoded.schema == batch.schema, f"seed {seed}"
        if decoded.num_rows < 10_000:
            decoded.to_pydict()
    assert refused > CASES // 10


def test_attackers_do_not_disturb_valid_peers() -> None:
    seed = 20_240
    rng = random.Random(seed)
    clock, hostile_peers = Clock(), 40
    target, honest = new_slot(0), new_slot(1)
    ports = {0: target.exchange.port, 1: honest.exchange.port}
    target.open(1, ports | dict.fromkeys(range(2, 2 + hostile_peers), 1))
    honest.open(1, ports)
    turn_until(clock, honest.exchange.ready, target.turn, honest.turn)

    sent: list[Frame] = []
    for index in range(hostile_peers):
        intruder = admit(clock, target, Claim(ConnectionPurpose.DATA, 1, 2 + index, 0, "hostile"))
        stream = bytearray(damaged(rng, valid_frames(rng)))
        intruder.send(bytes(stream) + rng.randbytes(200))
        for _ in range(5):
            with socket.create_connection((HOST, target.exchange.port)) as attacker:
                attacker.send(rng.choice((rng.randbytes(rng.randint(1, 600)), b"WEIRHELO" + rng.randbytes(160))))
        sent.append(data_frame(1, 0, index, rows=500))
        honest.send(sent[-1])
        run_turn(clock, target, honest)
        intruder.close()
    turn_until(clock, lambda: len(frames_of(target, 1)) == len(sent), target.turn, honest.turn)
    turn_until(clock, lambda: len(target.lost) == hostile_peers, target.turn, honest.turn)
    assert frames_of(target, 1) == sent, f"seed {seed}"
    assert {lost.slot for lost in target.lost} == set(range(2, 2 + hostile_peers)), f"seed {seed}"
    assert all(frame.channel.source == 1 for frame in target.frames), f"seed {seed}"
    target.exchange.close()
    honest.exchange.close()


def admit(clock: Clock, target: Slot, claim: Claim) -> Intruder:
    intruder = Intruder(target.exchange.port, claim)
    turn_until(clock, lambda: intruder.socket is not None, target.turn, intruder.turn)
    return intruder


def run_turn(clock: Clock, *slots: Slot) -> None:
    clock.now_ns += 1_000_000
    for slot in slots:
        slot.turn(clock.now_ns)


def frames_of(slot: Slot, source: int) -> list[Frame]:
    return [frame for frame in slot.frames if frame.channel.source == source]


def test_the_streams_of_the_attacks_are_valid_before_they_are_damaged() -> None:
    for seed in range(50):
        codec = FrameCodec(schema_of_edge)
        for data in valid_frames(random.Random(seed)):
            header = decode_header(data)
            frame = codec.decode(header, pa.py_buffer(b""), pa.py_buffer(data[HEADER_BYTES:]))
            assert frame.batch is None or frame.batch.schema == SCHEMA
    assert CREDENTIALS.job == "rig"
