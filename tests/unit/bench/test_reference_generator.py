"""The reference computation of the generated input equals the output of the generator source."""

from __future__ import annotations

import numpy as np
import pytest

from bench import reference_generator
from bench.checkpoint_reader import SplitRead
from bench.reference_generator import key_counts
from weir import sources
from weir.operators.base import OperatorContext
from weir.protocol.ids import Generation, OperatorUid

SEED, DISTINCT = 11, 500


def read(position: int, *, parallelism: int) -> tuple[list[SplitRead], dict[int, tuple[int, int]]]:
    """Read the first ``position`` rows of each split from the source. Return count and sum for each key."""
    source = sources.generator(
        {"key": sources.uniform_ints(distinct=DISTINCT, sparse=True), "value": sources.ints(0, reference_generator.VALUES)},
        seed=SEED,
    )
    counted: dict[int, tuple[int, int]] = {}
    splits = source.splits(parallelism)
    for split in splits:
        reader = source.reader()
        context = OperatorContext("bench", OperatorUid("source"), "source", 0, 1, 1, (0, 0), Generation(1), batch_rows=position)
        reader.open(context)
        reader.add_split(split)
        polled = reader.poll()
        assert polled is not None
        batch = polled.records
        assert batch.num_rows == position
        for key, value in zip(batch["key"].to_pylist(), batch["value"].to_pylist(), strict=True):
            count, total = counted.get(key, (0, 0))
            counted[key] = (count + 1, total + value)
    return [SplitRead(split, position) for split in splits], counted


def computed(splits: list[SplitRead]) -> dict[int, tuple[int, int]]:
    counts = key_counts(splits, seed=SEED, distinct=DISTINCT)
    return {
        key: (rows, total)
        for key, rows, total in zip(counts.keys.tolist(), counts.rows.tolist(), counts.values.tolist(), strict=True)
        if rows
    }


@pytest.mark.parametrize("parallelism", [1, 3])
def test_computed_keys_and_values_equal_those_of_the_source(parallelism: int) -> None:
    splits, counted = read(4_000, parallelism=parallelism)

    assert computed(splits) == counted


def test_the_counts_stay_correct_if_a_later_run_reads_more_or_less_input() -> None:
    computed(read(5_000, parallelism=2)[0])
    for position in (7_001, 300):
        splits, counted = read(position, parallelism=2)

        assert computed(splits) == counted


def test_the_chunk_size_does_not_affect_the_computed_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference_generator, "CHUNK_ROWS", 64)
    reference_generator._stride.cache_clear()
    splits, counted = read(1_000, parallelism=2)

    assert computed(splits) == counted


def test_a_different_seed_gives_different_records() -> None:
    splits, _ = read(1_000, parallelism=1)
    one, other = (key_counts(splits, seed=seed, distinct=DISTINCT).rows for seed in (SEED, SEED + 1))

    assert not np.array_equal(one, other)


def test_keys_that_are_equal_after_integer_division_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference_generator, "_mix", lambda words: words & np.uint64(127))

    with pytest.raises(SystemExit, match="are equal after division by 100"):
        reference_generator._sparse_keys(127)
