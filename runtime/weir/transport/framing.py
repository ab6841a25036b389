"""Conversion of frames to buffers and back, without copies. One call sends all buffers of a frame, and received buffers are
read in place.

The payload of a DATA frame with few rows consists of packed rows (``packed_batch.py``). The payload of any other DATA frame is one
Arrow IPC message without a schema, because both ends know the schema of an edge from the
graph. The message refers to the buffers of the batch. So a batch must not change after an operator has emitted it, and no
operator may reuse the batch's memory.

Peers are authenticated, but their data is not trusted. Before any code uses a batch, these properties are checked: the sizes,
the content hash, the form of the message and then the whole batch (offsets, null counts, UTF-8).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TypeAlias

import pyarrow as pa
import xxhash

from weir.errors import InputError, ProtocolError, SchemaError
from weir.operators.packed_batch import PackedBatch, RowFormat
from weir.protocol.frames import DATA, PACKED, PAYLOAD_BYTES_MAX, Frame, FrameHeader

Piece: TypeAlias = bytes | memoryview | pa.Buffer

ROWS_MAX = 1 << 24
"""Maximum number of rows of a batch. Without a limit, a batch whose columns have no buffers (null type) could claim any number
of rows."""
BYTES_HELD_MAX = 1 << 40
_JOIN_BYTES = 512
"""Pieces up to this size are joined, because another entry in an I/O vector costs more than a copy of this size."""
_PARSE_ERRORS = (pa.ArrowException, OSError, EOFError, ValueError, IndexError, KeyError, OverflowError, MemoryError, struct.error)


def content_hash(pieces: Sequence[Piece]) -> int:
    """Return the XXH3 hash (64 bits) of the concatenation of ``pieces``."""
    if len(pieces) == 1:
        return xxhash.xxh3_64_intdigest(pieces[0])
    digest = xxhash.xxh3_64()
    for piece in pieces:
        digest.update(piece)
    return digest.intdigest()


EMPTY_HASH = content_hash(())


def check_schema(edge: int, schema: pa.Schema) -> None:
    """Reject a schema that channels do not support. The SchemaError names the edge and the column."""
    for column in schema:
        if holds_dictionary(column.type):
            raise SchemaError(
                f"edge {edge}: column {column.name!r} is dictionary encoded ({column.type}), which channels do not support. "
                "Cast the column to its value type before the exchange."
            )


def holds_dictionary(kind: pa.DataType) -> bool:
    """Return whether the type is or contains a dictionary type."""
    if isinstance(kind, pa.BaseExtensionType):
        return holds_dictionary(kind.storage_type)
    if pa.types.is_dictionary(kind):
        return True
    if pa.types.is_run_end_encoded(kind):
        return holds_dictionary(kind.value_type)
    return any(holds_dictionary(kind.field(position).type) for position in range(kind.num_fields))


class _Gather:
    """The file to which an Arrow stream writer writes. The file stores references to the written pieces instead of copies."""

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
    """Converts record batches of one edge to IPC messages and back. The constructor raises SchemaError if channels do not
    support the schema."""

    def __init__(self, edge: int, schema: pa.Schema) -> None:
        check_schema(edge, schema)
        self._edge = edge
        self._schema = schema
        self._row_format = RowFormat.of(schema)
        self._gather = _Gather()
        options = pa.ipc.IpcWriteOptions(unify_dictionaries=False, compression=None, use_threads=False)
        self._writer = pa.ipc.new_stream(pa.PythonFile(self._gather, mode="w"), schema, options=options)
        # Drop the first message of the stream, which contains the schema, because both ends know the schema.
        self._writer.write_batch(pa.RecordBatch.from_pylist([], schema=schema))
        self._gather.pieces = []

    def pieces(self, batch: pa.RecordBatch) -> list[Piece]:
        """Return the IPC message of ``batch`` in pieces that refer to the memory of ``batch``. Raise SchemaError if the schema
        of the batch differs."""
        try:
            self._writer.write_batch(batch)
        except pa.ArrowInvalid as error:
            raise SchemaError(f"edge {self._edge}: a batch does not have the edge's schema ({error})") from None
        finally:
            pieces, self._gather.pieces = self._gather.pieces, []
        return _joined(pieces)

    def batch(self, payload: pa.Buffer) -> pa.RecordBatch:
        """Return the batch, which refers to the memory of ``payload``. Raise ProtocolError unless ``payload`` is exactly one
        valid message."""
        try:
            source = pa.BufferReader(payload)
            message = pa.ipc.read_message(source)
            if message.type != "record batch" or source.tell() != payload.size:
                raise ProtocolError(f"edge {self._edge}: the payload is not exactly one record batch")
            if _is_compressed(message.metadata):
                raise ProtocolError(f"edge {self._edge}: the payload is compressed, which Weir does not support")
            batch = pa.ipc.read_record_batch(message, self._schema)
            if batch.num_rows > ROWS_MAX:
                raise ProtocolError(f"edge {self._edge}: a batch of {batch.num_rows} rows, over the limit of {ROWS_MAX}")
            batch.validate(full=True)
        except _PARSE_ERRORS as error:
            raise ProtocolError(f"edge {self._edge}: the payload is not a valid record batch ({error})") from None
        return batch

    def packed_batch(self, payload: pa.Buffer) -> PackedBatch:
        """Return the packed batch, which refers to the memory of ``payload``. Raise ProtocolError unless ``payload`` consists of
        whole rows."""
        row_format = self._row_format
        if row_format is None:
            raise ProtocolError(f"edge {self._edge}: a packed batch of a schema that cannot be packed")
        rows, rest = divmod(payload.size, row_format.row_bytes)
        if rest or rows > ROWS_MAX:
            raise ProtocolError(
                f"edge {self._edge}: a packed batch of {payload.size} bytes, but a row takes {row_format.row_bytes} bytes"
            )
        return PackedBatch(row_format, payload, rows, payload.size)


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
    """Return whether the flatbuffer ``Message`` contains a ``RecordBatch`` with the field ``compression`` (number 3).

    pyarrow does not report compression, and would inflate a few bytes to gigabytes.
    """
    data = memoryview(metadata).cast("B")
    message = struct.unpack_from("<I", data)[0]
    header_at = _field(data, message, 2)
    if header_at == 0:
        raise ValueError("message without a header")
    record_batch = header_at + struct.unpack_from("<I", data, header_at)[0]
    return _field(data, record_batch, 3) != 0


def _field(data: memoryview, table: int, number: int) -> int:
    """Return the position of field ``number`` of a flatbuffer table, or 0 if the table does not have the field."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    if vtable < 0:
        raise ValueError("flatbuffer table points outside of its message")
    slot = 4 + 2 * number
    if slot >= struct.unpack_from("<H", data, vtable)[0]:
        return 0
    offset: int = struct.unpack_from("<H", data, vtable + slot)[0]
    return table + offset if offset else 0


class FrameCodec:
    """Encodes and decodes the frames of one generation. ``schemas`` returns an edge's schema, or raises KeyError for an unknown
    edge."""

    def __init__(self, schemas: Callable[[int], pa.Schema]) -> None:
        self._schemas = schemas
        self._codecs: dict[int, BatchCodec] = {}

    def encode(self, frame: Frame) -> list[Piece]:
        """Return header and payload for ``sendmsg``. Raise SchemaError for a wrong schema, ProtocolError for too many rows, or
        InputError for too many bytes."""
        if frame.kind is not DATA:
            return [_header(frame, frame.argument, EMPTY_HASH, 0)]
        if isinstance(frame.batch, PackedBatch):
            data, nbytes = frame.batch.data, frame.batch.nbytes
            header = _header(frame, frame.bytes_held, xxhash.xxh3_64_intdigest(data), nbytes, PACKED)
            return [header + data] if nbytes <= _JOIN_BYTES else [header, data]
        assert isinstance(frame.batch, pa.RecordBatch), "a DATA frame without a batch"
        if frame.batch.num_rows > ROWS_MAX:
            raise ProtocolError(f"channel {frame.channel}: cannot send a batch of {frame.batch.num_rows} rows; "
                                f"the limit is {ROWS_MAX}. Emit smaller batches.")  # fmt: skip
        payload = self._codec(frame.channel.edge).pieces(frame.batch)
        payload_bytes = sum(len(piece) for piece in payload)
        if payload_bytes > PAYLOAD_BYTES_MAX:
            # Partitioners limit batches to a far smaller size.
            # So this batch contains a row that is too large by itself, and a restart would not help.
            raise InputError(f"channel {frame.channel}: cannot send a batch of {payload_bytes} bytes (rows: {frame.batch.num_rows}); "
                             f"the limit is {PAYLOAD_BYTES_MAX} bytes. Split such large rows before the exchange.")  # fmt: skip
        return [_header(frame, frame.bytes_held, content_hash(payload), payload_bytes), *payload]

    def decode(self, header: FrameHeader, determinants: pa.Buffer, payload: pa.Buffer) -> Frame:
        """Return the frame of ``header``. Raise ProtocolError."""
        is_data = header.kind is DATA
        fault = self._fault(header, determinants, payload, is_data)
        if fault is not None:
            raise ProtocolError(f"channel {header.channel}: {fault}")
        return Frame(
            header.kind, header.channel, header.generation, header.epoch, header.sequence, header.argument,
            self._batch(header, payload) if is_data else None, header.argument if is_data else 0,
        )  # fmt: skip

    @staticmethod
    def _fault(header: FrameHeader, determinants: pa.Buffer, payload: pa.Buffer, is_data: bool) -> str | None:
        """Return what is wrong with a frame, or None."""
        if determinants.size != header.determinants_bytes or payload.size != header.payload_bytes:
            return "the sizes of the frame differ from its header"
        if determinants.size:
            hashed = content_hash((determinants, payload))
        else:
            hashed = xxhash.xxh3_64_intdigest(payload) if payload.size else EMPTY_HASH
        if header.content_hash != hashed:
            return f"frame {header.sequence} does not match its content hash"
        if determinants.size or header.flags not in ((0, PACKED) if is_data else (0,)):
            return "frame with determinants or flags, which this version does not support"
        if is_data != bool(payload.size):
            return f"{header.kind.name} frame with a payload of {payload.size} bytes"
        if is_data and not 0 <= header.argument <= BYTES_HELD_MAX:
            return f"frame that claims {header.argument} bytes"
        return None

    def _batch(self, header: FrameHeader, payload: pa.Buffer) -> pa.RecordBatch | PackedBatch:
        codec = self._codec(header.channel.edge)
        return codec.packed_batch(payload) if header.flags & PACKED else codec.batch(payload)

    def _codec(self, edge: int) -> BatchCodec:
        codec = self._codecs.get(edge)
        if codec is None:
            try:
                schema = self._schemas(edge)
            except LookupError:
                raise ProtocolError(f"frame of unknown edge {edge}") from None
            codec = self._codecs[edge] = BatchCodec(edge, schema)
        return codec


def _header(frame: Frame, argument: int, hash_of_content: int, payload_bytes: int, flags: int = 0) -> bytes:
    return FrameHeader(
        frame.kind,
        frame.channel,
        frame.generation,
        frame.epoch,
        frame.sequence,
        argument,
        hash_of_content,
        0,
        payload_bytes,
        flags,
    ).encode()
