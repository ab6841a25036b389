"""The jobs of ``test_rollback``. Job ``small`` prints every record. Job ``piped`` has a working and a failing version."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from weir import Job, Params, sinks, sources


def job(params: Params) -> Job:
    """A job that prints each number on its own line. A console sink cannot revoke its output."""
    job = Job("small")
    rate = params.int("rate", 0)
    read = job.read(sources.parquet(params.path("input"), rate=rate or None), uid="numbers")
    read.write(sinks.console(rows=100_000), uid="out")
    return job


def good(params: Params) -> Job:
    job = Job("piped")
    read = job.read(sources.parquet(params.path("input"), rate=params.int("rate")), uid="numbers")
    checked = read.map(identity, schema={"key": int, "number": int}, uid="checked")
    checked.write(sinks.parquet(params.path("output")), uid="out")
    return job


def bad(params: Params) -> Job:
    """A job like ``good`` that fails at its first record."""
    job = Job("piped")
    read = job.read(sources.parquet(params.path("input"), rate=params.int("rate")), uid="numbers")
    gate = params.path("output") + ".gate"

    def wait_for_gate_and_fail(row: dict[str, Any]) -> dict[str, Any]:
        # While this call blocks, no checkpoint completes, because no barrier overtakes the record.
        while not Path(gate).exists():
            time.sleep(0.02)
        raise ValueError(f"the new version cannot process the number {row['number']}")

    checked = read.map(wait_for_gate_and_fail, schema={"key": int, "number": int}, uid="checked")
    checked.write(sinks.parquet(params.path("output")), uid="out")
    return job


def identity(row: dict[str, Any]) -> dict[str, Any]:
    return row
