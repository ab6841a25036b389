"""Compiling the kernels of keyed state before they are needed, or loading them from numba's on-disk cache.

The kernels are the same for all schemas, so there is nothing to say about the job. Every one is run
once, as numba compiles on first use.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from weir.protocol.ids import CheckpointId, OperatorUid
from weir.protocol.snapshots import StateFile
from weir.state.base import Accumulator, AggregateSpec, Emit
from weir.state.columnar import ColumnarAggregates
from weir.state.hashing import hash_columns
from weir.state.index import Index
from weir.state.rows import RowChunks, clear_epochs

_GROUPS = 128


class _OneFile:
    def put(self, operator: OperatorUid, data: Sequence[memoryview | bytes | pa.Buffer], *, rows: int,
            key_groups: tuple[int, int] | None) -> StateFile:  # fmt: skip
        self._data = pa.py_buffer(b"".join(bytes(memoryview(piece)) for piece in data))
        return StateFile("warm", self._data.size, "", rows, key_groups)

    def read(self, file: StateFile) -> pa.Buffer:
        return self._data


def warm() -> None:
    """Some ten seconds with a cold cache, half a second with a warm one. Call it before a slot registers."""
    batch = pa.record_batch(
        {"word": ["a", None, "a longer string"] * 2, "number": [1, 2, None] * 2, "value": [1.5, None, 2.5] * 2}
    )
    hash_columns(batch.columns[:2])
    specs = tuple(AggregateSpec(accumulator, accumulator, "value") for accumulator in Accumulator)
    index, chunks = Index(), RowChunks(4)
    index.grow()
    index.advance(index.limit)
    chunks.add_chunk()
    clear_epochs(chunks.addresses, 0, chunks.row_words)
    for emit in Emit:
        for key in (("number",), ("word",), ("word", "number")):
            _exercise(batch, key, specs, emit)


def _exercise(batch: pa.RecordBatch, key: tuple[str, ...], specs: tuple[AggregateSpec, ...], emit: Emit) -> None:
    def table() -> ColumnarAggregates:
        return ColumnarAggregates(
            key, specs, batch.schema, emit, uid=OperatorUid("warm"), subtask=0, key_groups=(0, _GROUPS - 1), max_parallelism=_GROUPS
        )  # fmt: skip

    state, file = table(), _OneFile()
    state.update(batch)
    snapshot = state.freeze(CheckpointId(0))
    state.update(batch)
    while not snapshot.advance():
        state.update(batch)
    restored = table()
    restored.restore([snapshot.write(file)], file)
    restored.update(batch)
