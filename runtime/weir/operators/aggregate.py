"""The operator for keyed aggregations. The operator uses the columnar state backend, which computes the running results."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from weir.operators.base import Operator, OperatorContext, PendingSnapshot, SnapshotReader, Step
from weir.protocol.ids import CheckpointId
from weir.protocol.snapshots import OperatorSnapshot
from weir.state.backend import AggregateSpec, Emit, KeyedAggregates
from weir.state.columnar_backend import ColumnarAggregates


class AggregateOperator(Operator):
    """Computes keyed aggregations. The graph builder has already checked ``key`` and ``aggregates`` against ``input_schema``."""

    def __init__(self, key: Sequence[str], aggregates: Sequence[AggregateSpec], input_schema: pa.Schema, emit: Emit) -> None:
        self._key = tuple(key)
        self._aggregates = tuple(aggregates)
        self._input_schema = input_schema
        self._emit = emit
        self._state: KeyedAggregates | None = None

    @property
    def state(self) -> KeyedAggregates:
        assert self._state is not None, "call open() first"
        return self._state

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._state = ColumnarAggregates(
            self._key,
            self._aggregates,
            self._input_schema,
            self._emit,
            uid=context.uid,
            subtask=context.subtask,
            key_groups=context.key_groups,
            max_parallelism=context.max_parallelism,
        )

    def process(self, batch: pa.RecordBatch, input_index: int) -> Step:
        """Slice ``batch`` into parts of at most ``batch_rows`` records, and yield one result batch per part. For an empty batch,
        yield no result."""
        for begin in range(0, batch.num_rows, self.context.batch_rows):
            yield self.state.update(batch.slice(begin, self.context.batch_rows))

    def snapshot(self, checkpoint: CheckpointId) -> PendingSnapshot:
        return self.state.freeze(checkpoint)

    def restore(self, snapshots: Sequence[OperatorSnapshot], reader: SnapshotReader) -> None:
        self.state.restore(snapshots, reader)

    def gauges(self) -> dict[str, int | float]:
        return {"keys": self.state.num_keys, "state_bytes": self.state.nbytes}

    def close(self) -> None:
        self._state = None
