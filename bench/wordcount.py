"""The wordcount workload: lines of text -> words -> running count of each word.

The workload is modelled on the evaluation of Flink+ (Liu Yang, Zhang Yangyang and Zhou Haoyi: "Efficient Failure Recovery Method
for Stream Data Processing Systems", title translated from Chinese).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from bench.checkpoint_reader import CheckpointContents, SplitRead
from bench.int64 import wrap_int64
from weir import Job, agg, sinks, sources
from weir.connectors.stats_sink import Totals

SOURCE, COUNT, SINK = "lines", "count", "stats"
WORDS = pa.schema([pa.field("word", pa.string())])


def words(lines: pa.RecordBatch) -> pa.RecordBatch:
    split = pc.split_pattern(lines.column("line"), " ")
    return pa.RecordBatch.from_arrays([pc.list_flatten(split)], schema=WORDS)


@dataclass(frozen=True, slots=True)
class WordCount:
    """The job and the check of its result. ``text``: a directory of files, each small enough to be one split."""

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

    def find_error(self, contents: CheckpointContents, totals: Totals) -> str | None:
        expected = count_words(contents.splits[SOURCE])
        state = contents.states[COUNT]
        result = dict(zip(state["word"].to_pylist(), state["count"].to_pylist(), strict=True))
        if result != expected:
            differing = sorted(word for word in expected.keys() | result.keys() if expected.get(word) != result.get(word))
            word = differing[0]
            return f"{len(differing)} words have a wrong count: {word!r} {result.get(word)} times, expected {expected.get(word)}"
        expected_totals = (sum(expected.values()), wrap_int64(sum(n * (n + 1) // 2 for n in expected.values())))
        result_totals = (totals.rows, totals.sums.get("count"))
        return (
            None if result_totals == expected_totals else f"the sink has (rows, sum) {result_totals}, expected {expected_totals}"
        )


def count_words(splits: Sequence[SplitRead]) -> dict[str, int]:
    """Count words in plain Python. If several ranges have the same text, the function counts the words of this text
    once, and multiplies the counts by the number of these ranges."""
    ranges: Counter[tuple[int, int]] = Counter()
    path_of: dict[int, Path] = {}
    for split in splits:
        payload = split.split.payload
        assert isinstance(payload, dict)
        path = Path(str(payload["file"]))
        if payload["start"] != 0 or payload["end"] != payload["size"]:
            raise SystemExit(f"{path} was divided into several splits, but the check reads whole files. Make smaller files.")
        status = path.stat()
        path_of[status.st_ino] = path
        assert split.position is None or isinstance(split.position, int)
        ranges[status.st_ino, status.st_size if split.position is None else split.position] += 1
    total: Counter[str] = Counter()
    for (inode, end), times in ranges.items():
        for word, count in _count(path_of[inode], end).items():
            total[word] += count * times
    return dict(total)


@lru_cache(maxsize=8)
def _count(path: Path, end: int) -> Counter[str]:
    return Counter(path.read_bytes()[:end].decode().replace("\n", " ").split(" ")[:-1])
