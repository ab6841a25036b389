"""The interface of a keyed state backend, and the specification of a keyed aggregation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import pyarrow as pa

from weir.operators.base import PendingSnapshot, SnapshotReader
from weir.protocol.ids import CheckpointId
from weir.protocol.snapshots import OperatorSnapshot


class AggregateFunction(StrEnum):
    COUNT = "count"
    SUM = "sum"
    MIN = "min"
    MAX = "max"
    MEAN = "mean"


class Emit(StrEnum):
    EACH = "each"
    """Emits one running result per input record, in the order of the input."""
    BATCH = "batch"
    """Emits one update per key and batch, in the order of the keys' first appearance in the batch."""


@dataclass(frozen=True, slots=True)
class AggregateSpec:
    """If ``column`` is None, the aggregate counts rows. All aggregates of a column, including its count, ignore nulls."""

    output: str
    accumulator: AggregateFunction
    column: str | None = None


class KeyedAggregates(Protocol):
    """The state of one keyed aggregation in one subtask: one row per key."""

    def update(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Fold the batch into the state. Returns the key columns and the results. The emit mode determines which rows are
        returned."""
        ...

    def freeze(self, checkpoint: CheckpointId) -> PendingSnapshot:
        """Run the sync phase of a snapshot. The sync phase takes microseconds, regardless of the size of the state."""
        ...

    def restore(self, snapshots: Sequence[OperatorSnapshot], reader: SnapshotReader) -> None: ...

    @property
    def num_keys(self) -> int: ...

    @property
    def nbytes(self) -> int: ...


@dataclass(frozen=True, slots=True)
class AggregateConfig:
    """The configuration of an aggregate operator. ``LogicalOperator.config`` contains the configuration as JSON
    (``protocol.codec``)."""

    key: tuple[str, ...]
    aggregates: tuple[AggregateSpec, ...]
    emit: Emit = Emit.BATCH
