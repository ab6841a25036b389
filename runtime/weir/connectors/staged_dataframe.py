"""A bounded Spark DataFrame or SQL query, after Spark has written its partitions to a staging directory."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from weir.connectors.base import Source
from weir.connectors.descriptions import decode_schema, describe
from weir.connectors.file_listing import list_files
from weir.connectors.parquet_source import SPLIT_BYTES, read_row_groups, row_group_splits
from weir.connectors.read_ahead import ReadAheadReader
from weir.errors import InputError
from weir.protocol.snapshots import JsonValue, Split


@dataclass(frozen=True, slots=True)
class StagedDataFrame(Source):
    """``directory``: Parquet files as Spark wrote them, complete before ``splits`` is called (``_SUCCESS`` is there).

    ``schema_ipc``: the DataFrame's schema in Arrow types; files are cast to it. A split is a range of row groups of one
    file; its position is the number of rows emitted of it."""

    directory: str
    schema_ipc: str
    split_bytes: int = SPLIT_BYTES
    rate: float | None = None

    kind = "dataframe"

    def describe(self) -> JsonValue:
        return describe(self)

    def schema(self) -> pa.Schema:
        return decode_schema(self.schema_ipc)

    def splits(self, parallelism: int) -> tuple[Split, ...]:
        if not os.path.exists(os.path.join(self.directory, "_SUCCESS")):
            raise InputError(f"{self.directory}: the DataFrame was not staged completely (no _SUCCESS file); stage it again")
        if not any(name.endswith(".parquet") for name in os.listdir(self.directory)):
            return ()
        return row_group_splits(list_files((self.directory,)), self.split_bytes, parallelism)

    def reader(self) -> ReadAheadReader:
        return ReadAheadReader(partial(read_row_groups, schema=self.schema()), rate=self.rate)
