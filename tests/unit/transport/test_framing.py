"""Encoding and decoding frames."""

from __future__ import annotations

import decimal
import random
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transport_rig import SCHEMA, barrier, data_frame, schema_of_edge

from weir.errors import InputError, ProtocolError, Retry, SchemaError
from weir.operators.packed_batch import PackedBatch, RowFormat, unpack
from weir.protocol.frames import HEADER_BYTES, PACKED, PAYLOAD_BYTES_MAX, Frame, FrameHeader, FrameKind, decode_header
from weir.protocol.ids import ChannelId, Generation
from weir.transport.framing import EMPTY_HASH, ROWS_MAX, BatchCodec, FrameCodec, Piece, content_hash

NONE = pa.py_buffer(b"")


def wire(pieces: list[Piece]) -> bytes:
    return b"".join(bytes(memoryview(piece)) for piece in pieces)


def decode(codec: FrameCodec, data: bytes) -> Frame:
    header = decode_header(data)
    middle = HEADER_BYTES + header.determinants_bytes
    return codec.decode(header, pa.py_buffer(data[HEADER_BYTES:middle]), pa.py_buffer(data[middle:]))


BATCHES = {
    "integers": pa.record_batch({"a": pa.array([1, None, 3]), "b": pa.array([1, 2, 3], pa.uint8())}),
    "strings": pa.record_batch({"a": ["x", None, "Gr\u00fc\u00dfe" * 300], "b": pa.array(["a", "", None], pa.string_view())}),
    "temporal": pa.record_batch({"t": pa.array([1, 2, None], pa.timestamp("us", "UTC")), "d": pa.array([1, 2, 3], pa.date32())}),
    "decimals and booleans": pa.record_batch({"d": [decimal.Decimal("1.25"), None], "b": [True, None]}),
    "nested": pa.record_batch({"l": [[1, 2], None, []], "s": [{"x": 1, "y": "a"}, None, {"x": None, "y": "b"}]}),
    "nulls only": pa.record_batch({"n": pa.nulls(5), "m": pa.nulls(5, pa.float64())}),
    "no rows": pa.record_batch({"a": pa.array([], pa.int64()), "s": pa.array([], pa.string())}),
    "no columns": pa.record_batch([], schema=pa.schema([])),
    "a slice": pa.record_batch(
        {"a": range(10_000), "s": [str(i) for i in range(10_000)], "b": [i % 3 == 0 for i in range(10_000)]}
    ).slice(4_321, 2_345),
}


@pytest.mark.parametrize("name", BATCHES)
def test_a_batch_round_trips_through_its_encoding(name: str) -> None:
    batch = BATCHES[name]
    codec = BatchCodec(0, batch.schema)
    for _ in range(2):  # a codec can encode several batches
        arrived = codec.batch(pa.py_buffer(wire(codec.pieces(batch))))
        assert arrived.equals(batch) and arrived.schema == batch.schema


def test_a_large_column_is_sent_and_read_without_a_copy() -> None:
    batch = pa.record_batch({"a": pa.array(range(65_536)), "b": pa.array(range(65_536))})
    codec = BatchCodec(0, batch.schema)
    pieces = codec.pieces(batch)
    own = {column.buffers()[1].address for column in batch.columns}
    assert own <= {piece.address for piece in pieces if isinstance(piece, pa.Buffer)}
    payload = pa.py_buffer(wire(pieces))
    for column in codec.batch(payload).columns:
        assert payload.address <= column.buffers()[1].address < payload.address + payload.size


@given(
    kind=st.sampled_from([kind for kind in FrameKind if kind is not FrameKind.DATA]),
    ends=st.tuples(*[st.integers(0, 65535)] * 3),
    numbers=st.tuples(*[st.integers(0, 2**64 - 1)] * 3),
    argument=st.integers(-(2**63), 2**63 - 1),
)
def test_control_events_round_trip_through_their_encoding(
    kind: FrameKind, ends: tuple[int, int, int], numbers: tuple[int, int, int], argument: int
) -> None:
    codec = FrameCodec(schema_of_edge)
    frame = Frame(kind, ChannelId(*ends), Generation(numbers[0]), numbers[1], numbers[2], argument)
    data = wire(codec.encode(frame))
    assert len(data) == HEADER_BYTES
    assert decode(codec, data) == frame


PACKABLE = pa.schema([("a", pa.int64()), ("b", pa.uint8())])


def packed_frame(rows: int) -> Frame:
    row_format = RowFormat.of(PACKABLE)
    assert row_format is not None
    batch = PackedBatch.of(row_format, bytes(range(9 * rows)))
    return Frame(FrameKind.DATA, ChannelId(0, 0, 1), Generation(1), 1, 3, batch.nbytes, batch, batch.nbytes)


def test_a_packed_batch_round_trips_through_its_encoding() -> None:
    codec = FrameCodec(lambda edge: PACKABLE)
    sent = packed_frame(4)
    arrived = decode(codec, wire(codec.encode(sent)))
    assert isinstance(sent.batch, PackedBatch) and isinstance(arrived.batch, PackedBatch)
    assert (arrived.channel, arrived.sequence, arrived.bytes_held) == (sent.channel, 3, 36)
    assert unpack((arrived.batch,)).equals(unpack((sent.batch,)))


@pytest.mark.parametrize("size", [0, 8, 10, 37])
def test_a_packed_batch_with_an_incomplete_row_is_refused(size: int) -> None:
    payload = bytes(size)
    header = valid_header(payload, flags=PACKED)
    with pytest.raises(ProtocolError, match="packed batch of|payload of 0 bytes"):
        FrameCodec(lambda edge: PACKABLE).decode(header, NONE, pa.py_buffer(payload))


def test_a_packed_batch_of_a_schema_that_cannot_be_packed_is_refused() -> None:
    payload = bytes(16)
    codec = FrameCodec(lambda edge: pa.schema([("text", pa.string())]))
    with pytest.raises(ProtocolError, match="edge 0: a packed batch of a schema that cannot be packed"):
        codec.decode(valid_header(payload, flags=PACKED), NONE, pa.py_buffer(payload))


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.bool_(), pa.decimal128(10, 2), pa.time32("s"), pa.date64(), pa.list_(pa.int64()), pa.null()]
)
def test_only_fixed_width_types_without_invalid_values_are_packed(kind: pa.DataType) -> None:
    assert RowFormat.of(pa.schema([("a", pa.int64()), ("b", kind)])) is None


def test_a_data_frame_contains_the_size_that_its_sender_subtracts_from_the_credit() -> None:
    codec = FrameCodec(schema_of_edge)
    frame = msgspec.structs.replace(data_frame(1, 0, 9), argument=777, bytes_held=777)
    arrived = decode(codec, wire(codec.encode(frame)))
    assert arrived == frame and arrived.bytes_held == 777


def test_dictionary_columns_are_refused_when_the_edge_is_built() -> None:
    dictionary = pa.dictionary(pa.int32(), pa.string())
    struct = pa.struct([("inner", pa.list_(dictionary))])
    for kind in (dictionary, pa.list_(dictionary), struct, pa.map_(pa.string(), dictionary)):
        with pytest.raises(SchemaError, match=r"edge 4: column 'carrier' is dictionary encoded .* Cast the column"):
            BatchCodec(4, pa.schema([("fine", pa.int64()), ("carrier", kind)]))


def test_a_batch_with_a_different_schema_is_refused_without_an_effect_on_the_next_batch() -> None:
    codec = BatchCodec(0, SCHEMA)
    with pytest.raises(SchemaError, match="edge 0"):
        codec.pieces(pa.record_batch({"key": [1.5], "word": ["a"]}))
    batch = pa.record_batch([pa.array([1]), pa.array(["a"])], schema=SCHEMA)
    assert codec.batch(pa.py_buffer(wire(codec.pieces(batch)))).equals(batch)


def test_any_flipped_bit_of_a_payload_is_detected() -> None:
    codec = FrameCodec(schema_of_edge)
    data = wire(codec.encode(data_frame(1, 0, 0)))
    for position in range(HEADER_BYTES, len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 1 << position % 8
        with pytest.raises(ProtocolError, match="content hash"):
            decode(codec, bytes(damaged))


def valid_header(payload: bytes, determinants: bytes = b"", **changes: Any) -> FrameHeader:
    header = FrameHeader(FrameKind.DATA, ChannelId(0, 1, 0), Generation(1), 0, 0, 10, content_hash((determinants, payload)),
                         len(determinants), len(payload))  # fmt: skip
    return msgspec.structs.replace(header, **changes)


def test_invalid_payloads_with_a_valid_hash_are_refused() -> None:
    batch = pa.record_batch([pa.array([1, 2, 3]), pa.array(["a", "b", "c"])], schema=SCHEMA)
    good = batch.serialize().to_pybytes()
    codec = FrameCodec(schema_of_edge)
    bad = {
        "more than one message": good + good,
        "trailing bytes": good + b"\0" * 8,
        "cut off": good[:-8],
        "a schema": SCHEMA.serialize().to_pybytes(),
        "another schema's batch": pa.record_batch({"a": [1.5]}).serialize().to_pybytes(),
        "noise": random.Random(1).randbytes(500),
        "end of stream": b"\xff\xff\xff\xff\0\0\0\0",
        "offsets that go back": _with_bad_offsets(),
        "no UTF-8": _with_bad_text(),
        "compressed": _compressed(batch).to_pybytes(),
    }
    for what, payload in bad.items():
        with pytest.raises(ProtocolError):
            pytest.fail(f"{what} was accepted: {codec.decode(valid_header(payload), NONE, pa.py_buffer(payload))}")


def _compressed(batch: pa.RecordBatch) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_batch(batch)
    messages = pa.ipc.MessageReader.open_stream(sink.getvalue())
    assert messages.read_next_message().type == "schema"
    return messages.read_next_message().serialize()


def _with_bad_offsets() -> bytes:
    offsets = pa.array([0, 1 << 30, 1, 3], pa.int32()).buffers()[1]
    words = pa.Array.from_buffers(pa.string(), 3, [None, offsets, pa.py_buffer(b"abc")])
    return bytes(pa.record_batch([pa.array([1, 2, 3]), words], schema=SCHEMA).serialize())


def _with_bad_text() -> bytes:
    words = pa.Array.from_buffers(pa.string(), 1, [None, pa.array([0, 2], pa.int32()).buffers()[1], pa.py_buffer(b"\xff\xfe")])
    return bytes(pa.record_batch([pa.array([1]), words], schema=SCHEMA).serialize())


def test_a_compressed_payload_is_refused_without_decompression() -> None:
    batch = pa.record_batch({"a": pa.array([0] * 1_000_000)})
    payload = _compressed(batch)
    assert payload.size < batch.nbytes // 100
    before = pa.total_allocated_bytes()
    with pytest.raises(ProtocolError, match="compressed"):
        BatchCodec(0, batch.schema).batch(payload)
    assert pa.total_allocated_bytes() == before


def test_the_number_of_rows_of_a_batch_without_columns_is_limited() -> None:
    huge = pa.record_batch({"n": pa.nulls(ROWS_MAX + 1)})
    with pytest.raises(ProtocolError, match="over the limit"):
        BatchCodec(0, huge.schema).batch(huge.serialize())
    frame = Frame(FrameKind.DATA, ChannelId(0, 1, 0), Generation(1), 0, 0, 0, huge, 0)
    with pytest.raises(ProtocolError, match="Emit smaller batches"):
        FrameCodec(lambda edge: huge.schema).encode(frame)


def test_a_row_that_is_too_large_for_a_frame_is_an_input_error() -> None:
    row = pa.record_batch([pa.array([bytes(PAYLOAD_BYTES_MAX + 1)], pa.large_binary())], names=["document"])
    frame = Frame(FrameKind.DATA, ChannelId(0, 1, 0), Generation(1), 0, 0, 0, row, 0)
    with pytest.raises(InputError, match="cannot send a batch of .* bytes .rows: 1.* Split such large rows") as raised:
        FrameCodec(lambda edge: row.schema).encode(frame)
    assert raised.value.retry is Retry.NEVER


@pytest.mark.parametrize(
    ("header", "determinants", "match"),
    [
        (valid_header(b"", kind=FrameKind.DATA), b"", "payload of 0 bytes"),
        (valid_header(b"", kind=FrameKind.BARRIER, payload_bytes=1), b"", "sizes of the frame differ"),
        (valid_header(b"", kind=FrameKind.BARRIER, flags=1), b"", "flags"),
        (valid_header(b"", kind=FrameKind.BARRIER, content_hash=1), b"", "content hash"),
        (valid_header(b"", b"choice", kind=FrameKind.BARRIER), b"choice", "determinants"),
    ],
)
def test_inconsistent_headers_are_refused(header: FrameHeader, determinants: bytes, match: str) -> None:
    with pytest.raises(ProtocolError, match=match):
        FrameCodec(schema_of_edge).decode(header, pa.py_buffer(determinants), NONE)


@pytest.mark.parametrize(("change", "match"), [({"argument": -1}, "that claims"), ({"argument": 1 << 50}, "that claims"),
                                               ({"kind": FrameKind.END}, "END frame with a payload"),
                                               ({"channel": ChannelId(9, 1, 0)}, "edge 9")])  # fmt: skip
def test_data_headers_with_impossible_values_are_refused(change: dict[str, Any], match: str) -> None:
    payload = data_frame(1, 0, 0).batch.serialize().to_pybytes()
    with pytest.raises(ProtocolError, match=match):
        FrameCodec(schema_of_edge).decode(valid_header(payload, **change), NONE, pa.py_buffer(payload))


def test_the_content_hash_of_a_payload_does_not_depend_on_its_division_into_buffers() -> None:
    assert EMPTY_HASH == 0x2D06800538D394C2
    assert content_hash((b"weir", b"", b" snapshots")) == content_hash((b"weir snapshots",)) == CONTENT_HASH_VECTOR
    assert decode_header(wire(FrameCodec(schema_of_edge).encode(barrier(1, 0, 5)))).content_hash == EMPTY_HASH


CONTENT_HASH_VECTOR = 0xC169FAF878F04D8F
