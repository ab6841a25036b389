"""A small job that many tests use. The job computes a running sum per key from a directory of Parquet files."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from weir import Job, Params, agg, sinks, sources

ROWS = 4_000
KEYS = 7


def numbers(directory: Path) -> Path:
    """Write ``ROWS`` rows (key, number) to two files."""
    directory.mkdir(parents=True)
    for part in range(2):
        values = list(range(part, ROWS, 2))
        table = pa.table({"key": [value % KEYS for value in values], "number": values})
        pq.write_table(table, directory / f"{part}.parquet", row_group_size=500)
    return directory


def job(params: Params) -> Job:
    """Computes the running count and the running sum of the numbers of each key."""
    job = Job("small")
    rate = params.int("rate", 0, help="rows per second")
    read = job.read(sources.parquet(params.path("input", help="directory with the numbers"), rate=rate or None), uid="numbers")
    sums = read.key_by("key").aggregate(rows=agg.count(), total=agg.sum("number"), emit="each", uid="sums")
    sums.write(sinks.parquet(params.path("output")), uid="out")
    return job


def with_function(params: Params) -> Job:
    """Computes the same output as ``job``, with a Python function that takes about 0.5 ms for each row."""
    job = Job("small")
    read = job.read(sources.parquet(params.path("input"), rate=params.int("rate", 0) or None), uid="numbers")
    slow = read.map(burn_cpu, schema={"key": int, "number": int}, uid="burn")
    sums = slow.key_by("key").aggregate(rows=agg.count(), total=agg.sum("number"), emit="each", uid="sums")
    sums.write(sinks.parquet(params.path("output")), uid="out")
    return job


def burn_cpu(row: dict[str, Any]) -> dict[str, Any]:
    until_s = time.perf_counter() + 0.0005
    while time.perf_counter() < until_s:
        pass
    return {"key": row["key"], "number": row["number"]}


def failing(params: Params) -> Job:
    """A job whose function fails with a division by zero at the number 3000."""
    job = Job("small")
    rate = params.int("rate", 0)
    read = job.read(sources.parquet(params.path("input"), rate=rate or None), uid="numbers")
    divided = read.map(divide, schema={"key": int, "share": float}, uid="divider", name="divide")
    divided.write(sinks.parquet(params.path("output")), uid="out")
    return job


def divide(row: dict[str, Any]) -> dict[str, Any]:
    return {"key": row["key"], "share": 1 / (row["number"] - 3_000)}


def by_other_key(params: Params) -> Job:
    """A job that is not compatible with the checkpoints of ``job``."""
    job = Job("small")
    read = job.read(sources.parquet(params.path("input"), rate=params.int("rate", 0) or None), uid="numbers")
    sums = read.key_by("number").aggregate(rows=agg.count(), total=agg.sum("number"), uid="sums")
    sums.write(sinks.parquet(params.path("output")), uid="out")
    return job


def totals(output: Path) -> list[tuple[int, int]]:
    """Return (key, last total) of each key in the committed rows. Assert that the counts of each key are 1, 2, 3, ..."""
    rows = pq.read_table(output, partitioning=None).to_pylist()
    last: dict[int, tuple[int, int]] = {}
    counts: dict[int, list[int]] = {}
    for row in rows:
        counts.setdefault(row["key"], []).append(row["rows"])
        last[row["key"]] = max(last.get(row["key"], (0, 0)), (row["rows"], row["total"]))
    for key, found in counts.items():
        assert sorted(found) == list(range(1, len(found) + 1)), f"counts of key {key}: {sorted(found)[:20]}..."
    return sorted((key, total) for key, (_, total) in last.items())


def expected_totals() -> list[tuple[int, int]]:
    return [(key, sum(range(key, ROWS, KEYS))) for key in range(KEYS)]
