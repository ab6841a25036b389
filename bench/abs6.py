"""The workload abs6, after the evaluation graph of the ABS paper: six operators, three shuffles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

from bench.evidence import Evidence
from bench.generated import KeyCounts, key_counts
from bench.wrapped import wrapped
from weir import Job, agg, sinks, sources
from weir.connectors.stats import Totals

SOURCE, FIRST, SECOND, THIRD, SINK = "source", "count-sum", "sum-by-10", "sum-by-100", "stats"


@dataclass(frozen=True, slots=True)
class Abs6:
    """``emit``: ``each`` is the strict form, a running result for every record at each of the three keyed operators.

    ``rate``: records a second of the whole source, None: as fast as it goes. ``timed``: a column carries the time of
    emission to the sink, through each keyed operator as the maximum (which, at hundreds of milliseconds between the
    records of a key, is the record's own)."""

    seed: int
    distinct: int = 100_000
    emit: Literal["batch", "each"] = "each"
    rate: float | None = None
    timed: bool = False

    @property
    def name(self) -> str:
        return "abs6" if self.emit == "each" else "abs6-batch"

    def job(self) -> Job:
        job = Job(self.name)
        columns = {"key": sources.uniform_ints(distinct=self.distinct, sparse=True), "value": sources.ints(0, 100)}
        if self.timed:
            columns["emitted"] = sources.emitted_ns()
        source = job.read(sources.generator(columns, rate=self.rate, seed=self.seed), uid=SOURCE)
        mapped = source.with_columns(value=pl.col("value") * 2 + 1)
        age = {"emitted": agg.max("emitted")} if self.timed else {}
        kept = {name: pl.col(name) for name in age}
        first = mapped.key_by("key").aggregate(
            emit=self.emit, uid=FIRST, count=agg.count(), total=agg.sum("value"), **age
        )  # fmt: skip
        by_10 = first.select(key=pl.col("key") // 10, count=pl.col("count"), **kept)
        second = by_10.key_by("key").aggregate(emit=self.emit, uid=SECOND, second=agg.sum("count"), **age)
        by_100 = second.select(key=pl.col("key") // 10, second=pl.col("second"), **kept)
        third = by_100.key_by("key").aggregate(emit=self.emit, uid=THIRD, third=agg.sum("second"), **age)
        third.write(sinks.stats(latency_column="emitted" if self.timed else None), uid=SINK)
        return job

    def wrong(self, evidence: Evidence, totals: Totals) -> str | None:
        """What differs from an independent computation over the same input; None: nothing does."""
        counts = key_counts(evidence.splits[SOURCE], seed=self.seed, distinct=self.distinct)
        return self._wrong_state(evidence, counts) or self._wrong_totals(evidence, totals, counts)

    def _wrong_state(self, evidence: Evidence, counts: KeyCounts) -> str | None:
        """Count and sum of every key, in the state of the first keyed operator at the last checkpoint."""
        state = evidence.states[FIRST]
        known = {
            key: (count, 2 * total + count)
            for key, count, total in zip(*(column.tolist() for column in (counts.keys, counts.rows, counts.values)), strict=True)
            if count
        }
        found = dict(
            zip(
                state["key"].to_pylist(),
                zip(state["count"].to_pylist(), state["total"].to_pylist(), strict=True),
                strict=True,
            )
        )
        if found == known:
            return None
        differing = [key for key in known.keys() | found.keys() if known.get(key) != found.get(key)]
        key = min(differing)
        return f"{len(differing)} keys have a wrong count or sum: key {key} has {found.get(key)}, should have {known.get(key)}"

    def _wrong_totals(self, evidence: Evidence, totals: Totals, counts: KeyCounts) -> str | None:
        """Strict results do not depend on any order, because the keys of all three stages are as distinct as the first ones
        (``KeyCounts`` sees to it): the n-th record of a key gives n, then 1 + ... + n, then the sum of those."""
        if self.emit == "batch":
            # Results per batch depend on where batches are cut; that each key arrives, and nothing else, does not.
            third = evidence.states[THIRD]["key"].to_pylist()
            expected = sorted(key // 10 // 10 for key in counts.keys[counts.rows > 0].tolist())
            return None if sorted(third) == expected else f"{len(third)} keys in the last stage, should be {len(expected)}"
        rows = counts.rows.tolist()
        found = (totals.rows, totals.sums.get("third"), totals.sums.get("key"))
        should = (
            sum(rows),
            wrapped(sum(n * (n + 1) * (n + 2) * (n + 3) // 24 for n in rows)),
            wrapped(sum(n * (key // 10 // 10) for n, key in zip(rows, counts.keys.tolist(), strict=True))),
        )
        return None if found == should else f"the sink has (rows, sum, keys) {found}, should have {should}"
