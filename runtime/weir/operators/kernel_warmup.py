"""Compiles all numba kernels of operators and keyed state before a slot registers.

The kernels are the same for all schemas, so the warm-up does not depend on the job. Numba compiles a kernel at its first call, so
the warm-up calls every kernel at least once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import IO

import pyarrow as pa

from weir.graph.logical import Partitioning
from weir.operators.packed_batch import PackedBatch, unpack
from weir.operators.partitioners import make_partitioner
from weir.protocol.ids import CheckpointId, OperatorUid
from weir.protocol.snapshots import StateFile
from weir.state.backend import AggregateFunction, AggregateSpec, Emit
from weir.state.columnar_backend import ColumnarAggregates
from weir.state.hash_index import HashIndex
from weir.state.hashing import hash_columns
from weir.state.row_chunks import RowChunks, clear_epochs

_KEY_GROUPS = 128


class _MemoryFile:
    """Implements SnapshotWriter and SnapshotReader, and keeps the last file in memory."""

    def put(self, operator: OperatorUid, data: Sequence[memoryview | bytes | pa.Buffer], *, rows: int,
            key_groups: tuple[int, int] | None) -> StateFile:  # fmt: skip
        self._data = b"".join(bytes(memoryview(part)) for part in data)
        return StateFile("warmup", len(self._data), "", rows, key_groups)

    @contextmanager
    def open(self, file: StateFile) -> Iterator[IO[bytes]]:
        yield BytesIO(self._data)


def warm_up_kernels() -> None:
    """Compile all kernels. Each process calls this function once. The call takes about ten seconds with a cold numba cache, and
    half a second with a warm cache."""
    _warm_up_state()
    fixed_width = pa.record_batch({"key": [1, 2, 3]})
    strings = pa.record_batch({"key": ["a", "b", "c"]})
    for batch, batch_rows in ((fixed_width, 16), (fixed_width, 2), (strings, 16)):
        partitioner = make_partitioner(Partitioning.HASH, batch.schema, ("key",), 2, _KEY_GROUPS, 0, batch_rows)
        for _, part in (*partitioner.add(batch), *partitioner.flush()):
            if isinstance(part, PackedBatch):
                unpack((part,))


def _warm_up_state() -> None:
    batch = pa.record_batch(
        {"word": ["a", None, "a longer string"] * 2, "number": [1, 2, None] * 2, "value": [1.5, None, 2.5] * 2}
    )
    hash_columns(batch.columns[:2])
    specs = tuple(AggregateSpec(accumulator, accumulator, "value") for accumulator in AggregateFunction)
    index, chunks = HashIndex(), RowChunks(4)
    index.grow()
    index.advance(index.limit)
    chunks.add_chunk()
    clear_epochs(chunks.addresses, 0, chunks.row_words)
    for emit in Emit:
        for key in (("number",), ("word",), ("word", "number")):
            _exercise(batch, key, specs, emit)


def _exercise(batch: pa.RecordBatch, key: tuple[str, ...], specs: tuple[AggregateSpec, ...], emit: Emit) -> None:
    def make_table() -> ColumnarAggregates:
        return ColumnarAggregates(
            key, specs, batch.schema, emit, uid=OperatorUid("warmup"), subtask=0, key_groups=(0, _KEY_GROUPS - 1),
            max_parallelism=_KEY_GROUPS,
        )  # fmt: skip

    table, file = make_table(), _MemoryFile()
    table.update(batch)
    snapshot = table.freeze(CheckpointId(0))
    table.update(batch)
    while not snapshot.advance():
        table.update(batch)
    restored = make_table()
    restored.restore([snapshot.write(file)], file)
    restored.update(batch)
