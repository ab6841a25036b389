"""The source for rows that the job's program passes as Python objects or Arrow data. Use this source for tests and small
tables. The source's description contains the rows as Arrow data."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import pyarrow as pa

from weir.connectors.base import Source
from weir.errors import ConfigError, InputError, SchemaError
from weir.operators.base import OperatorContext, SourceOperator, SplitBatch
from weir.protocol.snapshots import Split

DATA_BYTES_MAX = 16 << 20


class FailureMode(StrEnum):
    RAISE = "raise"
    """The reader raises InputError."""
    EXIT = "exit"
    """The process ends immediately, as after kill -9."""


@dataclass(frozen=True, slots=True)
class FailAt:
    """Makes the source fail before it emits row ``row``. ``row`` is the index of the row in the whole source, not in its split.
    Generations after ``until_generation`` do not fail."""

    row: int
    how: FailureMode = FailureMode.RAISE
    until_generation: int = 1


@dataclass(frozen=True, slots=True)
class IterableSource(Source):
    """``data`` is an Arrow IPC stream in base64. Splits are contiguous. A position is the number of emitted rows of a split."""

    data: str
    num_splits: int = 1
    batch_rows: int | None = None
    """The maximum number of rows per batch, or None for ``context.batch_rows``."""
    fail_at: FailAt | None = None

    kind = "iterable"

    @staticmethod
    def of(
        rows: Iterable[Mapping[str, Any]] | Iterable[pa.RecordBatch] | pa.Table,
        schema: pa.Schema | None = None,
        *,
        splits: int = 1,
        batch_rows: int | None = None,
        fail_at: FailAt | None = None,
    ) -> IterableSource:
        """Make a source of ``rows``, which are read immediately. Raises SchemaError if the rows do not have one schema, and
        ConfigError for more than 16 MiB of data."""
        table = _table(rows, schema)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
            writer.write_table(table)
        data = sink.getvalue()
        if data.size > DATA_BYTES_MAX:
            raise ConfigError(
                f"The rows of an iterable source must take at most {DATA_BYTES_MAX >> 20} MiB, but take {data.size >> 20} MiB. "
                "Write the rows to a Parquet file and read that file."
            )
        if splits < 1 or (batch_rows is not None and batch_rows < 1):
            raise ConfigError(
                f"sources.iterable: splits and batch_rows must be at least 1, but splits is {splits} and batch_rows is {batch_rows}."
            )
        return IterableSource(base64.b64encode(data).decode("ascii"), splits, batch_rows, fail_at)

    def table(self) -> pa.Table:
        return pa.ipc.open_stream(pa.py_buffer(base64.b64decode(self.data))).read_all()

    def schema(self) -> pa.Schema:
        return pa.ipc.open_stream(pa.py_buffer(base64.b64decode(self.data))).schema

    def splits(self, parallelism: int) -> tuple[Split, ...]:
        rows = self.table().num_rows
        bounds = [rows * index // self.num_splits for index in range(self.num_splits + 1)]
        return tuple(
            Split(id=f"rows-{first}-{last}", payload=[first, last])
            for first, last in zip(bounds, bounds[1:], strict=False)
            if last > first
        )

    def reader(self) -> IterableReader:
        return IterableReader(self)


class IterableReader(SourceOperator):
    def __init__(self, source: IterableSource) -> None:
        self._source = source
        self._splits: list[Split] = []

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._table = self._source.table().combine_chunks()

    def add_split(self, split: Split) -> None:
        self._splits.append(split)

    def wants_split(self) -> bool:
        return not self._splits

    def poll(self) -> SplitBatch | None:
        if not self._splits:
            return None
        split = self._splits[0]
        first, last = _range(split)
        done = split.position or 0
        assert isinstance(done, int)
        begin = first + done
        end = min(last, begin + min(self.context.batch_rows, self._source.batch_rows or self.context.batch_rows))
        end = self._before_fault(begin, end)
        if end >= last:
            del self._splits[0]
        else:
            self._splits[0] = replace(split, position=end - first)
        batches = self._table.slice(begin, end - begin).to_batches()
        return SplitBatch(batches[0], split) if batches else None

    def locate(self, split: Split) -> str:
        assert split.position is None or isinstance(split.position, int)
        return f"row {_range(split)[0] + (split.position or 0) + 1:,} of the iterable"

    def _before_fault(self, begin: int, end: int) -> int:
        fault = self._source.fail_at
        if fault is None or self.context.generation > fault.until_generation or not begin <= fault.row < end:
            return end
        if begin < fault.row:
            return fault.row
        if fault.how is FailureMode.EXIT:
            os._exit(70)
        raise InputError(f"Iterable source {self.context.uid!r} fails at row {fault.row}, as requested by fail_at.")

    def unfinished(self) -> tuple[Split, ...]:
        return tuple(self._splits)


def _range(split: Split) -> tuple[int, int]:
    match split.payload:
        case [int(first), int(last)]:
            return first, last
    raise AssertionError(f"split {split.id} does not belong to an iterable source")


def _table(rows: Iterable[Mapping[str, Any]] | Iterable[pa.RecordBatch] | pa.Table, schema: pa.Schema | None) -> pa.Table:
    try:
        if isinstance(rows, pa.Table):
            return rows if schema is None else rows.cast(schema)
        items = list(rows)
        if items and all(isinstance(item, pa.RecordBatch) for item in items):
            return pa.Table.from_batches(items, schema=schema)
        if not items and schema is None:
            raise SchemaError("An iterable source without rows needs a schema.")
        return pa.Table.from_pylist(items, schema=schema)
    except (pa.ArrowException, AttributeError, TypeError) as error:
        raise SchemaError(
            f"The rows of an iterable source do not have one schema: {error}. Pass the rows as dicts, or pass a schema."
        ) from error
