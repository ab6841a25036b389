from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.state.oracle import Oracle, same, to_rows

from weir.errors import SchemaError, UserCodeError
from weir.protocol.ids import OperatorUid
from weir.state.backend import AggregateFunction, AggregateSpec, Emit
from weir.state.columnar_backend import ColumnarAggregates
from weir.state.hash_index import SLOTS_MIN
from weir.state.hashing import SEED, hash_columns
from weir.state.row_layout import output_schema

A = AggregateFunction
KEY_TYPES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.int64(): st.sampled_from([-(2**63), -1, 0, 1, 2**63 - 1]) | st.integers(0, 20),
    pa.int8(): st.integers(-3, 3),
    pa.uint64(): st.sampled_from([0, 1, 2**64 - 1, 2**63]),
    pa.bool_(): st.booleans(),
    pa.date32(): st.dates(dt.date(1960, 1, 1), dt.date(1960, 1, 9)),
    pa.timestamp("us", tz="UTC"): st.integers(0, 5).map(lambda n: dt.datetime(1950 + n, 1, 1, tzinfo=dt.UTC)),
    pa.decimal128(30, 2): st.sampled_from([decimal.Decimal(n) / 100 for n in (0, 1, -1, 10**25, -(10**25), 2**64)]),
    pa.string(): st.sampled_from(["", "a", "b", "eightchr", "eightchr!", "a much longer string", "a much longer strinG", "é"]),
    pa.large_binary(): st.sampled_from([b"", b"\x00", b"\x00\x00", b"\xff" * 9]),
    pa.string_view(): st.sampled_from(["x", "yy", "a string that is too long to be stored inline"]),
    pa.dictionary(pa.int8(), pa.string()): st.sampled_from(["p", "q", "r"]),
}
VALUE_TYPES: dict[pa.DataType, tuple[st.SearchStrategy[Any], tuple[A, ...]]] = {
    pa.int64(): (st.integers(-(2**40), 2**40), tuple(A)),
    pa.int32(): (st.integers(-9, 9), tuple(A)),
    pa.uint8(): (st.integers(0, 255), tuple(A)),
    pa.uint64(): (st.integers(0, 2**64 - 1), (A.COUNT, A.MIN, A.MAX, A.MEAN)),
    pa.float64(): (st.floats(-1e6, 1e6), tuple(A)),
    pa.float32(): (st.floats(-1e6, 1e6, width=32), tuple(A)),
    pa.bool_(): (st.booleans(), tuple(A)),
    pa.date32(): (st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1)), (A.COUNT, A.MIN, A.MAX)),
    pa.timestamp("ms"): (st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1)).map(lambda t: t.replace(microsecond=0)),
                         (A.COUNT, A.MIN, A.MAX)),
}  # fmt: skip


def table(key: tuple[str, ...], specs: tuple[AggregateSpec, ...], schema: pa.Schema, emit: Emit) -> ColumnarAggregates:
    return ColumnarAggregates(
        key, specs, schema, emit, uid=OperatorUid("sums"), subtask=0, key_groups=(0, 127), max_parallelism=128
    )  # fmt: skip


@st.composite
def jobs(draw: st.DrawFn) -> tuple[tuple[str, ...], tuple[AggregateSpec, ...], Emit, list[pa.RecordBatch]]:
    key_types = draw(st.lists(st.sampled_from(list(KEY_TYPES)), min_size=1, max_size=3))
    value_types = draw(st.lists(st.sampled_from(list(VALUE_TYPES)), min_size=1, max_size=3))
    fields = [pa.field(f"k{n}", type_) for n, type_ in enumerate(key_types)]
    fields += [pa.field(f"v{n}", type_) for n, type_ in enumerate(value_types)]
    specs = [AggregateSpec("rows", A.COUNT)] if draw(st.booleans()) else []
    for n, type_ in enumerate(value_types):
        for accumulator in draw(st.sets(st.sampled_from(VALUE_TYPES[type_][1]), min_size=1)):
            specs.append(AggregateSpec(f"{accumulator}{n}", accumulator, f"v{n}"))
    values = [KEY_TYPES[type_] for type_ in key_types] + [VALUE_TYPES[type_][0] for type_ in value_types]
    batches = []
    for _ in range(draw(st.integers(1, 3))):
        # Some batches have no nulls, and some are slices of larger batches.
        cells = values if draw(st.booleans()) else [value | st.none() for value in values]
        records = draw(st.lists(st.tuples(*cells), max_size=25))
        arrays = [pa.array([record[n] for record in records], field.type) for n, field in enumerate(fields)]
        batch = pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
        begin = draw(st.integers(0, len(records)))
        batches.append(batch.slice(begin, draw(st.integers(0, len(records) - begin))) if draw(st.booleans()) else batch)
    return tuple(f"k{n}" for n in range(len(key_types))), tuple(specs), draw(st.sampled_from(Emit)), batches


@settings(max_examples=150, deadline=None)
@given(jobs())
def test_the_backend_gives_the_same_results_as_the_oracle(job: Any) -> None:
    key, specs, emit, batches = job
    state, oracle = table(key, specs, batches[0].schema, emit), Oracle(key, specs, emit)
    for batch in batches:
        result = state.update(batch)
        result.validate(full=True)
        assert result.schema == output_schema(batch.schema, key, specs)
        assert same(to_rows(result), oracle.update(batch))
    assert state.num_keys == len(oracle.values)


@pytest.mark.parametrize("emit", Emit)
@pytest.mark.parametrize("keys", [1, 300, 70_000, 200_000])
def test_keys_stay_distinct_while_the_table_grows(keys: int, emit: Emit) -> None:
    random = np.random.default_rng(keys)
    pool = random.integers(-(2**63), 2**63 - 1, keys)
    specs = (AggregateSpec("n", A.COUNT), AggregateSpec("s", A.SUM, "v"))
    counts, sums = np.zeros(keys, np.int64), np.zeros(keys, np.int64)
    state: ColumnarAggregates | None = None
    for _ in range(6):
        drawn = random.integers(0, keys, 50_000)
        values = random.integers(-1000, 1000, len(drawn))
        batch = pa.record_batch({"k": pool[drawn], "v": values})
        state = state or table(("k",), specs, batch.schema, emit)
        result = state.update(batch)
        np.add.at(counts, drawn, 1)
        np.add.at(sums, drawn, values)
        if emit is Emit.BATCH:
            unique, first = np.unique(drawn, return_index=True)
            in_order = unique[np.argsort(first)]
            assert np.array_equal(result["k"].to_numpy(), pool[in_order])
            assert np.array_equal(result["n"].to_numpy(), counts[in_order])
            assert np.array_equal(result["s"].to_numpy(), sums[in_order])
        else:
            last = {int(key): row for row, key in enumerate(drawn)}
            rows = np.fromiter(last.values(), np.int64)
            assert np.array_equal(result["n"].to_numpy()[rows], counts[np.fromiter(last, np.int64)])
            assert np.array_equal(result["s"].to_numpy()[rows], sums[np.fromiter(last, np.int64)])
    assert state is not None and state.num_keys == np.count_nonzero(counts)


def test_the_hash_index_and_the_string_arena_grow_with_the_number_of_strings() -> None:
    words = [f"{n}-" * (n % 40 + 1) for n in range(30_000)] + ["x" * 3_000_000]
    batch = pa.record_batch({"w": [*words, *words]})
    result = table(("w",), (AggregateSpec("n", A.COUNT),), batch.schema, Emit.EACH).update(batch)
    assert result["n"].to_pylist() == [1] * len(words) + [2] * len(words)


def test_different_keys_with_equal_hash_tags_have_separate_rows() -> None:
    candidates = np.arange(400_000, dtype=np.int64)
    tags = hash_columns([pa.array(candidates)]) & np.uint64(0xFFFFFFFF)
    order = np.argsort(tags, kind="stable")
    twins = np.flatnonzero(tags[order][1:] == tags[order][:-1])
    assert len(twins) > 3, "400,000 keys have about 18 pairs with equal 32-bit tags"
    keys = candidates[np.concatenate([order[twins], order[twins + 1]])]
    batch = pa.record_batch({"k": np.concatenate([keys, keys])})
    result = table(("k",), (AggregateSpec("n", A.COUNT),), batch.schema, Emit.EACH).update(batch)
    assert result["n"].to_pylist() == [1] * len(keys) + [2] * len(keys)


def test_keys_are_found_if_their_slots_wrap_around_or_their_tag_is_that_of_an_empty_slot() -> None:
    candidates = np.arange(100_000, dtype=np.int64)
    tags = hash_columns([pa.array(candidates)]) & np.uint64(0xFFFFFFFF)
    in_last_slot = candidates[tags % SLOTS_MIN == SLOTS_MIN - 1][:20]
    without_tag = SEED.view(np.int64)
    assert len(in_last_slot) == 20 and hash_columns([pa.array([without_tag])])[0] == 0
    for keys in (
        np.array([without_tag]),
        in_last_slot,
        np.array([without_tag, *in_last_slot]),
        np.array([*in_last_slot, without_tag]),
    ):
        batch = pa.record_batch({"k": keys})
        state = table(("k",), (AggregateSpec("n", A.COUNT),), batch.schema, Emit.EACH)
        assert [state.update(batch)["n"].to_pylist() for _ in range(3)] == [[n] * len(keys) for n in (1, 2, 3)]
        assert state.num_keys == len(keys)


def test_nan_is_larger_than_every_number_in_minimum_and_maximum() -> None:
    batch = pa.record_batch({"k": [1, 1, 1], "v": [float("nan"), 1.0, float("inf")]})
    specs = (AggregateSpec("low", A.MIN, "v"), AggregateSpec("high", A.MAX, "v"))
    result = table(("k",), specs, batch.schema, Emit.BATCH).update(batch)
    assert result["low"].to_pylist() == [1.0] and np.isnan(result["high"].to_pylist()[0])


def test_a_sum_that_exceeds_int64_is_refused() -> None:
    batch = pa.record_batch({"k": [1, 1], "v": [2**62, 2**62]})
    state = table(("k",), (AggregateSpec("s", A.SUM, "v"),), batch.schema, Emit.EACH)
    with pytest.raises(UserCodeError, match=r"'sums': the sum 's' of column 'v' exceeds the range of int64. Cast"):
        state.update(batch)


SCHEMA = pa.schema([("id", pa.int64()), ("amount", pa.float64()), ("name", pa.string()), ("big", pa.uint64())])


@pytest.mark.parametrize(
    ("key", "specs", "message"),
    [
        (("idd",), [AggregateSpec("n", A.COUNT)], r"key: no column 'idd'; did you mean 'id'\?"),
        (("amount",), [AggregateSpec("n", A.COUNT)], r"column 'amount' of type double cannot be a key. Cast the column"),
        (("id",), [AggregateSpec("s", A.SUM, "amuont")], r"aggregate 's': no column 'amuont'; did you mean 'amount'\?"),
        (("id",), [AggregateSpec("s", A.SUM, "name")], r"the sum of column 'name' of type string\. Cast"),
        (("id",), [AggregateSpec("s", A.SUM, "big")], r"the sum of column 'big' of type uint64"),
        (("id",), [AggregateSpec("s", A.SUM)], r"aggregate 's': sum needs a column"),
        (("id",), [AggregateSpec("id", A.COUNT)], r"column 'id' would appear twice"),
        ((), [AggregateSpec("n", A.COUNT)], r"at least one key column"),
        (("id",), [], r"at least one aggregate"),
    ],
)
def test_the_error_for_an_invalid_aggregation_says_how_to_fix_it(key: Any, specs: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        output_schema(SCHEMA, key, specs)


def test_a_sum_or_a_minimum_is_null_until_its_key_has_a_value() -> None:
    schema = pa.schema([("k", pa.int64()), ("v", pa.int64())])
    specs = (AggregateSpec("s", A.SUM, "v"), AggregateSpec("low", A.MIN, "v"))
    state, oracle = table(("k",), specs, schema, Emit.EACH), Oracle(("k",), specs, Emit.EACH)
    for values in ([1, None, None], [None, 2, None], [3, 4, 5], [None, None, None]):
        batch = pa.record_batch([pa.array([7, 8, 9]), pa.array(values, pa.int64())], schema=schema)
        assert to_rows(state.update(batch)) == oracle.update(batch)


def test_null_keys_are_equal_even_if_their_buffers_contain_different_bytes() -> None:
    def with_bytes_under_nulls(values: list[int]) -> pa.Array:
        return pa.Array.from_buffers(pa.int64(), 3, [pa.py_buffer(b"\x04"), pa.py_buffer(np.array(values))])

    schema = pa.schema([("k", pa.int64())])
    state = table(("k",), (AggregateSpec("n", A.COUNT),), schema, Emit.EACH)
    assert to_rows(state.update(pa.record_batch([with_bytes_under_nulls([1, 2, 7])], schema=schema))) == [
        (None, 1),
        (None, 2),
        (7, 1),
    ]
    assert to_rows(state.update(pa.record_batch([with_bytes_under_nulls([7, 0, 7])], schema=schema))) == [
        (None, 3),
        (None, 4),
        (7, 2),
    ]
