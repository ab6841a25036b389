"""The workload of the part ``channels``: independent pipelines, each with one shuffle, which together have the same keys."""

from __future__ import annotations

from dataclasses import dataclass

from bench.checkpoint_reader import CheckpointContents
from bench.reference_generator import key_counts
from weir import Job, agg, sinks, sources
from weir.connectors.stats_sink import Totals

DISTINCT = 100_000


@dataclass(frozen=True, slots=True)
class Pipelines:
    """``count`` pipelines in one job. With two slots, each slot has 2 x ``count`` input channels."""

    seed: int
    count: int

    @property
    def name(self) -> str:
        return f"pipelines-{self.count}"

    @property
    def _distinct(self) -> int:
        return DISTINCT // self.count

    def job(self) -> Job:
        job = Job(self.name)
        columns = {"key": sources.uniform_ints(distinct=self._distinct, sparse=True), "value": sources.ints(0, 100)}
        for number in range(self.count):
            source = job.read(sources.generator(columns, seed=self.seed), uid=f"source-{number}")
            sums = source.key_by("key").aggregate(uid=f"sum-{number}", count=agg.count(), total=agg.sum("value"))
            sums.write(sinks.stats(), uid=f"stats-{number}")
        return job

    def find_error(self, contents: CheckpointContents, totals: Totals) -> str | None:
        """Compare the state of each pipeline with an independent computation over the same input."""
        for number in range(self.count):
            counts = key_counts(contents.splits[f"source-{number}"], seed=self.seed, distinct=self._distinct)
            state = contents.states.get(f"sum-{number}")
            if state is None:
                return f"pipeline {number} has read no records"
            result = dict(
                zip(
                    state["key"].to_pylist(),
                    zip(state["count"].to_pylist(), state["total"].to_pylist(), strict=True),
                    strict=True,
                )
            )
            columns = (counts.keys.tolist(), counts.rows.tolist(), counts.values.tolist())
            expected = {key: (rows, total) for key, rows, total in zip(*columns, strict=True) if rows}
            if result != expected:
                return f"the state of pipeline {number} differs from the expected state"
        return None
