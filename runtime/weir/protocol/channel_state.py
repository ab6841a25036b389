"""The state of channels in snapshots, manifests and deployments: arrays per edge, because the number of channels grows with the
square of the parallelism.

Numpy is imported on first use, because clients of the control plane also import this module, and they run without numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from weir.errors import ProtocolError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

NO_WATERMARK = -(1 << 63)
"""Stands for minus infinity in an array of watermarks."""


@dataclass(frozen=True, slots=True)
class PackedInts:
    """``count`` 64-bit integers, stored as their minimum ``first`` and unsigned differences of ``width`` bytes (little endian).

    If ``width`` is 0, all integers equal ``first``. In the manifest of a wide job, ``differences`` is empty although ``width``
    is not 0, because the differences are in another file (``detach``).
    """

    count: int
    first: int
    width: int = 0
    differences: bytes = b""

    def __post_init__(self) -> None:
        if self.count < 0 or not 0 <= self.width <= 8 or len(self.differences) not in (0, self.size):
            raise ValueError(
                f"invalid array: {self.count} integers of {self.width} bytes in {len(self.differences)} bytes of data"
            )

    @property
    def size(self) -> int:
        """The size of the differences in bytes."""
        return self.count * self.width

    @property
    def highest(self) -> int:
        return int(self.unpack().max()) if self.width else self.first

    @classmethod
    def pack(cls, values: Sequence[int] | npt.NDArray[np.int64]) -> PackedInts:
        """Pack a sequence or a one-dimensional array."""
        if not len(values):
            return cls(0, 0)
        first, last = (min(values), max(values)) if isinstance(values, list) else (int(values.min()), int(values.max()))  # type: ignore[union-attr]
        if first == last:
            return cls(len(values), first)
        import numpy as np

        width = ((last - first).bit_length() + 7) // 8
        # Differences of more than 63 bits wrap around here, and wrap back in ``unpack``.
        return cls(len(values), first, width, _low_bytes(np.asarray(values, np.int64) - first, width))

    def unpack(self) -> npt.NDArray[np.int64]:
        import numpy as np

        if self.width == 0:
            return np.full(self.count, self.first, np.int64)
        if not self.differences and self.count:
            raise ProtocolError("the channel file of the manifest has not been read")
        values = _from_low_bytes(self.differences, self.width)
        values += self.first
        return values


def _low_bytes(values: npt.NDArray[np.int64], width: int) -> bytes:
    """Return the ``width`` low bytes of each value, in little-endian order."""
    import numpy as np

    if width in (1, 2, 4, 8):
        return values.astype(f"<u{width}").tobytes()
    return values.astype("<i8").view(np.uint8).reshape(-1, 8)[:, :width].tobytes()


def _from_low_bytes(data: bytes, width: int) -> npt.NDArray[np.int64]:
    """The inverse of ``_low_bytes``."""
    import numpy as np

    if width in (1, 2, 4, 8):
        return np.frombuffer(data, f"<u{width}").astype(np.int64)
    padded = np.zeros((len(data) // width, 8), np.uint8)
    padded[:, :width] = np.frombuffer(data, np.uint8).reshape(-1, width)
    return padded.view("<i8").astype(np.int64, copy=False).ravel()


@dataclass(frozen=True, slots=True)
class EdgeSnapshot:
    """The channels of one edge at one subtask, or at the subtask of this edge in one slot. The channels are in the order of the
    subtasks at the other end. On a FORWARD edge, there is one channel.

    ``sequences``: the number of the next row to send (outputs) or to consume (inputs). The other fields exist for inputs only.
    ``watermarks_ms``: None if no channel has a watermark. ``idle`` and ``ended``: 1 for each channel that is idle or has ended, or
    None if there is no such channel.
    """

    edge: int
    sequences: PackedInts
    watermarks_ms: PackedInts | None = None
    idle: PackedInts | None = None
    ended: PackedInts | None = None


@dataclass(frozen=True, slots=True)
class EdgeChannels:
    """All channels of one edge at a barrier, in the order of senders, then receivers.

    ``senders``: the number of sending subtasks. ``fan_out``: the number of channels of each sender, which is 1 on a FORWARD
    edge. ``sequences``: at a barrier, the number of the next row is the same at both ends of a channel. The other fields are as in
    ``EdgeSnapshot``.
    """

    edge: int
    senders: int
    fan_out: int
    sequences: PackedInts
    watermarks_ms: PackedInts | None = None
    idle: PackedInts | None = None
    ended: PackedInts | None = None

    def arrays(self) -> tuple[PackedInts, ...]:
        return tuple(one for one in (self.sequences, self.watermarks_ms, self.idle, self.ended) if one is not None)


def assemble(
    outputs: Iterable[tuple[int, Sequence[EdgeSnapshot]]], inputs: Iterable[tuple[int, Sequence[EdgeSnapshot]]]
) -> tuple[EdgeChannels, ...]:
    """Combine the snapshots of all subtasks into the channels of all edges. ``outputs`` and ``inputs`` contain the index of each
    subtask and its edges.

    Raises ProtocolError if an end of a channel is missing, or if the two ends of a channel have different sequence numbers.
    """
    import numpy as np

    sent, received = _by_edge(outputs), _by_edge(inputs)
    if sent.keys() != received.keys():
        raise ProtocolError(f"edges {sorted(sent.keys() ^ received.keys())} have channels at one end only")
    result = []
    for edge, senders in sorted(sent.items()):
        receivers = received[edge]
        fan_out = senders[0].sequences.count
        forward = fan_out == 1 and len(receivers) == len(senders)
        if any(one.sequences.count != fan_out for one in senders) or any(
            one.sequences.count != (1 if forward else len(senders)) for one in receivers
        ):
            raise ProtocolError(f"edge {edge} has channels at one end only")
        if not forward and len(receivers) != fan_out:
            raise ProtocolError(f"edge {edge} has {len(receivers)} receivers, but its senders have {fan_out} channels")
        sequences = _unpack_rows([one.sequences for one in senders])
        consumed = _matrix([one.sequences for one in receivers], forward=forward)
        if not np.array_equal(sequences, consumed):
            source, position = (int(index[0]) for index in np.nonzero(sequences != consumed))
            target = source if forward else position
            raise ProtocolError(
                f"at the barrier of channel e{edge}:{source}>{target}, the next row of the sender is number "
                f"{sequences[source, position]}, but the receiver expects number {consumed[source, position]}"
            )

        def combine(arrays: Sequence[PackedInts | None], default: int, *, forward: bool = forward) -> PackedInts | None:
            if all(one is None for one in arrays):
                return None
            none = PackedInts(receivers[0].sequences.count, default)  # noqa: B023  # called in this turn of the loop
            return PackedInts.pack(_matrix([one or none for one in arrays], forward=forward).ravel())

        result.append(
            EdgeChannels(
                edge,
                len(senders),
                fan_out,
                PackedInts.pack(sequences.ravel()),
                combine([one.watermarks_ms for one in receivers], NO_WATERMARK),
                combine([one.idle for one in receivers], 0),
                combine([one.ended for one in receivers], 0),
            )
        )
    return tuple(result)


def _by_edge(ends: Iterable[tuple[int, Sequence[EdgeSnapshot]]]) -> dict[int, list[EdgeSnapshot]]:
    """Return the ends of each edge, in the order of subtasks."""
    result: dict[int, dict[int, EdgeSnapshot]] = {}
    for index, edges in ends:
        for one in edges:
            result.setdefault(one.edge, {})[index] = one
    for edge, by_index in result.items():
        if by_index.keys() != set(range(len(by_index))):
            raise ProtocolError(f"edge {edge} has no snapshot of subtask {min(set(range(len(by_index))) - by_index.keys())}")
    return {edge: [one for _, one in sorted(by_index.items())] for edge, by_index in result.items()}


def _matrix(receivers: Sequence[PackedInts], *, forward: bool) -> npt.NDArray[np.int64]:
    """Return the values of all channels of an edge, with one row for each sender."""
    rows = _unpack_rows(receivers)
    return rows if forward else rows.T


def _unpack_rows(arrays: Sequence[PackedInts]) -> npt.NDArray[np.int64]:
    """Return one row for each of the arrays, which have the same length. All arrays of one width are unpacked together, because
    an edge can have thousands of them."""
    import numpy as np

    rows = np.empty((len(arrays), arrays[0].count), np.int64)
    rows[:] = np.array([one.first for one in arrays], np.int64)[:, np.newaxis]
    for width in {one.width for one in arrays} - {0}:
        numbers = [number for number, one in enumerate(arrays) if one.width == width]
        data = b"".join(arrays[number].differences for number in numbers)
        rows[numbers] += _from_low_bytes(data, width).reshape(len(numbers), -1)
    return rows


def detach(channels: Iterable[EdgeChannels]) -> tuple[tuple[EdgeChannels, ...], bytes]:
    """Return the channels without the differences of their arrays, and all differences, in order."""
    pieces: list[bytes] = []

    def without(array: PackedInts | None) -> PackedInts | None:
        if array is None:
            return None
        pieces.append(array.differences)
        return replace(array, differences=b"")

    detached = tuple(_map_arrays(one, without) for one in channels)
    return detached, b"".join(pieces)


def attach(channels: Iterable[EdgeChannels], data: bytes | memoryview) -> tuple[EdgeChannels, ...]:
    """The inverse of ``detach``. Raises ProtocolError if ``data`` has the wrong size."""
    view, start = memoryview(data), 0
    channels = tuple(channels)
    expected = sum(array.size for one in channels for array in one.arrays())
    if expected != len(view):
        raise ProtocolError(f"the channel file has {len(view)} bytes, but the manifest describes {expected} bytes")

    def with_data(array: PackedInts | None) -> PackedInts | None:
        nonlocal start
        if array is None:
            return None
        begin, start = start, start + array.size
        return replace(array, differences=bytes(view[begin:start]))

    return tuple(_map_arrays(one, with_data) for one in channels)


def _map_arrays(channels: EdgeChannels, change: Callable[[PackedInts | None], PackedInts | None]) -> EdgeChannels:
    sequences = change(channels.sequences)
    assert sequences is not None
    return replace(
        channels,
        sequences=sequences,
        watermarks_ms=change(channels.watermarks_ms),
        idle=change(channels.idle),
        ended=change(channels.ended),
    )
