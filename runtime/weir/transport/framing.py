"""Frames to buffers and back. What leaves is gathered, not copied; what arrives is read where it was received.

The payload of a DATA frame is one Arrow IPC message, without a schema: both ends know the schema of
an edge from the graph. Its bytes are the header of the message and then the very buffers of the batch,
so a batch must not be changed after it was handed over (no operator may reuse its memory).

Peers are authenticated, yet no byte of theirs is trusted: sizes, content hash, the message's own
form, then the batch in full (offsets, null counts, UTF-8) are checked before anyone sees the batch.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TypeAlias

import pyarrow as pa
import xxhash

from weir.errors import InputError, ProtocolError, SchemaError
from weir.protocol.frames import PAYLOAD_BYTES_MAX, Frame, FrameHeader, FrameKind

Piece: TypeAlias = bytes | memoryview | pa.Buffer

ROWS_MAX = 1 << 24
"""Rows of one batch. Columns without buffers (null type) could otherwise claim any number for free."""
BYTES_HELD_MAX = 1 << 40
_JOIN_BYTES = 512
"""Pieces up to this size are copied together: an entry of an I/O vector costs more than the copy."""
_PARSE_ERRORS = (pa.ArrowException, OSError, EOFError, ValueError, IndexError, KeyError, OverflowError, MemoryError, struct.error)


def content_hash(pieces: Sequence[Piece]) -> int:
    """xxh3, 64 bits, over the concatenation of ``pieces``."""
    digest = xxhash.xxh3_64()
    for piece in pieces:
        digest.update(piece)
    return digest.intdigest()


EMPTY_HASH = content_hash(())


def check_schema(edge: int, schema: pa.Schema) -> None:
    """Refuse what cannot cross a channel. Raises SchemaError naming edge and column."""
    for column in schema:
        if holds_dictionary(column.type):
            raise SchemaError(
                f"edge {edge}: column {column.name!r} is dictionary encoded ({column.type}), which no channel carries; "
                "cast it to its value type before the exchange"
            )


def holds_dictionary(kind: pa.DataType) -> bool:
    """Here or anywhere inside."""
    if isinstance(kind, pa.BaseExtensionType):
        return holds_dictionary(kind.storage_type)
    if pa.types.is_dictionary(kind):
        return True
    if pa.types.is_run_end_encoded(kind):
        return holds_dictionary(kind.value_type)
    return any(holds_dictionary(kind.field(position).type) for position in range(kind.num_fields))


class _Gather:
    """The file that an Arrow stream writer writes to: it keeps references to what it is given."""

    closed = False

    def __init__(self) -> None:
        self.pieces: list[Piece] = []

    def write(self, piece: Piece) -> int:
        self.pieces.append(piece)
        return len(piece)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


class BatchCodec:
    """Record batches of one edge to IPC messages and back. Raises SchemaError when built for a schema no channel carries."""

    def __init__(self, edge: int, schema: pa.Schema) -> None:
        check_schema(edge, schema)
        self._edge = edge
        self._schema = schema
        self._gather = _Gather()
        options = pa.ipc.IpcWriteOptions(unify_dictionaries=False, compression=None, use_threads=False)
        self._writer = pa.ipc.new_stream(pa.PythonFile(self._gather, mode="w"), schema, options=options)
        # The first message of a stream is the schema, which both ends have: let it be written, and forget it.
        self._writer.write_batch(pa.RecordBatch.from_pylist([], schema=schema))
        self._gather.pieces = []

    def pieces(self, batch: pa.RecordBatch) -> list[Piece]:
        """The message, in pieces that refer to the batch's own memory. Raises SchemaError for a batch of another schema."""
        try:
            self._writer.write_batch(batch)
        except pa.ArrowInvalid as error:
            raise SchemaError(f"edge {self._edge}: a batch does not have the edge's schema ({error})") from None
        finally:
            pieces, self._gather.pieces = self._gather.pieces, []
        return _joined(pieces)

    def batch(self, payload: pa.Buffer) -> pa.RecordBatch:
        """The batch, on the memory of ``payload``. Raises ProtocolError for anything that is not one sound message."""
        try:
            source = pa.BufferReader(payload)
            message = pa.ipc.read_message(source)
            if message.type != "record batch" or source.tell() != payload.size:
                raise ProtocolError(f"edge {self._edge}: the payload is not exactly one record batch")
            if _is_compressed(message.metadata):
                raise ProtocolError(f"edge {self._edge}: the payload is compressed, which no Weir process does")
            batch = pa.ipc.read_record_batch(message, self._schema)
            if batch.num_rows > ROWS_MAX:
                raise ProtocolError(f"edge {self._edge}: a batch of {batch.num_rows} rows, over the limit of {ROWS_MAX}")
            batch.validate(full=True)
        except _PARSE_ERRORS as error:
            raise ProtocolError(f"edge {self._edge}: the payload is no sound record batch ({error})") from None
        return batch


def _joined(pieces: list[Piece]) -> list[Piece]:
    joined: list[Piece] = []
    small: list[Piece] = []
    for piece in pieces:
        if len(piece) <= _JOIN_BYTES:
            small.append(piece)
            continue
        if small:
            joined.append(b"".join(small))
            small = []
        joined.append(piece)
    if small:
        joined.append(b"".join(small))
    return joined


def _is_compressed(metadata: pa.Buffer) -> bool:
    """Whether the flatbuffer ``Message`` holds a ``RecordBatch`` whose field ``compression`` (number 3) is set.

    pyarrow does not tell, and would inflate a few bytes into gigabytes.
    """
    data = memoryview(metadata).cast("B")
    message = struct.unpack_from("<I", data)[0]
    header_at = _field(data, message, 2)
    if header_at == 0:
        raise ValueError("message without a header")
    record_batch = header_at + struct.unpack_from("<I", data, header_at)[0]
    return _field(data, record_batch, 3) != 0


def _field(data: memoryview, table: int, number: int) -> int:
    """Where field ``number`` of a flatbuffer table is; 0: absent."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    if vtable < 0:
        raise ValueError("flatbuffer table points outside of its message")
    slot = 4 + 2 * number
    if slot >= struct.unpack_from("<H", data, vtable)[0]:
        return 0
    offset: int = struct.unpack_from("<H", data, vtable + slot)[0]
    return table + offset if offset else 0


class FrameCodec:
    """Frames of one generation. ``schemas`` gives an edge's schema, or raises KeyError for an edge that there is not."""

    def __init__(self, schemas: Callable[[int], pa.Schema]) -> None:
        self._schemas = schemas
        self._codecs: dict[int, BatchCodec] = {}

    def encode(self, frame: Frame) -> list[Piece]:
        """Header and payload, ready for ``sendmsg``. Raises SchemaError (schema), ProtocolError (rows), InputError (bytes)."""
        if frame.kind is not FrameKind.DATA:
            return [_header(frame, frame.argument, EMPTY_HASH, 0)]
        assert isinstance(frame.batch, pa.RecordBatch), "a DATA frame without a batch"
        if frame.batch.num_rows > ROWS_MAX:
            raise ProtocolError(f"channel {frame.channel}: a batch of {frame.batch.num_rows} rows cannot be sent, "
                                f"the limit is {ROWS_MAX}; emit smaller batches")  # fmt: skip
        payload = self._codec(frame.channel.edge).pieces(frame.batch)
        payload_bytes = sum(len(piece) for piece in payload)
        if payload_bytes > PAYLOAD_BYTES_MAX:
            # Partitioners cut batches far below this, so it is the rows that are large, and they will be so after every restart.
            raise InputError(f"channel {frame.channel}: {frame.batch.num_rows} rows of {payload_bytes} bytes cannot be sent, "
                             f"the limit is {PAYLOAD_BYTES_MAX}; split rows that large before the exchange")  # fmt: skip
        return [_header(frame, frame.bytes_held, content_hash(payload), payload_bytes), *payload]

    def decode(self, header: FrameHeader, determinants: pa.Buffer, payload: pa.Buffer) -> Frame:
        """The frame that ``header`` announced. Raises ProtocolError."""
        where = f"channel {header.channel}"
        if (determinants.size, payload.size) != (header.determinants_bytes, header.payload_bytes):
            raise ProtocolError(f"{where}: frame of other sizes than its header says")
        empty = determinants.size == 0 and payload.size == 0
        if header.content_hash != (EMPTY_HASH if empty else content_hash((determinants, payload))):
            raise ProtocolError(f"{where}: frame {header.sequence} does not match its content hash")
        if determinants.size or header.flags:
            raise ProtocolError(f"{where}: frame with determinants or flags, which this version does not know")
        is_data = header.kind is FrameKind.DATA
        if is_data != bool(payload.size):
            raise ProtocolError(f"{where}: {header.kind.name} frame with a payload of {payload.size} bytes")
        if is_data and not 0 <= header.argument <= BYTES_HELD_MAX:
            raise ProtocolError(f"{where}: frame that claims to hold {header.argument} bytes")
        return Frame(
            kind=header.kind,
            channel=header.channel,
            generation=header.generation,
            epoch=header.epoch,
            sequence=header.sequence,
            argument=header.argument,
            batch=self._codec(header.channel.edge).batch(payload) if is_data else None,
            bytes_held=header.argument if is_data else 0,
        )

    def _codec(self, edge: int) -> BatchCodec:
        codec = self._codecs.get(edge)
        if codec is None:
            try:
                schema = self._schemas(edge)
            except LookupError:
                raise ProtocolError(f"frame of edge {edge}, which the graph does not have") from None
            codec = self._codecs[edge] = BatchCodec(edge, schema)
        return codec


def _header(frame: Frame, argument: int, hash_of_content: int, payload_bytes: int) -> bytes:
    return FrameHeader(
        kind=frame.kind,
        channel=frame.channel,
        generation=frame.generation,
        epoch=frame.epoch,
        sequence=frame.sequence,
        argument=argument,
        content_hash=hash_of_content,
        payload_bytes=payload_bytes,
    ).encode()
