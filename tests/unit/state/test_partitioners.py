from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weir.graph.keygroups import subtask_of
from weir.graph.logical import Partitioning
from weir.operators.partition import Partitioner, make_partitioner
from weir.state.hashing import hash_columns, key_groups_of

FIXED = pa.schema(
    [("k", pa.int64()), ("a", pa.int32()), ("b", pa.int8()), ("c", pa.uint16()), ("d", pa.decimal128(30, 2)), ("e", pa.float64())]
)  # fmt: skip
MIXED = pa.schema([("k", pa.string()), ("a", pa.int32()), ("b", pa.bool_()), ("c", pa.string_view())])


def batch_of(schema: pa.Schema, keys: list[int | None], first: int) -> pa.RecordBatch:
    """Every record has a number of its own in column ``a``."""
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
def test_a_hash_partitioner_sends_every_record_once_in_order_to_the_owner_of_its_key(
    data: st.DataObject, schema: pa.Schema, targets: int, nulls: bool
) -> None:
    sender = partitioner(Partitioning.HASH, schema, targets)
    keys = st.integers(0, 30) | st.none() if nulls else st.integers(0, 30)
    sent: dict[int, list[Any]] = defaultdict(list)
    expected: dict[int, list[Any]] = defaultdict(list)
    pending = first = 0
    for _ in range(data.draw(st.integers(1, 6))):
        batch = batch_of(schema, data.draw(st.lists(keys, max_size=50)), first)
        begin = data.draw(st.integers(0, batch.num_rows))
        batch = batch.slice(begin)
        first += 50
        groups = key_groups_of(hash_columns([batch.column("k")]), 128)
        for group, row in zip(groups, batch.to_pylist(), strict=True):
            expected[subtask_of(int(group), targets, 128)].append(row)
        dealt = sender.add(batch)
        if data.draw(st.booleans()):
            flushed = sender.flush()
            assert [target for target, _ in flushed] == sorted({target for target, _ in flushed})
            assert sender.pending_rows == 0
            dealt += flushed
        for target, piece in dealt:
            piece.validate(full=True)
            assert piece.schema == schema and piece.num_rows > 0
            assert targets == 1 or piece.num_rows <= 50
            sent[target] += piece.to_pylist()
        pending = sum(map(len, expected.values())) - sum(map(len, sent.values()))
        assert sender.pending_rows == pending
    for target, piece in sender.flush():
        sent[target] += piece.to_pylist()
    assert sent == expected


def test_a_full_buffer_leaves_at_once_and_is_exactly_full() -> None:
    sender = partitioner(Partitioning.HASH, FIXED, 2, batch_rows=8)
    dealt = sender.add(batch_of(FIXED, list(range(100)), 0))
    assert len(dealt) >= 10 and {piece.num_rows for _, piece in dealt} == {8}
    assert sender.pending_rows == 100 - 8 * len(dealt)


def test_what_was_sent_is_not_written_over_by_what_comes_next() -> None:
    """A batch may be half full (its buffer goes with it) or nearly empty (it is copied, and the buffer stays)."""
    sender = partitioner(Partitioning.HASH, FIXED, 2, batch_rows=64)
    kept = []
    for first, rows in ((0, 4), (100, 60), (200, 4), (300, 100)):
        batch = batch_of(FIXED, list(range(rows)), first)
        dealt = sender.add(batch) + sender.flush()
        kept.append((dealt, [piece.to_pylist() for _, piece in dealt]))
    for dealt, rows_then in kept:
        assert [piece.to_pylist() for _, piece in dealt] == rows_then


def test_a_small_flush_does_not_keep_a_large_buffer_alive() -> None:
    sender = partitioner(Partitioning.HASH, FIXED, 2, batch_rows=65_536)
    sender.add(batch_of(FIXED, list(range(10)), 0))
    for _, piece in sender.flush():
        assert sum(buffer.size for column in piece.columns for buffer in column.buffers() if buffer is not None) < 1000


def test_one_target_costs_nothing() -> None:
    batch = batch_of(MIXED, [1, 2, 3], 0)
    for partitioning in (Partitioning.HASH, Partitioning.REBALANCE, Partitioning.GLOBAL):
        ((target, sent),) = partitioner(partitioning, MIXED, 1).add(batch)
        assert target == 0 and sent is batch


def test_forward_goes_to_the_subtask_of_the_same_number_and_global_to_the_first() -> None:
    batch = batch_of(FIXED, [1], 0)
    assert partitioner(Partitioning.FORWARD, FIXED, 4, source=3).add(batch) == [(3, batch)]
    assert partitioner(Partitioning.GLOBAL, FIXED, 4, source=3).add(batch) == [(0, batch)]


def test_broadcast_gives_every_target_the_same_batch() -> None:
    batch = batch_of(FIXED, [1, 2], 0)
    assert [target for target, sent in partitioner(Partitioning.BROADCAST, FIXED, 3).add(batch) if sent is batch] == [0, 1, 2]


@settings(max_examples=60, deadline=None)
@given(sizes=st.lists(st.integers(0, 40), max_size=8), targets=st.integers(2, 5), source=st.integers(0, 4))
def test_rebalance_evens_out_and_keeps_order(sizes: list[int], targets: int, source: int) -> None:
    sender = partitioner(Partitioning.REBALANCE, FIXED, targets, source=source)
    sent: dict[int, list[int]] = defaultdict(list)
    first = 0
    for size in sizes:
        for target, piece in sender.add(batch_of(FIXED, [1] * size, first)):
            sent[target] += piece["a"].to_pylist()
        first += size
    for target, piece in sender.flush():
        sent[target] += piece["a"].to_pylist()
    counts = [len(sent[target]) for target in range(targets)]
    assert max(counts) - min(counts) <= 1
    assert sorted(n for numbers in sent.values() for n in numbers) == list(range(first))
    assert all(numbers == sorted(numbers) for numbers in sent.values())
    assert sender.pending_rows == 0


@pytest.mark.parametrize("max_parallelism", [128, 100])
def test_the_compiled_choice_of_targets_is_the_formula_of_key_groups(max_parallelism: int) -> None:
    keys = np.arange(5000)
    sender = make_partitioner(Partitioning.HASH, pa.schema([("k", pa.int64())]), ("k",), 7, max_parallelism, 0, 65_536)
    sender.add(pa.record_batch({"k": keys}))
    groups = key_groups_of(hash_columns([pa.array(keys)]), max_parallelism)
    owners = np.array([subtask_of(int(group), 7, max_parallelism) for group in groups])
    for target, piece in sender.flush():
        assert np.array_equal(piece["k"].to_numpy(), keys[owners == target])


@pytest.mark.parametrize("null_first", [True, False])
def test_order_is_kept_where_batches_with_nulls_and_batches_without_take_turns(null_first: bool) -> None:
    """They take different ways through the partitioner; neither may overtake the other."""
    sender = partitioner(Partitioning.HASH, FIXED, 2, batch_rows=8)
    with_null: list[int | None] = [1, 1, 1, None]
    without: list[int | None] = [1] * 5
    sent: list[int] = []
    first = 0
    for keys in [with_null, without] * 6 if null_first else [without, with_null] * 6:
        for _, piece in sender.add(batch_of(FIXED, keys, first)):
            sent += [row["a"] for row in piece.to_pylist() if row["k"] == 1]
        first += len(keys)
    for _, piece in sender.flush():
        sent += [row["a"] for row in piece.to_pylist() if row["k"] == 1]
    assert sent == sorted(sent) and len(sent) == 48
