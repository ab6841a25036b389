"""Counts the words in a directory of text files.

Input: UTF-8 text files. Output: Parquet with one update per batch and word. The largest count of a word is its newest count.
"""

from __future__ import annotations

import polars as pl

from weir import Job, Params, agg, sinks, sources


def words(lines: pl.DataFrame) -> pl.DataFrame:
    """Split lines into words of ASCII letters, in lower case."""
    return lines.select(word=pl.col("line").str.extract_all("[A-Za-z]+").explode().str.to_lowercase()).drop_nulls()


def job(params: Params) -> Job:
    rate = params.int("rate", 0, help="lines per second; 0 means no limit")
    job = Job("wordcount")
    lines = job.read(sources.text(params.path("input", help="a directory of text files"), rate=rate or None), uid="lines")
    counts = lines.map_batches(words, schema={"word": str}).key_by("word").aggregate(occurrences=agg.count(), uid="per-word")
    counts.write(sinks.parquet(params.path("output", help="a directory for the results")), uid="counts")
    return job
