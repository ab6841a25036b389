"""A job that proves with hashes that its functions in the slots read three secrets."""

from __future__ import annotations

import hashlib
import random
from typing import Any

from weir import Job, Params, agg, sinks, sources

PARAMETERS = ("FROM_ENV", "FROM_FILE", "FROM_PLATFORM")
PADDING = random.Random(7).randbytes(3 << 19)
"""Spark writes a closure of more than 1 MiB to local disks."""


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def job(params: Params) -> Job:
    job = Job("secretive")
    secrets = {name: params.secret(name) for name in PARAMETERS}
    read = job.read(sources.parquet(params.path("input"), rate=params.int("rate", 0) or None), uid="numbers")

    def hashed(row: dict[str, Any]) -> dict[str, Any]:
        assert PADDING
        return {name: sha256(secret.value()) for name, secret in secrets.items()}

    rows = read.map(hashed, schema=dict.fromkeys(PARAMETERS, str), uid="hashed")
    rows.key_by(*PARAMETERS).aggregate(rows=agg.count(), uid="counts").write(sinks.parquet(params.path("output")), uid="out")
    return job
