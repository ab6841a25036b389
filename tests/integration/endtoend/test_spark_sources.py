from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from slot_kill import killed_after

from weir import Job, agg, sinks, sources
from weir.connectors.base import Source
from weir.coordinator.start import Resume
from weir.errors import ConfigError, GraphError
from weir.kernel.effects import JobOutcome
from weir.spark.launch import RunOptions, launch, run_job
from weir.spark.session import LazySession

pytestmark = pytest.mark.spark
ROWS, KEYS = 60_000, 100
RATE = 20_000
NUMBERS = f"select id % {KEYS} as key, id as number from range({ROWS})"
TICKETS = f"select id % {KEYS} as key, uuid() as ticket from range({ROWS})"
"""A query that returns different rows each time it runs."""


def numbers(spark: SparkSession) -> DataFrame:
    return spark.range(ROWS).selectExpr(f"id % {KEYS} as key", "id as number").repartition(4)


def summing(session: LazySession, source: Source, root: Path) -> Job:
    job = Job("summing")
    with session.planning():
        keyed = job.read(source, uid="rows").key_by("key")
    updates = keyed.aggregate(rows=agg.count(), total=agg.sum("number"), emit="each", uid="sums")
    updates.write(sinks.parquet(root / "output"), uid="out")
    return job


def copying(session: LazySession, root: Path, *, rate: float | None) -> Job:
    job = Job("copying")
    with session.planning():
        job.read(sources.sql(TICKETS, rate=rate), uid="tickets").write(sinks.parquet(root / "output"), uid="out")
    return job


def options(root: Path, **settings: Any) -> RunOptions:
    return RunOptions(checkpoint_dir=str(root / "checkpoints"), interval_ms=100, **settings)


@pytest.mark.parametrize("source", [sources.sql(NUMBERS, rate=RATE), sources.dataframe(numbers, rate=RATE)])
def test_each_row_of_a_query_is_counted_exactly_once_although_a_slot_is_killed(
    session: LazySession, tmp_path: Path, source: Source
) -> None:
    running = launch(summing(session, source, tmp_path), options(tmp_path), session=session)
    result = killed_after(running, checkpoints=2)
    assert (result.outcome, result.reason) == (JobOutcome.FINISHED, "")
    rows = pq.read_table(tmp_path / "output", partitioning=None).to_pylist()
    assert len(rows) == ROWS
    for key in range(KEYS):
        counts_and_totals = sorted((row["rows"], row["total"]) for row in rows if row["key"] == key)
        assert [count for count, _ in counts_and_totals] == list(range(1, ROWS // KEYS + 1)), "each record is counted once"
        assert counts_and_totals[-1][1] == sum(range(key, ROWS, KEYS))


def staging(root: Path) -> Path:
    """Return the staging directory of the query. Fails unless the query has exactly one staging directory."""
    (directory,) = (root / "checkpoints" / "copying" / "staged-splits" / "tickets").iterdir()
    return directory


def staged(root: Path) -> dict[str, tuple[int, bytes]]:
    return {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in staging(root).iterdir()}


def test_a_resumed_job_reads_the_same_staged_rows(session: LazySession, tmp_path: Path) -> None:
    running = launch(copying(session, tmp_path, rate=RATE), options(tmp_path), session=session)
    while (result := running.wait(0.05)) is None:
        if len(running.progress().completed) >= 2:
            running.suspend()
    assert result.outcome is JobOutcome.SUSPENDED
    before, seen = staged(tmp_path), tickets(tmp_path / "output")
    assert 0 < len(seen) < ROWS

    resumed = run_job(copying(session, tmp_path, rate=None), options(tmp_path, start=Resume()), session=session)
    assert (resumed.outcome, resumed.reason) == (JobOutcome.FINISHED, "")
    assert staged(tmp_path) == before
    done = tickets(tmp_path / "output")
    assert len(done) == len(set(done)) == ROWS
    assert set(seen) <= set(done) == set(tickets(staging(tmp_path)))


def tickets(directory: Path) -> list[str]:
    found: list[str] = pq.read_table(directory, columns=["ticket"], partitioning=None)["ticket"].to_pylist()
    return found


def test_an_invalid_query_is_refused_when_the_job_is_built(session: LazySession, tmp_path: Path) -> None:
    with pytest.raises(GraphError, match=r"source at test_spark_sources.py:\d+: .*`nmber` cannot be resolved"):
        summing(session, sources.sql("select nmber from range(3)"), tmp_path)


def test_a_query_without_a_session_is_refused_and_the_message_says_how_to_start_the_job(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Run the job with `weir run`"):
        Job("sessionless").read(sources.sql(NUMBERS), uid="rows")
