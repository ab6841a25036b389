"""Slicing batches so that each slice has a limited number of bytes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from weir.graph.logical import Partitioning
from weir.operators.batch_slicing import BATCH_BYTES, AdaptiveSlices, slice_batch, slice_by_bytes
from weir.operators.partitioners import make_partitioner

KINDS: list[pa.DataType] = [
    pa.string(), pa.large_string(), pa.string_view(), pa.binary_view(), pa.list_(pa.string()), pa.list_(pa.string_view()),
]  # fmt: skip


def column(kind: pa.DataType, lengths: list[int]) -> pa.Array:
    values: list[Any] = ["x" * length for length in lengths]
    if pa.types.is_list(kind):
        values = [[value] for value in values]
    if kind == pa.binary_view():
        values = [value.encode() for value in values]
    return pa.array(values, type=kind)


@settings(max_examples=150, deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    lengths=st.lists(st.integers(0, 40) | st.integers(500, 3_000), max_size=60),
    begin=st.integers(0, 10),
)
# A string view takes more bytes than the offset of a string.
@example(kind=pa.string_view(), lengths=[0, 5, 13, 0, 13, 738, 40, 13, 5, 0, 0, 19], begin=0)
def test_only_a_slice_with_a_single_row_can_exceed_the_byte_limit(kind: pa.DataType, lengths: list[int], begin: int) -> None:
    numbers = pa.array(range(len(lengths)), pa.int32())
    batch = pa.RecordBatch.from_arrays([column(kind, lengths), numbers], names=["v", "n"]).slice(begin)
    slices = list(slice_by_bytes(batch, 1_000))
    assert pa.Table.from_batches(slices, schema=batch.schema).equals(pa.Table.from_batches([batch]))
    assert all(part.num_rows for part in slices)
    if kind != pa.list_(pa.string_view()):
        assert all(part.num_rows == 1 or part.nbytes <= 1_000 for part in slices)


def test_a_small_batch_is_returned_unchanged() -> None:
    batch = pa.record_batch({"v": ["x" * 100] * 9})
    assert [part is batch for part in slice_by_bytes(batch, 1_000)] == [True]
    (part,) = slice_by_bytes(batch.slice(2, 3), 400)
    assert part.num_rows == 3, "the size of a slice does not include other rows of the batch"


def test_a_batch_of_string_views_is_not_sliced_further_if_its_slices_would_not_be_smaller() -> None:
    batch = pa.record_batch({"v": column(pa.list_(pa.string_view()), [100] * 1_000)})
    assert len(list(slice_by_bytes(batch, 50_000))) <= 4


def test_a_slice_has_a_limited_number_of_rows_and_bytes() -> None:
    batch = pa.record_batch({"v": ["x" * 100] * 10})
    assert [part.num_rows for part in slice_batch(batch, 4)] == [4, 4, 2]
    assert [part.num_rows for part in slice_batch(batch, 4, 250)] == [2, 2, 2, 2, 2]
    assert list(slice_batch(batch.slice(0, 0), 4)) == []


@pytest.mark.parametrize("partitioning", [Partitioning.HASH, Partitioning.REBALANCE, Partitioning.BROADCAST, Partitioning.GLOBAL])
@pytest.mark.parametrize("kind", [pa.string(), pa.string_view()])
@pytest.mark.parametrize("rows", [500, 5_000])
def test_partitioners_emit_batches_with_a_limited_number_of_bytes(
    partitioning: Partitioning, kind: pa.DataType, rows: int
) -> None:
    schema = pa.schema([("k", pa.int64()), ("text", kind)])
    sender = make_partitioner(partitioning, schema, ("k",), 2, 128, 0, 65_536)
    sent: list[pa.RecordBatch] = []
    for first in range(0, 5_000, rows):
        numbers = pa.array(range(first, first + rows))
        sent += [part for _, part in sender.add(pa.record_batch([numbers, column(kind, [5_000] * rows)], schema=schema))]
        assert sender.pending_rows * 5_000 <= 2 * BATCH_BYTES
    sent += [part for _, part in sender.flush()]
    assert max(part.nbytes for part in sent) <= BATCH_BYTES * 1.01
    times = 2 if partitioning is Partitioning.BROADCAST else 1
    assert sorted(key for part in sent for key in part["k"].to_pylist()) == sorted([*range(5_000)] * times)


def test_the_buffers_of_a_partitioner_have_a_limited_number_of_bytes() -> None:
    names = [f"d{number}" for number in range(40)]
    schema = pa.schema([("k", pa.int64()), *((name, pa.decimal128(30, 2)) for name in names)])
    sender = make_partitioner(Partitioning.HASH, schema, ("k",), 2, 128, 0, 65_536)
    rows = 40_000
    batch = pa.record_batch([pa.array(range(rows)), *([pa.nulls(rows, pa.int32()).fill_null(7).cast(pa.decimal128(30, 2))] * 40)],
                            schema=schema)  # fmt: skip
    sent = [part for _, part in sender.add(batch) + sender.flush()]
    assert sum(part.num_rows for part in sent) == rows
    assert max(part.nbytes for part in sent) <= BATCH_BYTES


@pytest.mark.parametrize("rows", [511, 512, 65_536])
def test_a_batch_is_not_sliced_further_if_its_slices_share_most_of_the_memory(rows: int) -> None:
    words = pa.array([f"{number:020}" for number in range(1_000)])
    dictionary = pa.DictionaryArray.from_arrays(pa.array([number % 1_000 for number in range(rows)], pa.int16()), words)
    batch = pa.record_batch({"v": dictionary})
    shared = words.nbytes
    for bytes_max in (shared // 2 + 1, shared - 1, shared // 5):
        assert len(list(slice_by_bytes(batch, bytes_max))) <= 2 * batch.nbytes / bytes_max


def test_a_large_row_among_small_rows_gets_its_own_slice() -> None:
    batch = pa.record_batch({"v": ["x"] * 300 + ["y" * 50_000] + ["x"] * 211})
    slices = list(slice_by_bytes(batch, 1_000))
    assert [part.num_rows for part in slices if part.nbytes > 1_000] == [1]
    assert pa.Table.from_batches(slices).equals(pa.Table.from_batches([batch]))


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 40), max_size=5),
    st.integers(1, 50),
    st.integers(1, 50),
    st.lists(st.integers(1, 10**6), min_size=1, max_size=20),
)
def test_adaptive_slices_contain_each_row_once_and_in_order(
    sizes: list[int], rows_max: int, rows_first: int, durations: list[int]
) -> None:
    slices = AdaptiveSlices(rows_max=rows_max, rows_first=rows_first, target_ns=1_000)
    seen: list[int] = []
    calls = 0
    for number, size in enumerate(sizes):
        for part in slices.of(pa.record_batch({"n": [100 * number + row for row in range(size)]})):
            assert 0 < part.num_rows <= rows_max
            seen += part.column("n").to_pylist()
            slices.took(part.num_rows, durations[calls % len(durations)])
            calls += 1
    assert seen == [100 * number + row for number, size in enumerate(sizes) for row in range(size)]


def test_slices_for_a_slow_function_shrink_and_slices_for_a_fast_function_grow() -> None:
    batch = pa.record_batch({"n": list(range(1_000))})

    def sizes(ns_per_row: int) -> list[int]:
        slices = AdaptiveSlices(rows_max=400, rows_first=10, target_ns=1_000)
        counts = []
        for part in slices.of(batch):
            counts.append(part.num_rows)
            slices.took(part.num_rows, part.num_rows * ns_per_row)
        return counts

    assert sizes(1) == [10, 80, 400, 400, 110]
    assert sizes(50)[:4] == [10, 20, 20, 20]
    assert sizes(300)[:3] == [10, 3, 3]
    assert sizes(5_000)[:3] == [10, 1, 1], "a slice has at least one row"
    assert sum(sizes(7)) == batch.num_rows
    assert list(AdaptiveSlices(rows_max=4, rows_first=9, target_ns=1).of(batch.slice(0, 0))) == []
