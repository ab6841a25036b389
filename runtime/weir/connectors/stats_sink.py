"""A sink that counts records and sums their integer columns, but keeps no records. Tests and benchmarks use this sink to check
results."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weir.connectors.base import Committer, PendingCommit, Sink, SinkWriter
from weir.errors import SchemaError
from weir.kernel.checkpoints import CommitPermit
from weir.operators.base import OperatorContext
from weir.protocol.codec import from_json, to_json
from weir.protocol.ids import Attempt, CheckpointId
from weir.protocol.snapshots import Committable, JsonValue

_BUCKETS_PER_OCTAVE = 16
_WORD = 1 << 64


@dataclass(frozen=True, slots=True)
class Totals:
    """The totals of a sink. ``sums`` contains the sum of each integer column as a signed 64-bit integer. Sums wrap around, so
    they do not depend on the order of the records."""

    rows: int = 0
    sums: dict[str, int] = field(default_factory=dict)
    latency: dict[str, int] = field(default_factory=dict)
    """The number of rows per latency bucket. The upper bound of bucket b is 2 ** (b / 16) microseconds."""

    def plus(self, other: Totals) -> Totals:
        names = self.sums.keys() | other.sums.keys()
        buckets = self.latency.keys() | other.latency.keys()
        return Totals(
            self.rows + other.rows,
            {name: _wrap(self.sums.get(name, 0) + other.sums.get(name, 0)) for name in sorted(names)},
            {bucket: self.latency.get(bucket, 0) + other.latency.get(bucket, 0) for bucket in sorted(buckets, key=int)},
        )

    def latency_ms(self, quantile: float) -> float | None:
        """Return the latency at ``quantile`` in milliseconds, or None if there are no measurements. The result is the upper bound
        of a bucket, so it can be up to 4.4 % too high."""
        remaining = quantile * sum(self.latency.values())
        for bucket, rows in sorted(self.latency.items(), key=lambda item: int(item[0])):
            remaining -= rows
            if remaining <= 0:
                return float(2 ** (int(bucket) / _BUCKETS_PER_OCTAVE) / 1000)
        return None


@dataclass(frozen=True, slots=True)
class StatsSink(Sink):
    """``latency_column`` is an int64 column of monotonic nanoseconds (``sources.emitted_ns``). When a record arrives, the sink
    measures the time since the value in ``latency_column``."""

    latency_column: str | None = None

    kind = "stats"

    def check(self, schema: pa.Schema) -> None:
        name = self.latency_column
        if name is not None and (name not in schema.names or schema.field(name).type != pa.int64()):
            raise SchemaError(
                f"stats sink: the latency column {name!r} must be an int64 column. The columns are {', '.join(schema.names)}."
            )

    def writer(self) -> StatsWriter:
        return StatsWriter(self.latency_column)

    def committer(self) -> StatsCommitter:
        return StatsCommitter()


@dataclass(frozen=True, slots=True)
class _Published:
    totals: Totals

    def finish(self) -> Sequence[JsonValue]:
        return [to_json(self.totals)]


class StatsWriter(SinkWriter):
    """Keeps running totals as operator state. Each checkpoint publishes the totals of all records so far, even if the epoch has
    no records."""

    def __init__(self, latency_column: str | None = None, clock_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._latency_column = latency_column
        self._clock_ns = clock_ns
        self._rows = 0
        self._sums: dict[str, int] = {}
        self._latency = np.zeros(64 * _BUCKETS_PER_OCTAVE, np.int64)
        self._restored = Totals()

    def open(self, context: OperatorContext) -> None:
        """Do nothing, because the writer needs no resources."""

    def write(self, batch: pa.RecordBatch) -> None:
        self._rows += batch.num_rows
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if name == self._latency_column:
                age_us = (self._clock_ns() - column.to_numpy(zero_copy_only=False)) / 1000.0
                buckets = np.ceil(np.log2(np.maximum(age_us, 1.0)) * _BUCKETS_PER_OCTAVE).astype(np.int64)
                self._latency += np.bincount(buckets, minlength=len(self._latency))[: len(self._latency)]
            elif pa.types.is_integer(column.type):
                self._sums[name] = _wrap(self._sums.get(name, 0) + _sum(column))

    def totals(self) -> Totals:
        latency = {str(bucket): int(self._latency[bucket]) for bucket in np.flatnonzero(self._latency)}
        return self._restored.plus(Totals(self._rows, dict(self._sums), latency))

    def pre_commit(self, checkpoint: CheckpointId) -> PendingCommit | None:
        totals = self.totals()
        return _Published(totals) if totals.rows else None

    def state(self) -> JsonValue:
        return to_json(self.totals())

    def restore(self, states: Sequence[JsonValue]) -> None:
        for state in states:
            self._restored = self._restored.plus(from_json(Totals, state))


class StatsCommitter(Committer):
    """``result`` adds the totals of all writers of the newest generation. The writers restore their totals, so the totals of the
    newest generation include the totals of earlier generations."""

    def __init__(self) -> None:
        self._generation = -1
        self._latest: dict[int, tuple[CheckpointId, Totals]] = {}

    def commit(self, permit: CommitPermit, committables: Sequence[Committable]) -> None:
        for committable in committables:
            if committable.generation < self._generation:
                continue
            if committable.generation > self._generation:
                self._generation = committable.generation
                self._latest = {}
            latest = self._latest.get(committable.writer)
            if latest is None or latest[0] < committable.checkpoint:
                self._latest[committable.writer] = (committable.checkpoint, from_json(Totals, committable.payload))

    def abort_after(self, checkpoint: CheckpointId, *, before: Attempt) -> None:
        """Delete nothing, because staged totals exist only in the checkpoint."""

    def result(self) -> Totals:
        total = Totals()
        for _, totals in self._latest.values():
            total = total.plus(totals)
        return total


def _sum(column: pa.Array) -> int:
    values = (pc.fill_null(column, 0) if column.null_count else column).to_numpy(zero_copy_only=False)
    return int(values.sum(dtype=np.uint64 if values.dtype == np.uint64 else np.int64))


def _wrap(value: int) -> int:
    """Return the value as a signed 64-bit integer. A value outside the range of int64 wraps around."""
    return (value + (_WORD >> 1)) % _WORD - (_WORD >> 1)
