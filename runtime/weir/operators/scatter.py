"""Kernels of the row partitioner. ``scatter`` writes the rows of fixed-width columns into one buffer per column and target. For
batches with other columns, ``sort_by_target`` sorts the row numbers by target."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from weir.operators.batch_slicing import BATCH_BYTES
from weir.state.hashing import Hashes
from weir.state.numba_support import (
    Words,
    kernel,
    load8,
    load16,
    load32,
    load64,
    signed,
    store8,
    store16,
    store32,
    store64,
)

BLOCK = 512
COPIED_PART = 4
"""If less than 1 / COPIED_PART of a buffer is filled, a flush copies the rows and reuses the buffer."""
_HALF = np.uint64(32)
Targets = npt.NDArray[np.int32]


def is_fixed_width(type_: pa.DataType) -> bool:
    """Return whether every value of the type takes 1, 2, 4, 8 or 16 bytes."""
    try:
        return not pa.types.is_dictionary(type_) and type_.num_buffers == 2 and type_.bit_width in (8, 16, 32, 64, 128)
    except ValueError:
        return False


def row_width_bits(schema: pa.Schema) -> int:
    """Return the number of bits of one row of fixed-width columns."""
    return sum(field.type.bit_width for field in schema)


@kernel
def choose_targets(hashes: Hashes, target_of_group: Words, targets: Targets) -> None:
    groups = np.uint64(len(target_of_group))
    if groups & (groups - np.uint64(1)) == 0:
        for row in range(len(hashes)):
            targets[row] = target_of_group[signed((hashes[row] >> _HALF) & (groups - np.uint64(1)))]
    else:
        for row in range(len(hashes)):
            targets[row] = target_of_group[signed((hashes[row] >> _HALF) % groups)]


def targets_of(hashes: Hashes, target_of_group: Words) -> Targets:
    targets = np.empty(len(hashes), dtype=np.int32)
    choose_targets(hashes, target_of_group, targets)
    return targets


@kernel
def sort_by_target(targets: Targets, ends: Words, order: Words) -> None:
    """Write the row numbers to ``order``, sorted by target with a stable counting sort. In ``order``, the row numbers of a
    target t form one contiguous range. ``ends[t]`` receives the exclusive end of the range of target t."""
    count = len(ends)
    begins = np.zeros(count + 1, dtype=np.int64)
    for row in range(len(targets)):
        begins[signed(targets[row]) + 1] += 1
    for target in range(count):
        begins[target + 1] += begins[target]
        ends[target] = begins[target + 1]
    for row in range(len(targets)):
        target = signed(targets[row])
        order[begins[target]] = row
        begins[target] += 1


def take_order(targets: Targets, count: int) -> tuple[Words, Words]:
    """Return ``order`` and ``ends``, which ``sort_by_target`` fills."""
    ends: Words = np.zeros(count, dtype=np.int64)
    order: Words = np.empty(len(targets), dtype=np.int64)
    sort_by_target(targets, ends, order)
    return order, ends


@kernel
def scatter(begin: int, end: int, targets: Targets, used: Words, capacity: int, sources: Words, widths: Words,
            buffers: Words, offsets: Words) -> int:  # fmt: skip
    """Append rows ``begin`` to ``end`` to the buffers of their targets. ``buffers[column, target]`` is the address of the buffer
    of a column and a target.

    For each block of rows, the kernel first computes the position of each row in the buffer of its target, and then runs one loop
    per column. Returns the number of the first row whose target has a full buffer, or ``end`` if all rows are appended.
    """
    position = begin
    while position < end:
        count = 0
        limit = min(BLOCK, end - position)
        while count < limit:
            target = signed(targets[position + count])
            offset = used[target]
            if offset == capacity:
                break
            offsets[count] = offset
            used[target] = offset + 1
            count += 1
        for column in range(len(sources)):
            width = widths[column]
            source = sources[column] + width * position
            if width == 8:
                for i in range(count):
                    store64(buffers[column, targets[position + i]] + 8 * offsets[i], load64(source + 8 * i))
            elif width == 4:
                for i in range(count):
                    store32(buffers[column, targets[position + i]] + 4 * offsets[i], load32(source + 4 * i))
            elif width == 2:
                for i in range(count):
                    store16(buffers[column, targets[position + i]] + 2 * offsets[i], np.int16(load16(source + 2 * i)))
            elif width == 1:
                for i in range(count):
                    store8(buffers[column, targets[position + i]] + offsets[i], np.int8(load8(source + i)))
            else:
                for i in range(count):
                    to = buffers[column, targets[position + i]] + 16 * offsets[i]
                    store64(to, load64(source + 16 * i))
                    store64(to + 8, load64(source + 16 * i + 8))
        position += count
        if count < limit:
            break
    return position


class ScatterBuffers:
    """Owns one buffer per column and target. The buffers of a target have room for at most ``rows_max`` rows and BATCH_BYTES
    bytes. Full buffers become a record batch without a copy."""

    def __init__(self, schema: pa.Schema, targets: int, rows_max: int) -> None:
        self._schema = schema
        self._capacity = max(1, min(rows_max, BATCH_BYTES * 8 // max(1, row_width_bits(schema))))
        self._widths: Words = np.array([field.type.bit_width // 8 for field in schema], dtype=np.int64)
        self._used: Words = np.zeros(targets, dtype=np.int64)
        self._addresses: Words = np.zeros((len(schema), targets), dtype=np.int64)
        self._offsets: Words = np.empty(BLOCK, dtype=np.int64)
        self._owners: list[list[pa.Buffer]] = [[] for _ in range(targets)]
        self.rows = 0
        """Number of rows in the buffers."""

    def add(self, batch: pa.RecordBatch, targets: Targets) -> list[tuple[int, pa.RecordBatch]]:
        """Add a batch without nulls. Returns a pair (target, batch) each time that the buffers of a target become full."""
        for target, owners in enumerate(self._owners):
            if not owners:
                self._allocate(target)
        sources = np.zeros(len(self._widths), dtype=np.int64)
        for number, column in enumerate(batch.columns):
            sources[number] = column.buffers()[1].address + column.offset * self._widths[number]
        ready: list[tuple[int, pa.RecordBatch]] = []
        position = 0
        self.rows += batch.num_rows
        while True:
            position = scatter(
                position, batch.num_rows, targets, self._used, self._capacity, sources, self._widths, self._addresses,
                self._offsets,
            )  # fmt: skip
            for full in np.flatnonzero(self._used == self._capacity):
                ready.append((int(full), self._take(int(full))))
                self._allocate(int(full))
            if position == batch.num_rows:
                return ready

    def flush(self) -> list[tuple[int, pa.RecordBatch]]:
        return [(target, self._take(target)) for target, count in enumerate(self._used.tolist()) if count]

    def _allocate(self, target: int) -> None:
        self._owners[target] = [pa.allocate_buffer(self._capacity * int(width)) for width in self._widths]
        self._addresses[:, target] = [buffer.address for buffer in self._owners[target]]

    def _take(self, target: int) -> pa.RecordBatch:
        rows = int(self._used[target])
        buffers: list[Any] = self._owners[target]
        if rows * COPIED_PART < self._capacity:
            # Copy the rows, so that a queued batch of a few rows does not keep a large buffer in memory.
            buffers = [_copied(buffer, rows * int(width)) for buffer, width in zip(buffers, self._widths, strict=True)]
        else:
            self._owners[target] = []
        self._used[target] = 0
        self.rows -= rows
        arrays = [
            pa.Array.from_buffers(field.type, rows, [None, buffer], 0)
            for field, buffer in zip(self._schema, buffers, strict=True)
        ]  # fmt: skip
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)


def _copied(buffer: pa.Buffer, size: int) -> pa.Buffer:
    copy = pa.allocate_buffer(size)
    np.frombuffer(copy, np.uint8)[:] = np.frombuffer(buffer, np.uint8, size)
    return copy
