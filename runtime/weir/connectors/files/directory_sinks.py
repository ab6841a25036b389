"""Sinks that write files into a directory. The formats are Parquet, JSON lines, and Arrow for ``collect``."""

from __future__ import annotations

import atexit
import os
import shutil
from dataclasses import dataclass

import pyarrow as pa

from weir.connectors.base import Sink
from weir.connectors.files.directory_committer import DirectoryCommitter
from weir.connectors.files.directory_writer import DirectoryWriter, FileLimits
from weir.connectors.files.file_formats import ArrowFormat, FileFormat, ParquetFormat, check_schema
from weir.connectors.files.file_system import sink_error
from weir.connectors.files.json_lines_format import JsonLinesFormat
from weir.connectors.files.output_layout import OutputLayout
from weir.errors import ConfigError, SinkError
from weir.graph.schema import decode_schema, encode_schema


@dataclass(frozen=True, slots=True)
class ParquetSink(Sink):
    directory: str
    compression: str = "snappy"
    rows_per_file: int | None = None
    bytes_per_file: int | None = None

    kind = "parquet"

    def check(self, schema: pa.Schema) -> None:
        _check(self.directory, ParquetFormat(self.compression), schema)

    def writer(self) -> DirectoryWriter:
        limits = FileLimits(self.rows_per_file, self.bytes_per_file)
        return DirectoryWriter(OutputLayout(self.directory), ParquetFormat(self.compression), limits)

    def committer(self) -> DirectoryCommitter:
        return DirectoryCommitter(OutputLayout(self.directory))


@dataclass(frozen=True, slots=True)
class JsonLinesSink(Sink):
    directory: str
    rows_per_file: int | None = None
    bytes_per_file: int | None = None

    kind = "json_lines"

    def check(self, schema: pa.Schema) -> None:
        _check(self.directory, JsonLinesFormat(), schema)

    def writer(self) -> DirectoryWriter:
        return DirectoryWriter(
            OutputLayout(self.directory), JsonLinesFormat(), FileLimits(self.rows_per_file, self.bytes_per_file)
        )

    def committer(self) -> DirectoryCommitter:
        return DirectoryCommitter(OutputLayout(self.directory))


@dataclass(slots=True)
class CollectSink(Sink):
    """Writes Arrow files to ``directory``, which the slots and the coordinator share. ``CollectCommitter.result`` returns a
    ``pa.Table`` with the rows in the order of their checkpoints and writers."""

    directory: str
    schema_ipc: str | None = None
    """The schema of the records. ``check`` sets this field, so that a result without rows has columns."""
    temporary: bool = False
    """If ``temporary`` is True, only the user who runs the process can read ``directory``. The coordinator deletes
    ``directory`` when its process ends."""

    kind = "collect"

    def check(self, schema: pa.Schema) -> None:
        _check(self.directory, ArrowFormat(), schema)
        self.schema_ipc = encode_schema(schema)

    def writer(self) -> DirectoryWriter:
        return DirectoryWriter(OutputLayout(self.directory), ArrowFormat(), FileLimits())

    def committer(self) -> CollectCommitter:
        schema = None if self.schema_ipc is None else decode_schema(self.schema_ipc)
        return CollectCommitter(OutputLayout(self.directory), schema, temporary=self.temporary)


class CollectCommitter(DirectoryCommitter):
    def __init__(self, layout: OutputLayout, schema: pa.Schema | None, *, temporary: bool = False) -> None:
        super().__init__(layout)
        self._schema = schema
        self._temporary = temporary

    def claim(self, *, job: str, sink: str, history: str | None = None) -> None:
        if self._temporary:
            try:
                self._file_system.mkdir(self._layout.out, private=True)
            except OSError as error:
                raise sink_error("creating the temporary directory", self._layout.out, error) from error
            # Delete the output directory only when the process exits, because a suspended job needs the files to resume.
            atexit.unregister(self._remove)
            atexit.register(self._remove)
        super().claim(job=job, sink=sink, history=history)

    def _remove(self) -> None:
        shutil.rmtree(self._layout.out, ignore_errors=True)

    def result(self) -> pa.Table:
        tables = [self._read(path) for _, path in self._layout.published_parts(self._file_system)]
        if not tables:
            return (self._schema or pa.schema([])).empty_table()
        return pa.concat_tables(tables)

    def _read(self, path: str) -> pa.Table:
        try:
            with pa.OSFile(path) as file:
                return pa.ipc.open_file(file).read_all()
        except (OSError, pa.ArrowException) as error:
            raise SinkError(f"{path}: cannot read the collected result: {error}") from error


def _check(directory: str, file_format: FileFormat, schema: pa.Schema) -> None:
    """Raise an error if the sink cannot write the directory or the schema. This function does not create the directory, because
    a graph can be built without a run."""
    check_schema(file_format, schema, directory)
    nearest = directory
    while not os.path.lexists(nearest):
        nearest = os.path.dirname(nearest)
    if not os.path.isdir(nearest):
        raise ConfigError(f"{directory}: cannot create the output directory: {nearest} is not a directory.")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise ConfigError(f"{directory}: cannot write the output directory: {nearest} is not writable.")
