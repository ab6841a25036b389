from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weir.errors import SchemaError
from weir.state.hashing import hash_columns, key_groups_of

MASK = 2**64 - 1


def fmix64(word: int) -> int:
    word ^= word >> 33
    word = word * 0xFF51AFD7ED558CCD & MASK
    word ^= word >> 33
    word = word * 0xC4CEB9FE1A85EC53 & MASK
    return word ^ (word >> 33)


def hash_of_bytes(value: bytes) -> int:
    hashed = 0x9E3779B97F4A7C15
    for begin in range(0, len(value), 8):
        hashed = fmix64(hashed ^ int.from_bytes(value[begin : begin + 8], "little"))
    return fmix64(hashed ^ len(value))


def hash_of_words(*words: int) -> int:
    """Compute the hash of a key in plain Python."""
    hashed = 0x9E3779B97F4A7C15
    for word in words:
        hashed = fmix64(hashed ^ (word & MASK))
    return hashed


NULL = 0xA0761D6478BD642F

VECTORS: list[tuple[pa.Array, int]] = [
    (pa.array([0]), 0x9CA066F1A4AB2EEA),
    (pa.array([1]), 0x25B775FAECA8F520),
    (pa.array([-1]), 0x3CD617BBBCC39640),
    (pa.array([2**63 - 1]), 0xF2A9E4C522CF7451),
    (pa.array([None], pa.int64()), 0xC5292BB70CEE6760),
    (pa.array([True]), 0x25B775FAECA8F520),
    (pa.array([dt.date(2013, 1, 1)]), 0xAE1C31FD0B0140D2),
    (pa.array([dt.datetime(2013, 1, 1)], pa.timestamp("us")), 0x8968632ED8AD7C72),
    (pa.array([decimal.Decimal("-12.34")], pa.decimal128(10, 2)), 0x335619FCA6E95389),
    (pa.array([""]), 0xDF9545E13007448A),
    (pa.array(["a"]), 0xD67F8AFE6823BE83),
    (pa.array(["LGA"]), 0xEC24272860FC71DD),
    (pa.array(["Grüße"]), 0x34C75525C599C169),
    (pa.array(["exactly8"]), 0x7552647F9EAE78C7),
    (pa.array(["a key that takes several rounds"]), 0x59075DB4994897F3),
]


@pytest.mark.parametrize(("column", "expected"), VECTORS)
def test_the_hashes_of_known_keys_do_not_change_between_versions(column: pa.Array, expected: int) -> None:
    assert int(hash_columns([column])[0]) == expected


def test_the_hash_of_several_columns_depends_on_the_column_order() -> None:
    left, right = pa.array([7]), pa.array(["JFK"])
    assert int(hash_columns([left, right])[0]) == 0xDA2DF3F2D59876EC
    assert int(hash_columns([right, left])[0]) == 0xA388FE68D16F8B5C


def test_the_key_groups_of_known_keys_do_not_change_between_versions() -> None:
    groups = key_groups_of(hash_columns([pa.array(range(8))]), 128)
    assert groups.tolist() == [113, 122, 83, 37, 106, 25, 73, 104]
    assert key_groups_of(hash_columns([pa.array(range(8))]), 100).tolist() == [9, 82, 87, 61, 94, 93, 69, 92]


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.none(), max_size=50))
def test_the_hash_of_an_integer_equals_the_hash_that_plain_python_computes(values: list[int | None]) -> None:
    hashes = hash_columns([pa.array(values, pa.int64())])
    assert hashes.tolist() == [hash_of_words(NULL if value is None else value) for value in values]


@given(st.lists(st.text(max_size=20) | st.none(), min_size=1, max_size=30), st.data())
@settings(deadline=None)
def test_the_hash_of_a_string_is_the_same_in_every_arrow_layout_and_slice(values: list[str | None], data: st.DataObject) -> None:
    expected = [hash_of_words(NULL if value is None else hash_of_bytes(value.encode())) for value in values]
    begin = data.draw(st.integers(0, len(values)))
    plain = pa.array(values, pa.string())
    for column in (
        plain,
        plain.cast(pa.large_string()),
        plain.cast(pa.string_view()),
        plain.cast(pa.binary()),
        plain.cast(pa.large_binary()),
        plain.dictionary_encode(),
    ):
        assert hash_columns([column]).tolist() == expected
        assert hash_columns([column.slice(begin)]).tolist() == expected[begin:]


@given(st.lists(st.integers(0, 100) | st.none(), min_size=1, max_size=30), st.data())
@settings(deadline=None)
def test_the_hash_of_an_integer_is_the_same_in_every_width_and_slice(values: list[int | None], data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, len(values)))
    expected = hash_columns([pa.array(values, pa.int64())]).tolist()
    types: list[Any] = [pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.uint64()]
    for type_ in types:
        column = pa.array(values, type_)
        assert hash_columns([column.slice(begin)]).tolist() == expected[begin:]
        assert hash_columns([column.dictionary_encode().slice(begin)]).tolist() == expected[begin:]


def test_the_hash_of_a_null_does_not_depend_on_the_bytes_in_its_buffer() -> None:
    buffers = [pa.py_buffer(b"\x02"), pa.py_buffer(np.array([123, 7], dtype=np.int64))]
    dirty = pa.Array.from_buffers(pa.int64(), 2, buffers)
    assert hash_columns([dirty]).tolist() == hash_columns([pa.array([None, 7], pa.int64())]).tolist()


def test_booleans_of_a_slice_that_starts_inside_a_byte_are_hashed_correctly() -> None:
    values = [True, False, True, True, False, None, True, False, False, True, True]
    whole = hash_columns([pa.array(values)]).tolist()
    for begin in range(len(values)):
        assert hash_columns([pa.array(values).slice(begin)]).tolist() == whole[begin:]


def test_keys_are_distributed_evenly_over_key_groups_and_over_the_low_bits_of_the_hash() -> None:
    """Consecutive keys spread evenly over the key groups. The keys of a key group spread evenly over the values of the low hash
    bits, which the hash index uses."""
    hashes = hash_columns([pa.array(np.arange(128 * 1024))])
    groups = key_groups_of(hashes, 128)
    sizes = np.bincount(groups, minlength=128)
    assert sizes.min() > 850 and sizes.max() < 1200
    buckets = np.bincount((hashes[groups == 5] & np.uint64(15)).astype(np.int64), minlength=16)
    assert buckets.min() > 30 and buckets.max() < 105


@pytest.mark.parametrize("type_", [pa.float32(), pa.float64(), pa.list_(pa.int64()), pa.struct([("a", pa.int64())])])
def test_the_error_for_a_type_that_cannot_be_a_key_names_the_type(type_: pa.DataType) -> None:
    with pytest.raises(SchemaError, match=r"column 'price' of type .* cannot be a key. Cast the column to"):
        hash_columns([pa.array([], type_)], ["price"])
