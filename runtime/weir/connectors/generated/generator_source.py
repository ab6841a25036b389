"""The source for generated rows. Rows are numbered 0, 1, 2 ... The values of a row depend only on the number of the row, the seed
and the columns. As an exception, an ``emitted_ns`` column contains the time at which the source emits the row."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil

import pyarrow as pa

from weir.connectors.base import Source
from weir.connectors.generated.columns import Fill, GeneratedColumn, column_filler, column_type
from weir.connectors.token_bucket import TokenBucket
from weir.operators.base import OperatorContext, SourceOperator, SplitBatch
from weir.protocol.codec import from_json
from weir.protocol.snapshots import Split

BURST_S = 0.1
BATCH_INTERVAL_S = 0.005
"""If buffers do not wait (``OperatorContext.buffer_ns`` is 0), a source with a rate collects the rows of BATCH_INTERVAL_S seconds
in one batch. With one batch per row, the slot would be too busy to flush partially filled output batches."""
BATCH_ROWS_ENOUGH = 2_560
"""With this number of rows, the fixed cost of a batch is about as large as the cost of its rows."""
WAIT_NS_MIN, WAIT_NS_MAX = 1_000_000, 1_000_000_000


def batch_interval_ns(rate: float, buffer_ns: int) -> int:
    """Return the nanoseconds between two batches of a split. ``rate`` is in rows per second.

    A split emits a batch every ``buffer_ns``. If it has BATCH_ROWS_ENOUGH rows earlier, it emits them then, but not before half of
    ``buffer_ns`` has passed.
    """
    return min(buffer_ns, max(buffer_ns // 2, int(1e9 * BATCH_ROWS_ENOUGH / rate)))


@dataclass(frozen=True, slots=True)
class Stride:
    """The payload of a split. The split contains the rows ``first, first + of, first + 2 * of, ...``. The split is endless if
    ``rows`` is None."""

    first: int
    of: int
    rows: int | None

    def row(self, position: int) -> int:
        """Return the number of the row at ``position``, from 0."""
        return self.first + position * self.of


@dataclass(frozen=True, slots=True)
class GeneratorSource(Source):
    """Generates ``rows`` rows at ``rate`` rows per second. If ``rows`` is None, the source is endless. If ``rate`` is None, the
    rate has no limit.

    The source generates the same rows for any number of splits. The position in a split is the number of emitted rows. After a
    stall, the generator can emit a burst of rows. The maximum burst is the number of rows that ``rate`` allows in ``BURST_S``
    seconds and the time between two batches."""

    columns: dict[str, GeneratedColumn]
    rows: int | None = None
    rate: float | None = None
    num_splits: int | None = None
    """The number of splits, or None for one split per subtask."""
    seed: int = 0

    kind = "generator"

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
class _ActiveSplit:
    split: Split
    stride: Stride
    position: int
    bucket: TokenBucket | None
    paced_rows: int
    """If the source has a rate limit, the reader waits until it can emit a batch of at least this number of rows. If the split
    has fewer than ``paced_rows`` remaining rows, the reader waits until it can emit all remaining rows."""
    interval_ns: int
    """The time between two batches in nanoseconds. 0: the reader emits a batch whenever the rate allows it."""
    emit_at_ns: int = 0
    """The reader emits no batch before this time."""

    @property
    def is_unfinished(self) -> bool:
        return self.stride.rows is None or self.position < self.stride.rows


class GeneratorReader(SourceOperator):
    """Emits rows of its splits in turn. A reader can have several splits at a time, because it never reaches the end of an
    endless split."""

    def __init__(self, source: GeneratorSource, clock_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._source = source
        self._clock_ns = clock_ns
        self._schema = source.schema()
        self._active: list[_ActiveSplit] = []
        self._splits_wanted = 1
        self._turn = 0
        self._fills: list[Fill] = []
        self._wait_ns = WAIT_NS_MIN

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._fills = [column_filler(name, column, self._source.seed) for name, column in self._source.columns.items()]
        for fill in self._fills:  # the first call of ``fill`` is slow, so call it before the first record
            fill(0, 1, 16, 0)

    def add_split(self, split: Split) -> None:
        assert split.position is None or isinstance(split.position, int)
        stride = from_json(Stride, split.payload)
        rate = self._source.rate
        paced_rows = 1 if rate is None or self.context.buffer_ns else ceil(rate / stride.of * BATCH_INTERVAL_S)
        interval_ns = 0 if rate is None else batch_interval_ns(rate / stride.of, self.context.buffer_ns)
        burst_s = BURST_S + interval_ns / 1e9
        bucket = None if rate is None else TokenBucket(rate=rate / stride.of, burst_s=burst_s, now_ns=self._clock_ns())
        active = _ActiveSplit(split, stride, split.position or 0, bucket, paced_rows, interval_ns)
        if active.is_unfinished:
            self._active.append(active)
        self._splits_wanted = ceil(stride.of / self.context.parallelism)

    def wants_split(self) -> bool:
        """Return whether the subtask has less than its fair share of the splits. The subtasks read all splits at the same time,
        because they never reach the end of an endless split."""
        return len(self._active) < (self._splits_wanted if self._active else 1)

    def poll(self) -> SplitBatch | None:
        now_ns = self._clock_ns()
        wait_ns = WAIT_NS_MAX
        for _ in range(len(self._active)):
            self._turn = (self._turn + 1) % len(self._active)
            active = self._active[self._turn]
            rows = self.context.batch_rows
            if active.stride.rows is not None:
                rows = min(rows, active.stride.rows - active.position)
            if active.bucket is not None:
                paced_rows = min(rows, active.paced_rows)
                rows = min(rows, active.bucket.available(now_ns))
                if rows < paced_rows or now_ns < active.emit_at_ns:
                    wait_ns = min(wait_ns, max(active.bucket.wait_ns(paced_rows), active.emit_at_ns - now_ns))
                    continue
                active.bucket.take(rows)
                if active.interval_ns and rows < self.context.batch_rows:
                    # The sources of all slots of a host emit at the same times, so that their batches can be joined.
                    active.emit_at_ns = (now_ns // active.interval_ns + 1) * active.interval_ns
            return self._emit(active, rows, now_ns)
        self._wait_ns = max(wait_ns, WAIT_NS_MIN)
        return None

    def _emit(self, active: _ActiveSplit, rows: int, now_ns: int) -> SplitBatch:
        split = replace(active.split, position=active.position)
        first = active.stride.row(active.position)
        active.position += rows
        if not active.is_unfinished:
            self._active.remove(active)
        columns = [fill(first, active.stride.of, rows, now_ns) for fill in self._fills]
        return SplitBatch(pa.RecordBatch.from_arrays(columns, schema=self._schema), split)

    def locate(self, split: Split) -> str:
        assert split.position is None or isinstance(split.position, int)
        return f"row {from_json(Stride, split.payload).row(split.position or 0) + 1:,} of the generator"

    def unfinished(self) -> tuple[Split, ...]:
        return tuple(replace(active.split, position=active.position) for active in self._active)

    def is_reading(self) -> bool:
        return bool(self._active)

    def next_poll_after_ns(self) -> int:
        return self._wait_ns
