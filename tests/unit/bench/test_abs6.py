"""The result check of the abs6 benchmark accepts correct results, and detects a count or a sum that is wrong by 1."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from bench import reference_generator
from bench.abs6 import FIRST, SOURCE, THIRD, Abs6
from bench.checkpoint_reader import CheckpointContents, SplitRead
from bench.int64 import wrap_int64
from bench.reference_generator import key_counts
from weir.connectors.stats_sink import Totals
from weir.protocol.snapshots import Split

SEED, DISTINCT = 5, 40
SPLITS = tuple(SplitRead(Split(str(n), {"first": n, "of": 2, "rows": None}), 300 + n) for n in range(2))


def record_by_record(*, factor: int = 1) -> CheckpointContents:
    """Compute the three running aggregates of the job record by record. Return the contents of a checkpoint with
    these aggregates."""
    counts = key_counts(SPLITS, seed=SEED, distinct=DISTINCT)
    rows, sums = 0, {"key": 0, "third": 0}
    for key, count in zip(counts.keys.tolist(), counts.rows.tolist(), strict=True):
        second = third = 0
        for first in range(1, count + 1):
            second += first
            third += second * factor
            rows += 1
            sums["third"] = wrap_int64(sums["third"] + third)
            sums["key"] = wrap_int64(sums["key"] + key // 10 // 10)
    first_state = pa.table(
        {"key": counts.keys, "count": counts.rows, "total": [2 * v + n for v, n in zip(counts.values, counts.rows, strict=True)]}
    )
    third_state = pa.table({"key": [key // 10 // 10 for key in counts.keys.tolist()]})
    return CheckpointContents({SOURCE: SPLITS}, {FIRST: first_state, THIRD: third_state}, Totals(rows, sums))


def find_error(contents: CheckpointContents, emit: str = "each") -> str | None:
    return Abs6(SEED, distinct=DISTINCT, emit=emit).find_error(contents, contents.totals)  # type: ignore[arg-type]  # "each" or "batch"


@pytest.mark.parametrize("emit", ["each", "batch"])
def test_a_correct_result_passes(emit: str) -> None:
    assert find_error(record_by_record(), emit) is None


@pytest.mark.parametrize(
    "change",
    [
        lambda totals: replace(totals, rows=totals.rows - 1),
        lambda totals: replace(totals, sums=totals.sums | {"third": totals.sums["third"] + 1}),
        lambda totals: replace(totals, sums=totals.sums | {"key": totals.sums["key"] - 1}),
    ],
)
def test_a_sink_total_that_is_wrong_by_one_is_detected(change) -> None:  # type: ignore[no-untyped-def]  # a lambda
    contents = record_by_record()

    assert "the sink has" in str(find_error(replace(contents, totals=change(contents.totals))))


@pytest.mark.parametrize("emit", ["each", "batch"])
@pytest.mark.parametrize("column", ["count", "total"])
def test_a_key_whose_count_or_total_is_wrong_by_one_is_detected(emit: str, column: str) -> None:
    contents = record_by_record()
    state = contents.states[FIRST]
    changed = state[column].to_pylist()
    changed[7] += 1
    state = state.set_column(state.schema.get_field_index(column), column, pa.array(changed))

    assert "1 keys have a wrong count" in str(find_error(replace(contents, states=contents.states | {FIRST: state}), emit))  # type: ignore[operator]  # a dict here


def test_a_record_that_was_read_but_not_counted_is_detected() -> None:
    contents = record_by_record()
    further = (*SPLITS[:1], replace(SPLITS[1], position=302))

    assert find_error(replace(contents, splits={SOURCE: further})) is not None


def test_a_missing_key_in_the_last_stage_is_detected_if_the_stage_emits_once_per_batch() -> None:
    contents = record_by_record()
    states = {FIRST: contents.states[FIRST], THIRD: contents.states[THIRD].slice(1)}

    assert "39 keys in the last stage, expected 40" in str(find_error(replace(contents, states=states), "batch"))


def test_a_wrong_sum_in_a_stage_is_detected() -> None:
    assert find_error(record_by_record(factor=2)) is not None


def test_the_expected_sums_overflow_like_int64_sums() -> None:
    assert wrap_int64(2**63) == -(2**63)
    assert wrap_int64(-(2**63) - 1) == 2**63 - 1
    assert wrap_int64(2**64 + 5) == 5
    assert reference_generator.VALUES == 100
