"""The job of the chaos runs. The job computes running counts per key and, after a second shuffle, running counts per group of
keys.

The ``id`` of a record encodes its origin (see dataset.py). The aggregate per key emits a result for each record, and
``total`` grows by the id of the record. From ``total``, the output check reconstructs which records the aggregate per key
received, and in which order.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import polars as pl
import pyarrow as pa

from weir import Job, Params, agg, sinks, sources
from weir.api.stream import Stream

GENERATED_FROM = 1 << 40
"""The smallest id of a generated record. The ids of records from files are smaller than this id."""
GENERATOR_SPLITS = 3
CODE_OF_KEY = 10_000_000
"""The second aggregate sums ``key * CODE_OF_KEY + n``, from which the output check decodes key and count."""
FILES = pa.schema([("id", pa.int64()), ("key", pa.int64())])
SLICE_S = 0.02


def throttle(release: str, rows_per_second: float) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """Return a function that limits the throughput until the file ``release`` exists. The function returns its input
    unchanged."""

    def limit_rate(batch: pa.RecordBatch) -> pa.RecordBatch:
        until = time.monotonic() + batch.num_rows / rows_per_second
        while time.monotonic() < until and not os.path.exists(release):
            time.sleep(SLICE_S)
        return batch

    return limit_rate


def job(params: Params) -> Job:
    """Build the job. The parameters come from the plan of a chaos run."""
    job = Job("chaos")
    kind = params.choice("input", ["parquet", "json_lines", "generator", "mixed"])
    keys, groups = params.int("keys"), params.int("groups")
    streams = []
    if kind != "generator":
        data = params.path("data")
        source = sources.parquet(data) if kind == "parquet" else sources.json_lines(data, FILES)
        read = job.read(source, uid="files")
        limit_rate = throttle(params.str("release"), params.float("rows_per_second"))
        streams.append(read.map_batches(limit_rate, blocking=params.bool("blocking"), uid="limit_rate"))
    if kind in ("generator", "mixed"):
        streams.append(_generated(job, rows=params.int("generated"), rate=params.float("rate"), keys=keys))
    records = streams[0] if len(streams) == 1 else streams[0].union(*streams[1:], uid="both")
    text_keys = params.bool("text_keys")
    if text_keys:
        records = records.select("id", key=pl.concat_str([pl.lit("key-"), pl.col("key").cast(pl.String)]))
    per_key = records.key_by("key").aggregate(n=agg.count(), total=agg.sum("id"), emit="each", uid="per-key")
    rows_per_file = params.int("rows_per_file")
    per_key.write(sinks.parquet(params.path("out_keys"), rows_per_file=rows_per_file), uid="out-keys")
    key = pl.col("key").str.strip_prefix("key-").cast(pl.Int64) if text_keys else pl.col("key")
    coded = per_key.select(group=key % groups, code=key * CODE_OF_KEY + pl.col("n"))
    per_group = coded.key_by("group").aggregate(n=agg.count(), total=agg.sum("code"), emit="each", uid="per-group")
    per_group.write(sinks.json_lines(params.path("out_groups"), rows_per_file=rows_per_file), uid="out-groups")
    return job


def _generated(job: Job, *, rows: int, rate: float, keys: int) -> Stream:
    numbers = job.read(
        sources.generator({"row": sources.row_index()}, rows=rows, rate=rate, splits=GENERATOR_SPLITS), uid="generator"
    )
    return numbers.select(id=pl.col("row") + GENERATED_FROM, key=pl.col("row") * 7919 % keys)
