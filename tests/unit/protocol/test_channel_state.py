"""Arrays of channels: packing, combining the snapshots of subtasks, and the file beside a manifest."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weir.errors import ProtocolError
from weir.protocol import codec
from weir.protocol.channel_state import NO_WATERMARK, EdgeChannels, EdgeSnapshot, PackedInts, assemble, attach, detach

INT64 = st.integers(min_value=-(1 << 63), max_value=(1 << 63) - 1)


@given(st.lists(INT64, max_size=40), st.booleans())
def test_packed_integers_are_unpacked_unchanged(values: list[int], as_array: bool) -> None:
    packed = PackedInts.pack(np.array(values, np.int64) if as_array else values)
    assert packed.unpack().tolist() == values
    assert codec.loads(PackedInts, codec.dumps(packed)) == packed
    assert packed.highest == max(values, default=0)


@pytest.mark.parametrize(
    ("values", "width"),
    [([7, 7], 0), ([7, 262], 1), ([7, 263], 2), ([0, 1 << 16], 3), ([0, 1 << 32], 5), ([NO_WATERMARK, (1 << 63) - 1], 8)],
)
def test_each_integer_takes_only_the_bytes_that_the_differences_need(values: list[int], width: int) -> None:
    packed = PackedInts.pack(values)
    assert (packed.width, len(packed.differences)) == (width, 2 * width)


@pytest.mark.parametrize("value", [{"count": -1}, {"width": 9}, {"width": 2, "differences": "AAA="}])
def test_an_array_of_the_wrong_size_is_refused(value: dict[str, object]) -> None:
    with pytest.raises(ProtocolError, match="invalid array"):
        codec.from_json(PackedInts, {"count": 2, "first": 0} | value)


def ends(count: int, rows: list[list[int]], **arrays: list[list[int]]) -> list[tuple[int, list[EdgeSnapshot]]]:
    """Return the snapshots of ``count`` subtasks for edge 3, with one row of numbers for each subtask."""
    return [
        (index, [EdgeSnapshot(3, PackedInts.pack(rows[index]), **{name: PackedInts.pack(one[index]) for name, one in arrays.items()})])
        for index in range(count)
    ]  # fmt: skip


SENT = [[1, 2, 3], [4, 5, 6]]
RECEIVED = [[1, 4], [2, 5], [3, 6]]


def test_the_snapshots_of_all_subtasks_are_combined_by_edge() -> None:
    idle = [[0, 0], [0, 1], [0, 0]]
    (edge,) = assemble(ends(2, SENT), ends(3, RECEIVED, idle=idle))
    assert (edge.edge, edge.senders, edge.fan_out) == (3, 2, 3)
    assert edge.sequences.unpack().tolist() == [1, 2, 3, 4, 5, 6]
    assert edge.watermarks_ms is None and edge.ended is None
    assert edge.idle is not None and edge.idle.unpack().tolist() == [0, 0, 0, 0, 1, 0]


def test_a_forward_edge_has_one_channel_for_each_subtask() -> None:
    rows = [[5], [6], [7]]
    outputs, inputs = ends(3, rows), ends(3, rows)
    inputs[1] = (1, [replace(inputs[1][1][0], watermarks_ms=PackedInts(1, 99))])
    (edge,) = assemble(reversed(outputs), inputs)
    assert (edge.senders, edge.fan_out, edge.sequences.unpack().tolist()) == (3, 1, [5, 6, 7])
    assert edge.watermarks_ms is not None and edge.watermarks_ms.unpack().tolist() == [NO_WATERMARK, 99, NO_WATERMARK]


@pytest.mark.parametrize(
    ("outputs", "inputs", "message"),
    [
        (ends(2, SENT), ends(3, [[1, 4], [2, 9], [3, 6]]), "channel e3:1>1, .* of the sender is number 5, .* expects number 9"),
        (ends(2, [[1], [2]]), ends(2, [[1], [3]]), "channel e3:1>1, .* number 2, .* number 3"),
        (ends(2, SENT), [], "edges [3] have channels at one end only"),
        (ends(2, SENT), ends(2, RECEIVED[:2]), "edge 3 has 2 receivers, but its senders have 3 channels"),
        (ends(2, SENT), ends(3, [[1], [2], [3]]), "edge 3 has channels at one end only"),
        (ends(2, SENT)[1:], ends(3, RECEIVED), "edge 3 has no snapshot of subtask 0"),
    ],
)  # fmt: skip
def test_inconsistent_snapshots_are_refused(
    outputs: list[tuple[int, list[EdgeSnapshot]]], inputs: list[tuple[int, list[EdgeSnapshot]]], message: str
) -> None:
    pattern = message if ".*" in message else re.escape(message)
    with pytest.raises(ProtocolError, match=pattern):
        assemble(outputs, inputs)


CHANNELS = (
    EdgeChannels(0, 2, 3, PackedInts.pack([1, 2, 3, 4, 5, 600]), idle=PackedInts.pack([0, 1, 0, 0, 0, 0])),
    EdgeChannels(1, 3, 1, PackedInts(3, 7), watermarks_ms=PackedInts.pack([NO_WATERMARK, 1, 2])),
)


def test_detached_arrays_are_attached_unchanged() -> None:
    detached, data = detach(CHANNELS)
    assert len(data) == 6 * 2 + 6 * 1 + 3 * 8
    assert attach(detached, data) == CHANNELS
    with pytest.raises(ProtocolError, match="has not been read"):
        detached[0].sequences.unpack()


@pytest.mark.parametrize("change", [lambda data: data[:-1], lambda data: data + b"x", lambda data: b""])
def test_a_channel_file_of_the_wrong_size_is_refused(change: Callable[[bytes], bytes]) -> None:
    detached, data = detach(CHANNELS)
    with pytest.raises(ProtocolError, match="the channel file has .* bytes, but the manifest describes 42 bytes"):
        attach(detached, change(data))
