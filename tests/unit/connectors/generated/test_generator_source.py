from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.connectors.connector_harness import ReadAll, make_context, poll, read_with_restarts

from weir.connectors import sources
from weir.connectors.generated.generator_source import GeneratorReader, batch_interval_ns
from weir.errors import ConfigError
from weir.protocol.snapshots import Split

ABS6 = {"key": sources.uniform_ints(distinct=100_000, sparse=True), "value": sources.ints(0, 100)}
ALL_COLUMN_KINDS = {
    **ABS6,
    "dense": sources.uniform_ints(distinct=10),
    "share": sources.floats(-1, 1),
    "row": sources.row_index(),
    "at": sources.event_time(rows_per_second=1000, jitter_ms=50),
    "word": sources.zipf_words(vocabulary=50),
    "line": sources.zipf_words(vocabulary=50, per_row=3),
}
MASK_64 = (1 << 64) - 1


def splitmix64(seed: int, index: int) -> int:
    """Return output number ``index`` of SplitMix64 with the given seed, computed in plain Python."""
    z = (seed + (index + 1) * 0x9E3779B97F4A7C15) & MASK_64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK_64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK_64
    return z ^ (z >> 31)


def test_the_splitmix64_function_of_this_test_gives_the_published_values() -> None:
    assert [splitmix64(1234567, index) for index in range(3)] == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_the_numba_kernels_compute_splitmix64() -> None:
    from weir.connectors.generated import kernels

    out = np.empty(50, np.uint64)
    kernels.sparse_ints(out, np.uint64(1234567), np.uint64(3), np.uint64(7), np.uint64(1000))
    which = [(splitmix64(1234567, 3 + 7 * row) >> 32) * 1000 >> 32 for row in range(50)]
    assert out.tolist() == [splitmix64(0, index) for index in which]


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 7), st.integers(0, 200), st.integers(1, 40))
def test_the_rows_do_not_depend_on_splits_and_batch_sizes(splits: int, rows: int, batch_rows: int) -> None:
    expected = read_with_restarts(sources.generator(ALL_COLUMN_KINDS, rows=rows, splits=1), [], batch_rows=1000)
    parts = read_with_restarts(sources.generator(ALL_COLUMN_KINDS, rows=rows, splits=splits), [], batch_rows=batch_rows)
    assert expected["row"].to_pylist() == list(range(rows))
    assert parts.sort_by("row").equals(expected)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 6), max_size=4), st.integers(1, 20))
def test_reading_resumes_at_the_next_row_after_a_restart(restart_after: list[int], batch_rows: int) -> None:
    source = sources.generator(ALL_COLUMN_KINDS, rows=100, splits=2)
    table = read_with_restarts(source, restart_after, batch_rows=batch_rows)
    assert sorted(table["row"].to_pylist()) == list(range(100))
    assert table.sort_by("row").equals(read_with_restarts(source, [], batch_rows=100).sort_by("row"))


def test_all_distinct_values_of_a_sparse_key_are_equally_frequent(read_all: ReadAll) -> None:
    keys = read_all(sources.generator(ABS6, rows=1_000_000))["key"].to_numpy()
    values, counts = np.unique(keys, return_counts=True)
    assert 99_900 <= len(values) <= 100_000  # with ten expected rows per key, 4.5 of 100,000 keys get no row on average
    assert abs(counts.std() - 10**0.5) < 0.1 and counts.max() < 40
    assert values.min() < -(9 << 60) / 1.2 and values.max() > (9 << 60) / 1.2
    steps = np.diff(values.astype(np.float64))
    assert steps.min() > 0 and abs(steps.mean() * 1e5 / 2**64 - 1) < 0.01


def test_columns_have_the_declared_distributions(read_all: ReadAll) -> None:
    table = read_all(sources.generator(ALL_COLUMN_KINDS, rows=100_000, seed=7))
    assert set(table["value"].to_pylist()) == set(range(100))
    assert set(table["dense"].to_pylist()) == set(range(10))
    share = table["share"].to_numpy()
    assert share.min() >= -1 and share.max() < 1 and abs(share.mean()) < 0.02
    late_us = 1_700_000_000_000_000 + table["row"].to_numpy() * 1000 - table["at"].cast(pa.int64()).to_numpy()
    assert late_us.min() >= 0 and late_us.max() <= 50_000 and abs(late_us.mean() - 25_000) < 500
    assert abs(np.corrcoef(table["value"].to_numpy(), table["dense"].to_numpy())[0, 1]) < 0.02


def test_words_follow_a_zipf_distribution(read_all: ReadAll) -> None:
    table = read_all(sources.generator({"line": sources.zipf_words(vocabulary=100, per_row=5)}, rows=100_000))
    words = Counter(word for line in table["line"].to_pylist() for word in line.split(" "))
    assert sum(words.values()) == 500_000 and len(words) == 100
    harmonic = sum(1 / rank for rank in range(1, 101))
    for rank, (_, count) in enumerate(words.most_common(10), start=1):
        assert abs(count / 500_000 * harmonic * rank - 1) < 0.05


def test_a_different_seed_gives_different_rows(read_all: ReadAll) -> None:
    one, other = (read_all(sources.generator(ABS6, rows=100, seed=seed)) for seed in (1, 2))
    assert not one.equals(other)


class Clock:
    def __init__(self) -> None:
        self.now_ns = 0

    def __call__(self) -> int:
        return self.now_ns


def rate_limited_reader(
    clock: Clock, *, rate: float, splits: int, rows: int | None = None, buffer_ns: int = 0
) -> GeneratorReader:
    source = sources.generator({"row": sources.row_index(), "at_ns": sources.emitted_ns()}, rows=rows, rate=rate, splits=splits)
    reader = GeneratorReader(source, clock)
    reader.open(make_context(buffer_ns=buffer_ns))
    for split in source.splits(1):
        reader.add_split(split)
    return reader


@settings(max_examples=6, deadline=None)
@given(st.floats(1, 1e6), st.integers(1, 4))
def test_the_rates_of_all_splits_add_up_to_the_configured_rate(rate: float, splits: int) -> None:
    clock = Clock()
    reader = rate_limited_reader(clock, rate=rate, splits=splits)
    emitted = polls = 0
    while clock.now_ns < 2_000_000_000:
        batch = poll(reader)
        if batch is None:
            polls += 1
            assert 0 < reader.next_poll_after_ns() <= 1_000_000_000
            clock.now_ns += reader.next_poll_after_ns()
        else:
            assert set(batch["at_ns"].to_pylist()) == {clock.now_ns}
            emitted += batch.num_rows
    assert rate * 2 - splits - rate * 0.06 <= emitted <= rate * 2.06 + splits
    assert polls <= 2_100


@pytest.mark.parametrize("buffer_ms", [23, 80, 500, 10_000])
@pytest.mark.parametrize("rate", [100, 10_000, 5_000_000])
def test_a_source_keeps_its_rate_if_polls_are_late(rate: int, buffer_ms: int) -> None:
    """The rate holds for any buffer timeout, although each poll comes 50 ms too late."""
    clock = Clock()
    reader = rate_limited_reader(clock, rate=rate, splits=1, buffer_ns=buffer_ms * 1_000_000)
    end_ns, emitted = 30_000_000_000, 0
    while clock.now_ns < end_ns:
        batch = poll(reader)
        if batch is None:
            clock.now_ns += reader.next_poll_after_ns() + 50_000_000
        else:
            emitted += batch.num_rows
    unsent = rate * (buffer_ms / 1_000 + 0.1)
    assert 30 * rate - unsent <= emitted <= 30 * rate * 1.06


def test_after_a_pause_the_reader_emits_at_most_the_rows_of_100_ms() -> None:
    clock = Clock()
    reader = rate_limited_reader(clock, rate=1000, splits=1)
    clock.now_ns = 60_000_000_000
    batch = poll(reader)
    assert batch is not None and batch.num_rows == 100
    assert poll(reader) is None


def test_rows_with_a_rate_limit_are_emitted_in_batches() -> None:
    clock = Clock()
    reader = rate_limited_reader(clock, rate=100_000, splits=1, rows=1_250)
    sizes = []
    for _ in range(40):
        clock.now_ns += 1_000_000
        while (batch := poll(reader)) is not None:
            sizes.append(batch.num_rows)
    assert sizes == [500, 500, 250]
    assert reader.unfinished() == ()


def test_a_reader_with_a_rate_limit_emits_one_batch_per_buffer_timeout() -> None:
    clock = Clock()
    reader = rate_limited_reader(clock, rate=100_000, splits=1, buffer_ns=20_000_000)
    emitted: list[tuple[int, int]] = []
    while clock.now_ns < 100_000_000:
        batch = poll(reader)
        if batch is not None:
            emitted.append((clock.now_ns, batch.num_rows))
        clock.now_ns += max(1_000_000, reader.next_poll_after_ns() if batch is None else 0)
    assert [at_ns // 1_000_000 for at_ns, _ in emitted] == [1, 20, 40, 60, 80]
    assert [rows for _, rows in emitted] == [100, 1_900, 2_000, 2_000, 2_000]


@pytest.mark.parametrize(("rate", "interval_ms"), [(10, 20), (100_000, 20), (160_000, 16), (500_000, 10), (10_000_000, 10)])
def test_a_fast_split_emits_its_batches_up_to_twice_as_often(rate: float, interval_ms: float) -> None:
    assert batch_interval_ns(rate, 20_000_000) == interval_ms * 1_000_000


def test_endless_splits_are_distributed_evenly_over_the_subtasks() -> None:
    source = sources.generator(ABS6, splits=5)
    todo = list(source.splits(5))
    readers = [source.reader() for _ in range(2)]
    for index, reader in enumerate(readers):
        reader.open(make_context(subtask=index, parallelism=2))
        while todo and reader.wants_split():
            reader.add_split(todo.pop(0))
    assert todo == [] and [len(reader.unfinished()) for reader in readers] == [3, 2]


def test_a_restored_split_resumes_at_its_position() -> None:
    source = sources.generator({"row": sources.row_index()})
    reader = source.reader()
    reader.open(make_context(batch_rows=4))
    reader.add_split(Split("rows-1-of-3", {"first": 1, "of": 3, "rows": None}, position=10**12))
    polled = reader.poll()
    assert polled is not None and polled.records["row"].to_pylist() == [1 + 3 * (10**12 + i) for i in range(4)]
    assert reader.locate(polled.split) == "row 3,000,000,000,002 of the generator"
    assert reader.unfinished()[0].position == 10**12 + 4


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: sources.uniform_ints(distinct=0),
        lambda: sources.ints(5, 5),
        lambda: sources.zipf_words(vocabulary=0),
        lambda: sources.floats(1, 1),
        lambda: sources.event_time(rows_per_second=0),
        lambda: sources.floats(0, math.inf),
        lambda: sources.floats(-1e308, 1e308),
        lambda: sources.event_time(rows_per_second=math.inf),
        lambda: sources.zipf_words(exponent=math.inf),
        lambda: sources.generator(ABS6, rate=math.inf),
        lambda: sources.text("/in", rate=math.inf),
        lambda: sources.generator({}),
        lambda: sources.generator(ABS6, rate=0),
        lambda: sources.generator(ABS6, rows=-1),
    ],
)
def test_invalid_settings_are_refused(wrong: object) -> None:
    assert callable(wrong)
    with pytest.raises(ConfigError):
        wrong()
