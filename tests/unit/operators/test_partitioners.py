from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weir.graph.key_groups import subtask_of
from weir.graph.logical import Partitioning
from weir.operators.packed_batch import PackedBatch, unpack
from weir.operators.partitioners import PACKED_ROWS_MAX, Partitioner, Routed, make_partitioner
from weir.state.hashing import hash_columns, key_groups_of

FIXED = pa.schema(
    [("k", pa.int64()), ("a", pa.int32()), ("b", pa.int8()), ("c", pa.uint16()), ("d", pa.decimal128(30, 2)), ("e", pa.float64())]
)  # fmt: skip
MIXED = pa.schema([("k", pa.string()), ("a", pa.int32()), ("b", pa.bool_()), ("c", pa.string_view())])


def batch_of(schema: pa.Schema, keys: list[int | None], first: int) -> pa.RecordBatch:
    """Return a batch with the given keys. Column ``a`` contains ``first``, ``first`` + 1 and so on."""
    columns: dict[str, list[Any]] = {
        "k": [None if key is None else (key if schema is FIXED else f"key {key}") for key in keys],
        "a": [first + n for n in range(len(keys))],
        "b": [n % 2 for n in range(len(keys))],
        "c": [n if schema is FIXED else f"{n} has a string longer than a view" for n in range(len(keys))],
        "d": [n - 3 for n in range(len(keys))],
        "e": [n / 7 for n in range(len(keys))],
    }
    return pa.RecordBatch.from_arrays([pa.array(columns[field.name]).cast(field.type) for field in schema], schema=schema)


def partitioner(
    partitioning: Partitioning, schema: pa.Schema, targets: int, *, batch_rows: int = 16, source: int = 0
) -> Partitioner:
    return make_partitioner(partitioning, schema, ("k",), targets, 128, source, batch_rows)


@settings(max_examples=150, deadline=None)
@given(
    data=st.data(),
    schema=st.sampled_from([FIXED, MIXED]),
    targets=st.sampled_from([1, 2, 3, 7]),
    nulls=st.booleans(),
)
def test_a_hash_partitioner_routes_each_record_exactly_once_and_preserves_order(
    data: st.DataObject, schema: pa.Schema, targets: int, nulls: bool
) -> None:
    routing = partitioner(Partitioning.HASH, schema, targets)
    keys = st.integers(0, 30) | st.none() if nulls else st.integers(0, 30)
    sent: dict[int, list[Any]] = defaultdict(list)
    expected: dict[int, list[Any]] = defaultdict(list)
    pending = first = 0
    for _ in range(data.draw(st.integers(1, 6))):
        batch = batch_of(schema, data.draw(st.lists(keys, max_size=50)), first)
        offset = data.draw(st.integers(0, batch.num_rows))
        batch = batch.slice(offset)
        first += 50
        groups = key_groups_of(hash_columns([batch.column("k")]), 128)
        for group, row in zip(groups, batch.to_pylist(), strict=True):
            expected[subtask_of(int(group), targets, 128)].append(row)
        routed = routing.add(batch)
        if data.draw(st.booleans()):
            flushed = routing.flush()
            assert [target for target, _ in flushed] == sorted({target for target, _ in flushed})
            assert routing.pending_rows == 0
            routed += flushed
        for target, part in routed:
            part.validate(full=True)
            assert part.schema == schema and part.num_rows > 0
            assert targets == 1 or part.num_rows <= 50
            sent[target] += part.to_pylist()
        pending = sum(map(len, expected.values())) - sum(map(len, sent.values()))
        assert routing.pending_rows == pending
    for target, part in routing.flush():
        sent[target] += part.to_pylist()
    assert sent == expected


def test_a_partitioner_returns_a_buffer_as_soon_as_the_buffer_is_full() -> None:
    routing = partitioner(Partitioning.HASH, FIXED, 2, batch_rows=8)
    routed = routing.add(batch_of(FIXED, list(range(100)), 0))
    assert len(routed) >= 10 and {part.num_rows for _, part in routed} == {8}
    assert routing.pending_rows == 100 - 8 * len(routed)


def test_later_records_do_not_overwrite_returned_batches() -> None:
    """A batch that fills at least half of its buffer is returned without a copy. A batch that fills less
    than half of its buffer is copied, and the buffer is reused."""
    routing = partitioner(Partitioning.HASH, FIXED, 2, batch_rows=64)
    kept = []
    for first, rows in ((0, 4), (100, 60), (200, 4), (300, 100)):
        batch = batch_of(FIXED, list(range(rows)), first)
        routed = routing.add(batch) + routing.flush()
        kept.append((routed, [part.to_pylist() for _, part in routed]))
    for routed, expected_rows in kept:
        assert [part.to_pylist() for _, part in routed] == expected_rows


def test_a_small_batch_is_copied_when_it_is_flushed_and_does_not_keep_its_large_buffer() -> None:
    routing = partitioner(Partitioning.HASH, FIXED, 2, batch_rows=65_536)
    routing.add(batch_of(FIXED, list(range(10)), 0))
    flushed = routing.flush()
    assert sum(part.num_rows for _, part in flushed) == 10
    for _, part in flushed:
        assert sum(buffer.size for column in part.columns for buffer in column.buffers() if buffer is not None) < 1000


def test_a_partitioner_with_one_target_passes_batches_unchanged() -> None:
    batch = batch_of(MIXED, [1, 2, 3], 0)
    for partitioning in (Partitioning.HASH, Partitioning.REBALANCE, Partitioning.GLOBAL):
        ((target, sent),) = partitioner(partitioning, MIXED, 1).add(batch)
        assert target == 0 and sent is batch


def test_forward_and_global_partitioning_send_every_batch_to_a_fixed_subtask() -> None:
    batch = batch_of(FIXED, [1], 0)
    assert partitioner(Partitioning.FORWARD, FIXED, 4, source=3).add(batch) == [(3, batch)]
    assert partitioner(Partitioning.GLOBAL, FIXED, 4, source=3).add(batch) == [(0, batch)]


def test_broadcast_partitioning_sends_the_same_batch_to_every_target() -> None:
    batch = batch_of(FIXED, [1, 2], 0)
    assert [target for target, sent in partitioner(Partitioning.BROADCAST, FIXED, 3).add(batch) if sent is batch] == [0, 1, 2]


@settings(max_examples=100, deadline=None)
@given(data=st.data(), schema=st.sampled_from([FIXED, MIXED]), targets=st.integers(2, 5), source=st.integers(0, 4))
def test_rebalance_partitioning_sends_row_n_to_target_n_however_the_rows_are_cut(
    data: st.DataObject, schema: pa.Schema, targets: int, source: int
) -> None:
    """A partitioner that continues after a restore receives the number of rows that were sent before."""
    routing = partitioner(Partitioning.REBALANCE, schema, targets, source=source)
    sent: dict[int, list[int]] = defaultdict(list)
    first = 0

    def send(routed: Routed) -> None:
        for target, part in routed:
            sent[target] += (unpack((part,)) if isinstance(part, PackedBatch) else part)["a"].to_pylist()

    for size in data.draw(st.lists(st.integers(0, 40), max_size=8)):
        send(routing.add(batch_of(schema, data.draw(st.sampled_from([[1], [None]])) * size, first)))
        first += size
        if data.draw(st.booleans()):
            send(routing.flush())
            if data.draw(st.booleans()):
                routing = make_partitioner(Partitioning.REBALANCE, schema, (), targets, 128, source, 16, rows_sent=first)
    send(routing.flush())
    assert dict(sent) == {(source + row) % targets: list(range(row, first, targets)) for row in range(min(first, targets))}
    assert routing.pending_rows == 0


@pytest.mark.parametrize("max_parallelism", [128, 100])
def test_the_numba_kernel_computes_the_same_targets_as_the_key_group_formula(max_parallelism: int) -> None:
    keys = np.arange(5000)
    routing = make_partitioner(Partitioning.HASH, pa.schema([("k", pa.int64())]), ("k",), 7, max_parallelism, 0, 65_536)
    routing.add(pa.record_batch({"k": keys}))
    groups = key_groups_of(hash_columns([pa.array(keys)]), max_parallelism)
    owners = np.array([subtask_of(int(group), 7, max_parallelism) for group in groups])
    flushed = routing.flush()
    assert sum(part.num_rows for _, part in flushed) == len(keys)
    for target, part in flushed:
        assert isinstance(part, PackedBatch)
        assert np.array_equal(unpack((part,))["k"].to_numpy(), keys[owners == target])


@pytest.mark.parametrize("null_first", [True, False])
def test_records_stay_in_order_when_batches_with_and_without_nulls_alternate(null_first: bool) -> None:
    """Different code paths of the partitioner handle batches with nulls and batches without nulls."""
    routing = partitioner(Partitioning.HASH, FIXED, 2, batch_rows=8)
    with_null: list[int | None] = [1, 1, 1, None]
    without: list[int | None] = [1] * 5
    sent: list[int] = []
    first = 0
    for keys in [with_null, without] * 6 if null_first else [without, with_null] * 6:
        for _, part in routing.add(batch_of(FIXED, keys, first)):
            sent += [row["a"] for row in part.to_pylist() if row["k"] == 1]
        first += len(keys)
    for _, part in routing.flush():
        sent += [row["a"] for row in part.to_pylist() if row["k"] == 1]
    assert sent == sorted(sent) and len(sent) == 48


PACKABLE = pa.schema(
    [("k", pa.int64()), ("a", pa.int32()), ("b", pa.uint8()), ("c", pa.int16()), ("t", pa.timestamp("us", "UTC")), ("e", pa.float64())]
)  # fmt: skip


def packable_batch(keys: list[int], first: int) -> pa.RecordBatch:
    count = len(keys)
    columns = [keys, range(first, first + count), [n % 200 for n in range(count)], [-n for n in range(count)], range(count),
               [float("nan") if n % 3 == 0 else n / 7 for n in range(count)]]  # fmt: skip
    return pa.RecordBatch.from_arrays(
        [pa.array(list(column)).cast(field.type) for column, field in zip(columns, PACKABLE, strict=True)], schema=PACKABLE
    )


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(0, 40), max_size=30), min_size=1, max_size=6), st.integers(2, 5))
def test_a_packed_flush_contains_the_same_rows_as_record_batches(batches: list[list[int]], targets: int) -> None:
    packing = partitioner(Partitioning.HASH, PACKABLE, targets, batch_rows=1_000)
    expected = partitioner(Partitioning.HASH, PACKABLE, targets, batch_rows=1_000)
    expected._packed_rows_max = 0  # type: ignore[attr-defined]  # without packing
    for number, keys in enumerate(batches):
        assert packing.add(packable_batch(keys, 100 * number)) == []
        expected.add(packable_batch(keys, 100 * number))
    flushed = packing.flush()
    assert all(isinstance(part, PackedBatch) for _, part in flushed)
    assert packing.pending_rows == 0 and packing.flush() == []
    for (target, part), (expected_target, expected_part) in zip(flushed, expected.flush(), strict=True):
        assert target == expected_target and part.nbytes == expected_part.nbytes
        # Compare as strings, because a NaN is not equal to itself.
        assert str(unpack((part,)).to_pylist()) == str(expected_part.to_pylist())


def test_several_packed_batches_become_one_record_batch_in_order() -> None:
    routing = partitioner(Partitioning.HASH, PACKABLE, 2, batch_rows=1_000)
    parts = []
    for first in (0, 100, 200):
        routing.add(packable_batch([7, 7, 7], first))
        parts += [part for _, part in routing.flush()]
    assert unpack(parts)["a"].to_pylist() == [0, 1, 2, 100, 101, 102, 200, 201, 202]


def test_a_flush_of_many_rows_is_not_packed() -> None:
    routing = partitioner(Partitioning.HASH, PACKABLE, 2, batch_rows=65_536)
    routing.add(packable_batch(list(range(2 * PACKED_ROWS_MAX + 1)), 0))
    assert all(isinstance(part, pa.RecordBatch) for _, part in routing.flush())


def test_the_parts_of_a_packed_batch_keep_whole_rows() -> None:
    routing = partitioner(Partitioning.HASH, PACKABLE, 2, batch_rows=1_000)
    routing.add(packable_batch([7] * 10, 0))
    [(_, whole)] = routing.flush()
    assert isinstance(whole, PackedBatch)
    row_bytes = whole.nbytes // 10
    parts = whole.parts(3 * row_bytes + 1)
    assert [part.num_rows for part in parts] == [3, 3, 3, 1]
    assert str(unpack(parts).to_pylist()) == str(unpack((whole,)).to_pylist())
    assert [part.num_rows for part in whole.parts(1)] == [1] * 10
