"""Jobs whose going back shows: one prints every record, and two versions of another of which the later one is no good."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from weir import Job, Params, sinks, sources


def job(params: Params) -> Job:
    """Prints each number on a line of its own: no sink takes back what is printed."""
    job = Job("small")
    rate = params.int("rate", 0)
    read = job.read(sources.parquet(params.path("input"), rate=rate or None), uid="numbers")
    read.write(sinks.console(rows=100_000), uid="out")
    return job


def good(params: Params) -> Job:
    job = Job("piped")
    read = job.read(sources.parquet(params.path("input"), rate=params.int("rate")), uid="numbers")
    checked = read.map(as_it_is, schema={"key": int, "number": int}, uid="checked")
    checked.write(sinks.parquet(params.path("output")), uid="out")
    return job


def bad(params: Params) -> Job:
    """Like ``good``, but for what it does with its first record."""
    job = Job("piped")
    read = job.read(sources.parquet(params.path("input"), rate=params.int("rate")), uid="numbers")
    gate = params.path("output") + ".gate"

    def fails_once_it_runs(row: dict[str, Any]) -> dict[str, Any]:
        # No checkpoint completes before it: barriers stay behind the record.
        while not Path(gate).exists():
            time.sleep(0.02)
        raise ValueError(f"the new version cannot bear the number {row['number']}")

    checked = read.map(fails_once_it_runs, schema={"key": int, "number": int}, uid="checked")
    checked.write(sinks.parquet(params.path("output")), uid="out")
    return job


def as_it_is(row: dict[str, Any]) -> dict[str, Any]:
    return row
