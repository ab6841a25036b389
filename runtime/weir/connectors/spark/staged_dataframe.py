"""The source for a bounded Spark DataFrame or SQL query that Spark has written to a staging directory."""

from __future__ import annotations

import os
from dataclasses import dataclass

import pyarrow as pa

from weir.connectors.base import Source
from weir.connectors.files.file_listing import list_files, max_split_bytes
from weir.connectors.files.parquet_source import SPLIT_BYTES, row_group_reader, row_group_splits
from weir.connectors.files.read_ahead import ReadAheadReader
from weir.errors import InputError
from weir.graph.schema import decode_schema
from weir.protocol.snapshots import Split


@dataclass(frozen=True, slots=True)
class StagedDataFrame(Source):
    """``directory`` contains Spark's Parquet files. The files must be complete (``_SUCCESS`` exists) before ``splits`` is called.

    ``schema_ipc`` is the schema of the DataFrame in Arrow types. The reader casts the rows of the files to this schema. A split
    is a range of row groups of one file, or a group of small files."""

    directory: str
    schema_ipc: str
    split_bytes: int = SPLIT_BYTES
    rate: float | None = None

    kind = "dataframe"

    def schema(self) -> pa.Schema:
        return decode_schema(self.schema_ipc)

    def splits(self, parallelism: int) -> tuple[Split, ...]:
        if not os.path.exists(os.path.join(self.directory, "_SUCCESS")):
            raise InputError(
                f"{self.directory}: the DataFrame is not staged completely, because there is no _SUCCESS file. "
                "Stage the DataFrame again."
            )
        if not any(name.endswith(".parquet") for name in os.listdir(self.directory)):
            return ()
        files = list_files((self.directory,))
        limit = max_split_bytes(files, split_bytes=self.split_bytes, parallelism=parallelism, order="any")
        # Do not check modification times, because restoring a backup of the checkpoint directory can change these times. Only
        # Weir writes staged rows.
        return row_group_splits(files, split_bytes=limit, parallelism=parallelism, check_modification=False)

    def reader(self) -> ReadAheadReader:
        return row_group_reader(self.schema(), same_columns=None, rate=self.rate)
