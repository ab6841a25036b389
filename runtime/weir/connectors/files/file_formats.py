"""The file formats of directory sinks. A format encodes tables as bytes, outside the loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from weir.connectors.files.json_lines_format import is_binary
from weir.errors import SchemaError


class OpenFile(Protocol):
    def write(self, table: pa.Table) -> None: ...
    def bytes_written(self) -> int:
        """Return the number of bytes in the file, without the bytes that the format still buffers."""
        ...

    def close(self) -> None:
        """Complete and close the file, without fsync."""
        ...

    def drop(self) -> None:
        """Close the file without completing it. This method never raises."""
        ...


class FileFormat(Protocol):
    @property
    def extension(self) -> str: ...
    def create(self, path: str, schema: pa.Schema) -> OpenFile: ...
    def check(self, field: pa.Field) -> str | None:
        """Return the reason why the format cannot write a column, or None if the format can write the column."""
        ...


class _ArrowFile:
    """A file that pyarrow writes."""

    def __init__(self, path: str, make_writer: Any) -> None:
        self._file = pa.OSFile(path, "wb")
        try:
            self._writer = make_writer(self._file)
        except BaseException:
            self._file.close()
            raise

    def write(self, table: pa.Table) -> None:
        self._writer.write_table(table)

    def bytes_written(self) -> int:
        return int(self._file.tell())

    def close(self) -> None:
        self._writer.close()
        self._file.close()

    def drop(self) -> None:
        for closing in (self._writer, self._file):
            try:
                closing.close()
            except (OSError, pa.ArrowException):
                continue  # ignore the error, because the file is discarded


@dataclass(frozen=True, slots=True)
class ParquetFormat:
    """Parquet files. Only text is dictionary-encoded, because encoding integers would triple the writing time and save few
    bytes."""

    compression: str = "snappy"
    extension: str = "parquet"

    def create(self, path: str, schema: pa.Schema) -> OpenFile:
        text = [field.name for field in schema if _is_text(field.type)]
        return _ArrowFile(
            path, lambda file: pq.ParquetWriter(file, schema, compression=self.compression, use_dictionary=text or False)
        )

    def check(self, field: pa.Field) -> str | None:
        try:
            pq.write_table(pa.schema([field]).empty_table(), pa.BufferOutputStream(), compression=self.compression)
        except pa.ArrowException as error:
            return str(error)
        return None


@dataclass(frozen=True, slots=True)
class ArrowFormat:
    """Arrow IPC files, uncompressed."""

    extension: str = "arrow"

    def create(self, path: str, schema: pa.Schema) -> OpenFile:
        return _ArrowFile(path, lambda file: pa.ipc.new_file(file, schema))

    def check(self, field: pa.Field) -> str | None:
        return None


def check_schema(file_format: FileFormat, schema: pa.Schema, out: str) -> None:
    """Raise SchemaError if the format cannot write the schema. The error message names the column."""
    for field in schema:
        if schema.names.count(field.name) > 1:
            raise SchemaError(f"{out}: two columns are named {field.name!r}. Rename one.")
        reason = file_format.check(field)
        if reason is not None:
            raise SchemaError(f"{out}: cannot write column {field.name!r} of type {field.type} ({reason}). Cast or drop it.")


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind) or is_binary(kind))
