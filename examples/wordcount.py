"""How often each word occurs in a directory of text.

Input: UTF-8 text files. Output: Parquet, an update for each word that occurs in a batch; its largest count is the last.
"""

from __future__ import annotations

import polars as pl

from weir import Job, Params, agg, sinks, sources


def words(lines: pl.DataFrame) -> pl.DataFrame:
    """Runs of ASCII letters, in small letters."""
    return lines.select(word=pl.col("line").str.extract_all("[A-Za-z]+").explode().str.to_lowercase()).drop_nulls()


def job(params: Params) -> Job:
    rate = params.int("rate", 0, help="lines a second; 0: as fast as they can be read")
    job = Job("wordcount")
    lines = job.read(sources.text(params.path("input", help="a directory of text files"), rate=rate or None), uid="lines")
    counts = lines.map_batches(words, schema={"word": str}).key_by("word").aggregate(occurrences=agg.count(), uid="per-word")
    counts.write(sinks.parquet(params.path("output", help="a directory for the results")), uid="counts")
    return job
