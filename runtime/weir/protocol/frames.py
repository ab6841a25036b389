"""Frames of the data plane: a fixed header, then determinants, then the payload.

Layout, little endian, 64 bytes::

    magic u32 | version u8 | kind u8 | flags u16 | edge u16 | source u16 | target u16 | reserved u16
    generation u64 | epoch u64 | sequence u64 | content_hash u64
    determinants_bytes u32 | payload_bytes u32 | argument i64

``sequence`` is the number of the first row of a DATA frame. Each channel numbers its rows (ADR 0031). The numbers never restart, and
the snapshots of both ends contain the number of the next row. Frames of other kinds carry the number of the *next* row.
``argument`` is the checkpoint id of a BARRIER, the time of a WATERMARK in ms, the bytes of credit that a CREDIT returns, and the
bytes of credit that a DATA frame uses. In frames of other kinds, ``argument`` is 0.
``determinants`` belong to the slot, not to the channel. A frame carries all determinants that its receiver does not have yet, so
they arrive before the output that depends on them. ``determinants`` is empty, because Weir does not record determinants yet.
``content_hash`` covers determinants and payload.
``flags`` is PACKED if the payload of a DATA frame consists of packed rows instead of an Arrow IPC message, or 0.
"""

from __future__ import annotations

import struct
from enum import IntEnum

import msgspec

from weir.errors import ProtocolError
from weir.protocol.ids import ChannelId, Generation

MAGIC = 0x52494557  # "WEIR"
VERSION = 1
PACKED = 1
HEADER_BYTES = 64
PAYLOAD_BYTES_MAX = 256 * 1024 * 1024
DETERMINANTS_BYTES_MAX = 16 * 1024 * 1024
_STRUCT = struct.Struct("<IBBHHHHHQQQQIIq")
assert _STRUCT.size == HEADER_BYTES


class FrameKind(IntEnum):
    DATA = 1
    BARRIER = 2
    WATERMARK = 4
    IDLE = 5
    """The channel is idle, and does not count for the watermark until its next DATA or WATERMARK frame."""
    END = 6
    """End of input. No data follows an END frame. Barriers can follow an END frame until the final checkpoint."""
    CREDIT = 7
    """The receiver of a channel sends this frame to the sender of the channel, to return ``argument`` bytes of credit."""


DATA, CREDIT = FrameKind.DATA, FrameKind.CREDIT  # in Python 3.11, ``FrameKind.DATA`` takes ten times as long as ``DATA``


class FrameHeader(msgspec.Struct, frozen=True, gc=False):
    kind: FrameKind
    channel: ChannelId
    generation: Generation
    epoch: int
    sequence: int
    argument: int = 0
    content_hash: int = 0
    determinants_bytes: int = 0
    payload_bytes: int = 0
    flags: int = 0

    def encode(self) -> bytes:
        return _STRUCT.pack(
            MAGIC, VERSION, self.kind, self.flags, *self.channel, 0, self.generation, self.epoch, self.sequence,
            self.content_hash, self.determinants_bytes, self.payload_bytes, self.argument,
        )  # fmt: skip


_KINDS = {int(kind): kind for kind in FrameKind}


def decode_header(data: bytes | bytearray | memoryview) -> FrameHeader:
    """Parse the first ``HEADER_BYTES`` of ``data``. Raises ProtocolError for an invalid header."""
    if len(data) < HEADER_BYTES:
        raise ProtocolError(f"frame header of {len(data)} bytes, expected {HEADER_BYTES}")
    (magic, version, kind, flags, edge, source, target, reserved, generation, epoch, sequence, content_hash,
     determinants_bytes, payload_bytes, argument) = _STRUCT.unpack_from(data)  # fmt: skip
    if magic != MAGIC:
        raise ProtocolError(f"frame does not begin with the magic number (0x{magic:08x})")
    if version != VERSION:
        raise ProtocolError(f"frame of version {version}, this process supports {VERSION}")
    if kind not in _KINDS or reserved != 0:
        raise ProtocolError(f"frame of unknown kind {kind}")
    if payload_bytes > PAYLOAD_BYTES_MAX or determinants_bytes > DETERMINANTS_BYTES_MAX:
        raise ProtocolError(f"frame of {payload_bytes} + {determinants_bytes} bytes exceeds the limit")
    return FrameHeader(
        _KINDS[kind], ChannelId(edge, source, target), generation, epoch, sequence, argument, content_hash, determinants_bytes,
        payload_bytes, flags,
    )  # fmt: skip


class Frame(msgspec.Struct, frozen=True, gc=False):
    """A frame in memory: header fields and the batch (None for control events).

    A slot makes thousands of frames per second, and a Struct is made in a tenth of the time of a frozen dataclass.

    The runtime uses only ``num_rows`` and ``nbytes`` of the batch, which is a pyarrow RecordBatch in real slots.
    ``bytes_held`` is the number of bytes of the channel's credit that the frame uses.
    """

    kind: FrameKind
    channel: ChannelId
    generation: Generation
    epoch: int
    sequence: int
    argument: int = 0
    batch: object = None
    bytes_held: int = 0

    @property
    def rows(self) -> int:
        """The number of rows of a DATA frame."""
        rows: int = self.batch.num_rows  # type: ignore[attr-defined]
        return rows
