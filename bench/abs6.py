"""The abs6 workload: six operators, three shuffles.

The graph is modelled on the evaluation in "Lightweight Asynchronous Snapshots for Distributed Dataflows" (Carbone et al., 2015),
the paper on asynchronous barrier snapshotting (ABS).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

from bench.checkpoint_reader import CheckpointContents
from bench.int64 import wrap_int64
from bench.reference_generator import KeyCounts, key_counts
from weir import Job, agg, sinks, sources
from weir.connectors.stats_sink import Totals

SOURCE, FIRST, SECOND, THIRD, SINK = "source", "count-sum", "sum-by-10", "sum-by-100", "stats"


@dataclass(frozen=True, slots=True)
class Abs6:
    """The job and the check of its result.

    ``emit``: with ``each``, every keyed operator emits a running result for each record. With ``batch``, every keyed
    operator emits one result for each key of a batch. ``rate``: records per second of the whole source. None means unlimited.
    ``timed``: records have a column with their emission time, from which the sink computes the latency. For each key, a keyed
    operator forwards the maximum emission time of all records so far. This maximum is the emission time of the current
    record if the records of each key arrive in the order of their emission. Records that are emitted hundreds of milliseconds
    apart arrive in this order.
    """

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

    def find_error(self, contents: CheckpointContents, totals: Totals) -> str | None:
        """Compare the result with an independent computation over the same input. Return a description of the difference, or
        None."""
        counts = key_counts(contents.splits[SOURCE], seed=self.seed, distinct=self.distinct)
        return self._wrong_state(contents, counts) or self._wrong_totals(contents, totals, counts)

    def _wrong_state(self, contents: CheckpointContents, counts: KeyCounts) -> str | None:
        """Check the count and the sum of each key in the state of the first keyed operator at the last checkpoint."""
        state = contents.states[FIRST]
        expected = {
            key: (count, 2 * total + count)
            for key, count, total in zip(*(column.tolist() for column in (counts.keys, counts.rows, counts.values)), strict=True)
            if count
        }
        result = dict(
            zip(
                state["key"].to_pylist(),
                zip(state["count"].to_pylist(), state["total"].to_pylist(), strict=True),
                strict=True,
            )
        )
        if result == expected:
            return None
        differing = [key for key in expected.keys() | result.keys() if expected.get(key) != result.get(key)]
        key = min(differing)
        return f"{len(differing)} keys have a wrong count or sum: key {key} has {result.get(key)}, expected {expected.get(key)}"

    def _wrong_totals(self, contents: CheckpointContents, totals: Totals, counts: KeyCounts) -> str | None:
        """Check the totals of the sink.

        With ``emit="each"`` the totals do not depend on the order of records, because no two keys become equal in a later stage
        (``reference_generator`` checks this). For the n-th record of a key, the first stage yields n, the second stage yields the
        sum of 1 to n, and the third stage yields the sum of these sums.
        """
        if self.emit == "batch":
            # Batch boundaries affect the number of results, but not the set of keys.
            third = contents.states[THIRD]["key"].to_pylist()
            expected_keys = sorted(key // 10 // 10 for key in counts.keys[counts.rows > 0].tolist())
            return (
                None if sorted(third) == expected_keys else f"{len(third)} keys in the last stage, expected {len(expected_keys)}"
            )
        rows = counts.rows.tolist()
        result = (totals.rows, totals.sums.get("third"), totals.sums.get("key"))
        expected = (
            sum(rows),
            wrap_int64(sum(n * (n + 1) * (n + 2) * (n + 3) // 24 for n in rows)),
            wrap_int64(sum(n * (key // 10 // 10) for n, key in zip(rows, counts.keys.tolist(), strict=True))),
        )
        return None if result == expected else f"the sink has (rows, sum, keys) {result}, expected {expected}"
