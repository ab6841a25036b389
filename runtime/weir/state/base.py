"""The interface of a keyed state backend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import pyarrow as pa

from weir.operators.base import PendingSnapshot, SnapshotReader
from weir.protocol.ids import CheckpointId
from weir.protocol.snapshots import OperatorSnapshot


class Accumulator(StrEnum):
    COUNT = "count"
    SUM = "sum"
    MIN = "min"
    MAX = "max"
    MEAN = "mean"


class Emit(StrEnum):
    EACH = "each"
    """A running result for every input record, in order."""
    BATCH = "batch"
    """One update per key and batch, in order of the key's first appearance in it."""


@dataclass(frozen=True, slots=True)
class AggregateSpec:
    """``column`` None: count of rows; a count of a column leaves nulls out, as do all others."""

    output: str
    accumulator: Accumulator
    column: str | None = None


class KeyedAggregates(Protocol):
    """State of one keyed aggregation in one subtask: a row per key."""

    def update(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Fold the batch in; returns key columns and results as the emit mode says."""
        ...

    def freeze(self, checkpoint: CheckpointId) -> PendingSnapshot:
        """Sync phase of a snapshot, microseconds at any size."""
        ...

    def restore(self, snapshots: Sequence[OperatorSnapshot], reader: SnapshotReader) -> None: ...

    @property
    def num_keys(self) -> int: ...

    @property
    def nbytes(self) -> int: ...
