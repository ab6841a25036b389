"""The check of abs6 agrees with a computation record by record, and notices what is wrong by one."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from bench import generated
from bench.abs6 import FIRST, SOURCE, THIRD, Abs6
from bench.evidence import Evidence, SplitRead
from bench.generated import key_counts
from bench.wrapped import wrapped
from weir.connectors.stats import Totals
from weir.protocol.snapshots import Split

SEED, DISTINCT = 5, 40
SPLITS = tuple(SplitRead(Split(str(n), {"first": n, "of": 2, "rows": None}), 300 + n) for n in range(2))


def record_by_record(*, factor: int = 1) -> Evidence:
    """What the job leaves behind, with its three running aggregates done one record after the other."""
    counts = key_counts(SPLITS, seed=SEED, distinct=DISTINCT)
    rows, sums = 0, {"key": 0, "third": 0}
    for key, count in zip(counts.keys.tolist(), counts.rows.tolist(), strict=True):
        second = third = 0
        for first in range(1, count + 1):
            second += first
            third += second * factor
            rows += 1
            sums["third"] = wrapped(sums["third"] + third)
            sums["key"] = wrapped(sums["key"] + key // 10 // 10)
    first_state = pa.table(
        {"key": counts.keys, "count": counts.rows, "total": [2 * v + n for v, n in zip(counts.values, counts.rows, strict=True)]}
    )
    third_state = pa.table({"key": [key // 10 // 10 for key in counts.keys.tolist()]})
    return Evidence({SOURCE: SPLITS}, {FIRST: first_state, THIRD: third_state}, Totals(rows, sums))


def verdict(evidence: Evidence, emit: str = "each") -> str | None:
    return Abs6(SEED, distinct=DISTINCT, emit=emit).wrong(evidence, evidence.totals)  # type: ignore[arg-type]  # one of two


@pytest.mark.parametrize("emit", ["each", "batch"])
def test_a_right_result_passes(emit: str) -> None:
    assert verdict(record_by_record(), emit) is None


@pytest.mark.parametrize(
    "change",
    [
        lambda totals: replace(totals, rows=totals.rows - 1),
        lambda totals: replace(totals, sums=totals.sums | {"third": totals.sums["third"] + 1}),
        lambda totals: replace(totals, sums=totals.sums | {"key": totals.sums["key"] - 1}),
    ],
)
def test_a_total_that_is_off_by_one_is_noticed(change) -> None:  # type: ignore[no-untyped-def]  # a lambda
    evidence = record_by_record()

    assert "the sink has" in str(verdict(replace(evidence, totals=change(evidence.totals))))


@pytest.mark.parametrize("emit", ["each", "batch"])
@pytest.mark.parametrize("column", ["count", "total"])
def test_a_key_that_is_off_by_one_is_noticed(emit: str, column: str) -> None:
    evidence = record_by_record()
    state = evidence.states[FIRST]
    changed = state[column].to_pylist()
    changed[7] += 1
    state = state.set_column(state.schema.get_field_index(column), column, pa.array(changed))

    assert "1 keys have a wrong count" in str(verdict(replace(evidence, states=evidence.states | {FIRST: state}), emit))  # type: ignore[operator]  # a dict here


def test_a_record_that_the_source_read_and_nobody_counted_is_noticed() -> None:
    evidence = record_by_record()
    further = (*SPLITS[:1], replace(SPLITS[1], position=302))

    assert verdict(replace(evidence, splits={SOURCE: further})) is not None


def test_a_key_that_is_lost_on_its_way_to_the_last_stage_is_noticed_per_batch() -> None:
    evidence = record_by_record()
    states = {FIRST: evidence.states[FIRST], THIRD: evidence.states[THIRD].slice(1)}

    assert "39 keys in the last stage, should be 40" in str(verdict(replace(evidence, states=states), "batch"))


def test_all_records_of_a_wrongly_summed_stage_are_noticed() -> None:
    assert verdict(record_by_record(factor=2)) is not None


def test_sums_wrap_around_as_int64_does() -> None:
    assert wrapped(2**63) == -(2**63)
    assert wrapped(-(2**63) - 1) == 2**63 - 1
    assert wrapped(2**64 + 5) == 5
    assert generated.VALUES == 100
