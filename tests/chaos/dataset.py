"""The input of a chaos run: files whose records encode their origin, and a data frame of the same records for the output check.

The ``id`` of a record in a file is ``file << ROW_BITS | row``. The ``id`` of a generated record is ``GENERATED_FROM + row``. The
id identifies the split of a record and the position of the record in the split.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import polars as pl
import pyarrow.parquet as pq
from tests.chaos.chaos_job import FILES, GENERATED_FROM, GENERATOR_SPLITS
from tests.chaos.plan import ChaosPlan, file_rows

ROW_BITS = 20


def write_input(plan: ChaosPlan, directory: Path) -> pl.DataFrame:
    """Write the input files. Return all records of the run, with the columns ``id`` and ``key``."""
    rng = Random(plan.seed * 31 + 7)
    frames = [_generated(plan)]
    directory.mkdir(parents=True)
    for number in range(plan.files):
        rows = rng.randrange(*file_rows(plan.input))
        frame = pl.DataFrame(
            {
                "id": [number << ROW_BITS | row for row in range(rows)],
                "key": [rng.randrange(plan.keys) for _ in range(rows)],
            },
            schema={"id": pl.Int64, "key": pl.Int64},
        )
        frames.append(frame)
        if plan.input == "parquet":
            table = frame.to_arrow().cast(FILES)
            pq.write_table(table, directory / f"part-{number:05d}.parquet", row_group_size=rng.randrange(40, 300))
        else:
            frame.write_ndjson(directory / f"part-{number:05d}.jsonl")
    return pl.concat(frames)


def origin() -> pl.Expr:
    """Return an expression for the split of a record. Records with the same split and key keep their order."""
    generated = pl.col("id") >= GENERATED_FROM
    return (
        pl.when(generated)
        .then(-1 - (pl.col("id") - GENERATED_FROM) % GENERATOR_SPLITS)
        .otherwise(pl.col("id") // (1 << ROW_BITS))
    )


def _generated(plan: ChaosPlan) -> pl.DataFrame:
    rows = pl.int_range(plan.generated, dtype=pl.Int64, eager=True)
    return pl.DataFrame({"id": rows + GENERATED_FROM, "key": rows * 7919 % plan.keys})
