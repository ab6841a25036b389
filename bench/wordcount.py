"""The workload wordcount, after the Flink+ paper: lines of text -> words -> running count of each word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from bench.evidence import Evidence, SplitRead
from bench.wrapped import wrapped
from weir import Job, agg, sinks, sources
from weir.connectors.stats import Totals

SOURCE, COUNT, SINK = "lines", "count", "stats"
WORDS = pa.schema([pa.field("word", pa.string())])


def words(lines: pa.RecordBatch) -> pa.RecordBatch:
    split = pc.split_pattern(lines.column("line"), " ")
    return pa.RecordBatch.from_arrays([pc.list_flatten(split)], schema=WORDS)


@dataclass(frozen=True, slots=True)
class WordCount:
    """``text``: a folder of files, each small enough to be one split."""

    text: Path

    @property
    def name(self) -> str:
        return "wordcount"

    def job(self) -> Job:
        job = Job(self.name)
        lines = job.read(sources.text(self.text), uid=SOURCE)
        counts = lines.map_batches(words, schema=WORDS).key_by("word").aggregate(emit="each", uid=COUNT, count=agg.count())
        counts.write(sinks.stats(), uid=SINK)
        return job

    def wrong(self, evidence: Evidence, totals: Totals) -> str | None:
        known = count_words(evidence.splits[SOURCE])
        state = evidence.states[COUNT]
        found = dict(zip(state["word"].to_pylist(), state["count"].to_pylist(), strict=True))
        if found != known:
            differing = sorted(word for word in known.keys() | found.keys() if known.get(word) != found.get(word))
            word = differing[0]
            return f"{len(differing)} words are counted wrong: {word!r} {found.get(word)} times, should be {known.get(word)}"
        should = (sum(known.values()), wrapped(sum(n * (n + 1) // 2 for n in known.values())))
        has = (totals.rows, totals.sums.get("count"))
        return None if has == should else f"the sink has (rows, sum) {has}, should have {should}"


def count_words(splits: Sequence[SplitRead]) -> dict[str, int]:
    """By plain Python, of each different piece of text once."""
    pieces: Counter[tuple[int, int]] = Counter()
    path_of: dict[int, Path] = {}
    for split in splits:
        payload = split.split.payload
        assert isinstance(payload, dict)
        path = Path(str(payload["file"]))
        if payload["start"] != 0 or payload["end"] != payload["size"]:
            raise SystemExit(f"{path} was cut into several splits, but the check reads whole files: make smaller files")
        status = path.stat()
        path_of[status.st_ino] = path
        assert split.position is None or isinstance(split.position, int)
        pieces[status.st_ino, status.st_size if split.position is None else split.position] += 1
    total: Counter[str] = Counter()
    for (inode, end), times in pieces.items():
        for word, count in _count(path_of[inode], end).items():
            total[word] += count * times
    return dict(total)


@lru_cache(maxsize=8)
def _count(path: Path, end: int) -> Counter[str]:
    return Counter(path.read_bytes()[:end].decode().replace("\n", " ").split(" ")[:-1])
