"""The job that wrote ``stored.tar.gz``: see README.md. All records of a key come from one split, so the output is the same in every run.

``python job.py ROOT`` writes the input of the job.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import polars as pl

from weir import Job, Params, agg, sinks, sources

ROWS = 600
"""Of each source."""


def job(params: Params) -> Job:
    root = params.path("root", help="the directory of the input and the output")
    rate = params.int("rate", 0, help="records per second of each source") or None
    job = Job("upgraded")
    generated = job.read(sources.generator({"number": sources.row_index()}, rows=ROWS, splits=2, rate=rate), uid="generated")
    lines = job.read(sources.json_lines(f"{root}/input/lines", rate=rate), uid="lines")
    tables = job.read(sources.parquet(f"{root}/input/tables", rate=rate), uid="tables")
    keyed = generated.with_columns(key=pl.concat_str(pl.lit("generated-"), (pl.col("number") % 4).cast(pl.String)))
    records = keyed.select("key", "number").union(lines, tables, uid="all")
    sums = records.key_by("key").aggregate(
        rows=agg.count(), numbers=agg.count("number"), total=agg.sum("number"), smallest=agg.min("number"),
        largest=agg.max("number"), average=agg.mean("number"), emit="each", uid="sums",
    )  # fmt: skip
    sums.write(sinks.json_lines(f"{root}/output/sums"), uid="sums-out")
    records.filter(pl.col("number") % 3 == 0).write(sinks.parquet(f"{root}/output/thirds"), uid="thirds-out", parallelism=1)
    records.write(sinks.stats(), uid="totals")
    return job


def records() -> dict[str, list[int | None]]:
    """Return the numbers of each key, in order. Some numbers are null. All numbers of the key ``tables-0-null`` are null."""
    found: dict[str, list[int | None]] = {f"generated-{rest}": list(range(rest, ROWS, 4)) for rest in range(4)}
    for source in ("lines", "tables"):
        for file in range(2):
            numbers = range(file, ROWS, 2)
            found[f"{source}-{file}"] = [None if number % 50 == 0 else number * number for number in numbers]
    found["tables-0-null"] = [None] * 5
    return found


def write_input(root: Path) -> None:
    numbers = records()
    for file in range(2):
        lines = root / "input" / "lines" / f"{file}.jsonl"
        lines.parent.mkdir(parents=True, exist_ok=True)
        lines.write_text("".join(json.dumps({"key": f"lines-{file}", "number": one}) + "\n" for one in numbers[f"lines-{file}"]))
        keys = [f"tables-{file}"] if file else ["tables-0-null", "tables-0"]
        table = pl.DataFrame(
            [(key, number) for key in keys for number in numbers[key]],
            schema={"key": pl.String, "number": pl.Int64},
            orient="row",
        )
        path = root / "input" / "tables" / f"{file}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        table.write_parquet(path, row_group_size=100)


if __name__ == "__main__":
    write_input(Path(sys.argv[1]))
