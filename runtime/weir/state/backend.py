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


class Accumulator(StrEnum):
    COUNT = "count"
    SUM = "sum"
    MIN = "min"
    MAX = "max"
    MEAN = "mean"


class Emit(StrEnum):
    EACH = "each"
    """One running result per input record, in order."""
    BATCH = "batch"
    """One update per key and batch, in the order of the keys' first appearance in the batch."""


@dataclass(frozen=True, slots=True)
class AggregateSpec:
    """``column`` None: count rows. All aggregates of a column ignore nulls, also its count."""

    output: str
    accumulator: Accumulator
    column: str | None = None


class KeyedAggregates(Protocol):
    """The state of one keyed aggregation in one subtask: one row per key."""

    def update(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Apply the batch. Returns key columns and results according to the emit mode."""
        ...

    def freeze(self, checkpoint: CheckpointId) -> PendingSnapshot:
        """Run the sync phase of a snapshot. It takes microseconds, regardless of the size of the state."""
        ...

    def restore(self, snapshots: Sequence[OperatorSnapshot], reader: SnapshotReader) -> None: ...

    @property
    def num_keys(self) -> int: ...

    @property
    def nbytes(self) -> int: ...


@dataclass(frozen=True, slots=True)
class AggregateConfig:
    """The configuration of an aggregate operator. As JSON (``protocol.codec``) it is ``LogicalOperator.config``."""

    key: tuple[str, ...]
    aggregates: tuple[AggregateSpec, ...]
    emit: Emit = Emit.BATCH
