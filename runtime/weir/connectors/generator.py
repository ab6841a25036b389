"""A deterministic generator: rows numbered 0, 1, 2 ..., each a function of its number."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil

import pyarrow as pa

from weir.connectors.base import Source
from weir.connectors.descriptions import describe
from weir.connectors.generated_columns import Fill, GeneratedColumn, column_filler, column_type
from weir.connectors.token_bucket import TokenBucket
from weir.operators.base import OperatorContext, SourceOperator
from weir.protocol.codec import from_json
from weir.protocol.snapshots import JsonValue, Split

BURST_S = 0.1
PACE_S = 0.005
"""Rows of a rate come in bunches of so long: one after the other, each would cost the whole pipeline a batch, and keep the
slot so busy that it never finds the time to send on what is held back."""
WAIT_NS_MIN, WAIT_NS_MAX = 1_000_000, 50_000_000


@dataclass(frozen=True, slots=True)
class Stride:
    """Payload of a split: rows ``first, first + of, first + 2 * of, ...``, ``rows`` of them (None: endless)."""

    first: int
    of: int
    rows: int | None


@dataclass(frozen=True, slots=True)
class GeneratorSource(Source):
    """``rows`` in all (None: endless), ``rate`` rows a second in all (None: as fast as they are taken).

    The rows are the same for any number of splits; a split's position is the number of rows emitted of it. After a stall
    the generator catches up on ``BURST_S`` seconds of its rate, not more."""

    columns: dict[str, GeneratedColumn]
    rows: int | None = None
    rate: float | None = None
    num_splits: int | None = None
    """None: as many as the source has subtasks."""
    seed: int = 0

    kind = "generator"

    def describe(self) -> JsonValue:
        return describe(self)

    def schema(self) -> pa.Schema:
        return pa.schema([pa.field(name, column_type(column)) for name, column in self.columns.items()])

    def splits(self, parallelism: int) -> tuple[Split, ...]:
        of = self.num_splits or parallelism
        splits = []
        for first in range(of):
            rows = None if self.rows is None else len(range(first, self.rows, of))
            splits.append(Split(id=f"rows-{first}-of-{of}", payload={"first": first, "of": of, "rows": rows}))
        return tuple(splits)

    def reader(self) -> GeneratorReader:
        return GeneratorReader(self)


@dataclass(slots=True)
class _Work:
    split: Split
    stride: Stride
    position: int
    bucket: TokenBucket | None
    bunch: int
    """Rows that are emitted together, where there is a rate."""


class GeneratorReader(SourceOperator):
    """Serves its splits in turn. Holds several at once, because an endless split never makes room for the next."""

    def __init__(self, source: GeneratorSource, clock_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._source = source
        self._clock_ns = clock_ns
        self._schema = source.schema()
        self._work: list[_Work] = []
        self._turn = 0
        self._fills: list[Fill] = []
        self._wait_ns = WAIT_NS_MIN

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._fills = [column_filler(name, column, self._source.seed) for name, column in self._source.columns.items()]
        for fill in self._fills:  # compiled and warm before the first record
            fill(0, 1, 16, 0)

    def add_split(self, split: Split) -> None:
        assert split.position is None or isinstance(split.position, int)
        stride = from_json(Stride, split.payload)
        rate = self._source.rate
        bucket = None if rate is None else TokenBucket(rate=rate / stride.of, burst_s=BURST_S, now_ns=self._clock_ns())
        bunch = 1 if rate is None else ceil(rate / stride.of * PACE_S)
        self._work.append(_Work(split, stride, split.position or 0, bucket, bunch))

    def wants_split(self) -> bool:
        """Each subtask takes its fair share of the strides, and not more: all run at once."""
        unfinished = len(self.unfinished())
        return unfinished == 0 or unfinished < ceil(self._work[0].stride.of / self.context.parallelism)

    def poll(self) -> pa.RecordBatch | None:
        now_ns = self._clock_ns()
        self._work = [work for work in self._work if work.stride.rows is None or work.position < work.stride.rows]
        wait_ns = WAIT_NS_MAX
        for _ in range(len(self._work)):
            self._turn = (self._turn + 1) % len(self._work)
            work = self._work[self._turn]
            rows = self.context.batch_rows
            if work.stride.rows is not None:
                rows = min(rows, work.stride.rows - work.position)
            if work.bucket is not None:
                bunch = min(rows, work.bunch)
                rows = min(rows, work.bucket.available(now_ns))
                if rows < bunch:
                    wait_ns = min(wait_ns, work.bucket.wait_ns(bunch))
                    continue
                work.bucket.take(rows)
            return self._emit(work, rows, now_ns)
        self._wait_ns = max(wait_ns, WAIT_NS_MIN)
        return None

    def _emit(self, work: _Work, rows: int, now_ns: int) -> pa.RecordBatch:
        first = work.stride.first + work.position * work.stride.of
        work.position += rows
        return pa.RecordBatch.from_arrays(
            [fill(first, work.stride.of, rows, now_ns) for fill in self._fills], schema=self._schema
        )

    def unfinished(self) -> tuple[Split, ...]:
        return tuple(
            replace(work.split, position=work.position)
            for work in self._work
            if work.stride.rows is None or work.position < work.stride.rows
        )

    def next_poll_after_ns(self) -> int:
        return self._wait_ns
