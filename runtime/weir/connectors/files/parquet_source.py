"""The source for Parquet files."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import pyarrow as pa
import pyarrow.parquet as pq

from weir.connectors.base import Source, describe_fields
from weir.connectors.files.file_identity import FileIdentity, check_unchanged, identity_of
from weir.connectors.files.file_listing import InputFile, list_files, max_split_bytes
from weir.connectors.files.read_ahead import ReadAheadReader
from weir.connectors.transient_errors import retry_policy
from weir.errors import InputError, SchemaError
from weir.graph.schema import decode_schema, encode_schema, near_miss
from weir.operators.batch_slicing import BATCH_BYTES, slice_by_bytes
from weir.protocol.codec import from_json, to_json
from weir.protocol.ids import CheckpointId
from weir.protocol.snapshots import JsonValue, Split
from weir.storage.base import checksum

SPLIT_BYTES = 64 << 20
"""The maximum compressed size of the row groups of one split. A row group that is larger than ``SPLIT_BYTES`` becomes a split
by itself."""
TAIL_BYTES = 64 << 10
"""The size of the first read of a footer. Most footers are smaller."""
_MAGIC = b"PAR1"


@dataclass(frozen=True, slots=True)
class RowGroups:
    """The payload of a split. The split contains the row groups ``[first, last)`` of ``file``, which have ``rows`` rows in
    total.

    ``size``, ``modified_ns`` and ``footer`` are the identity of the file when the file was listed, or None if unknown."""

    file: str
    first: int
    last: int
    rows: int
    size: int | None = None
    modified_ns: int | None = None
    footer: str | None = None


@dataclass(frozen=True, slots=True)
class ParquetSource(Source):
    """Reads the columns that ``columns`` names, or all columns if ``columns`` is None. All files must have the same columns.

    A split is a range of row groups of one file. With ``order`` ``file``, a split is a whole file. The position in
    a split is the number of emitted rows."""

    paths: tuple[str, ...]
    columns: tuple[str, ...] | None = None
    split_bytes: int = SPLIT_BYTES
    rate: float | None = None
    schema_ipc: str | None = None
    """The schema of the records. ``describe`` sets this field, so that a slot reads only the footers of the files in its
    splits."""
    order: str = "any"

    kind = "parquet"

    def describe(self) -> JsonValue:
        return describe_fields(dataclasses.replace(self, schema_ipc=encode_schema(self.schema())))

    def schema(self) -> pa.Schema:
        if self.schema_ipc is not None:
            return decode_schema(self.schema_ipc)
        schema = _common_schema(list_files(self.paths))
        if self.columns is None:
            return schema
        for name in self.columns:
            if name not in schema.names:
                raise SchemaError(f"{', '.join(self.paths)}: no column {name!r}{near_miss(name, schema.names)}")
        return pa.schema([schema.field(name) for name in self.columns])

    def splits(self, parallelism: int) -> tuple[Split, ...]:
        files = list_files(self.paths)
        _common_schema(files)
        limit = max_split_bytes(files, split_bytes=self.split_bytes, parallelism=parallelism, order=self.order)
        return row_group_splits(files, limit)

    def reader(self) -> ReadAheadReader:
        return ReadAheadReader(partial(read_row_groups, schema=self.schema()), rate=self.rate)


def row_group_splits(files: tuple[InputFile, ...], split_bytes: int, *, check_modification: bool = True) -> tuple[Split, ...]:
    """Combine neighbouring row groups into splits of at most ``split_bytes``. A larger row group becomes a split by itself. Empty files
    have no splits. If ``check_modification`` is False, the identity of a file does not contain the modification time."""
    splits: list[Split] = []
    for file in files:
        footer = footer_of(file)
        row_groups = [footer.metadata.row_group(index) for index in range(footer.metadata.num_row_groups)]
        groups = [(group.num_rows, _stored_bytes(group)) for group in row_groups]
        first = 0
        while first < len(groups):
            last, rows, stored = first + 1, groups[first][0], groups[first][1]
            while last < len(groups) and stored + groups[last][1] <= split_bytes:
                rows, stored, last = rows + groups[last][0], stored + groups[last][1], last + 1
            if rows:
                modified_ns = file.modified_ns if check_modification else None
                payload = RowGroups(file.path, first, last, rows, file.bytes, modified_ns, footer.checksum)
                splits.append(Split(id=f"{file.path}#{first}", payload=to_json(payload)))
            first = last
    return tuple(splits)


def read_row_groups(
    split: Split, batch_rows: int, restored: CheckpointId | None = None, *, schema: pa.Schema
) -> Iterator[tuple[pa.RecordBatch, JsonValue]]:
    """Yield the batches of a split. Columns are cast to ``schema``, because the Arrow types of a file that Spark wrote can differ
    from ``schema``.

    ``restored`` is the checkpoint that contains the split's position. Raises InputError, also if the file has changed since it was
    listed: every batch that is yielded was read from the listed version of the file."""
    assert split.position is None or isinstance(split.position, int)
    groups = from_json(RowGroups, split.payload)
    listed = FileIdentity(groups.size, groups.modified_ns, groups.footer)
    position = split.position or 0
    try:
        with pa.OSFile(groups.file) as data:
            check_unchanged(groups.file, listed, identity_of(data.fileno()), restored=restored)
            footer = _read_footer(data)
            check_unchanged(groups.file, listed, FileIdentity(footer=footer.checksum), restored=restored)
            file = pq.ParquetFile(data, metadata=footer.metadata)
            first, done = groups.first, 0
            while first < groups.last and done + file.metadata.row_group(first).num_rows <= position:
                done += file.metadata.row_group(first).num_rows
                first += 1
            skip = position - done
            groups_to_read = range(first, groups.last)
            rows_at_once = _rows_at_once(file.metadata, groups_to_read, schema.names, batch_rows)
            for batch in file.iter_batches(
                batch_size=rows_at_once, row_groups=groups_to_read, columns=list(schema.names), use_threads=False
            ):  # fmt: skip
                # Check after the read, because the file can be overwritten while it is read.
                check_unchanged(groups.file, listed, identity_of(data.fileno()), restored=restored)
                if skip >= batch.num_rows > 0:
                    skip -= batch.num_rows
                    continue
                batch, skip = batch.slice(skip), 0
                for part in slice_by_bytes(_fit(batch, schema)):
                    position += part.num_rows
                    yield part, position
    except (OSError, pa.ArrowException, KeyError, IndexError) as error:
        raise InputError(
            f"{groups.file}: cannot read row groups {groups.first} to {groups.last - 1} as Parquet: {_one_line(error)}",
            retry=retry_policy(error),
        ) from error
    if position != groups.rows:
        raise InputError(
            f"{groups.file}: read {position} rows, but the footer lists {groups.rows} rows. "
            "Input files must not change while a job reads them."
        )


def _rows_at_once(footer: pq.FileMetaData, groups: range, columns: Sequence[str], batch_rows: int) -> int:
    """Estimate from the footer the number of rows with a total size of BATCH_BYTES. Returns at most ``batch_rows``.

    Without the estimate, ``batch_rows`` large documents could be in memory at once. The estimate can be too high, because the
    footer contains encoded sizes, in which repeated values count only once. Therefore, batches are sliced again after reading.
    """
    row_bytes = max((_encoded_bytes(footer.row_group(group), columns) for group in groups), default=0.0)
    return max(1, min(batch_rows, int(BATCH_BYTES / row_bytes))) if row_bytes else batch_rows


def _encoded_bytes(group: pq.RowGroupMetaData, columns: Sequence[str]) -> float:
    """Return the mean encoded size of a row, before compression. The leaves of a nested column have names like ``column.leaf``."""
    leaves = [group.column(index) for index in range(group.num_columns)]
    read_leaves = [leaf for leaf in leaves if any(f"{leaf.path_in_schema}.".startswith(f"{name}.") for name in columns)]
    return sum(leaf.total_uncompressed_size for leaf in read_leaves) / group.num_rows if group.num_rows else 0.0


def _fit(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    arrays = []
    for field in schema:
        column = batch.column(field.name)
        arrays.append(column if column.type == field.type else column.cast(field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


@dataclass(frozen=True, slots=True)
class Footer:
    metadata: pq.FileMetaData
    checksum: str


@lru_cache(maxsize=4096)
def footer_of(file: InputFile) -> Footer:
    """Read the footer of a file. Raises InputError. The error message names the file."""
    try:
        with pa.OSFile(file.path) as data:
            return _read_footer(data)
    except (OSError, pa.ArrowException) as error:
        raise InputError(
            f"{file.path}: cannot read the file as Parquet: {_one_line(error)}", retry=retry_policy(error)
        ) from error


def _read_footer(file: pa.NativeFile) -> Footer:
    """Read the footer with one or two reads. A file ends with the footer, the size of the footer (4 bytes) and a magic number (4
    bytes). Raises OSError, ArrowException."""
    tail = _read_tail(file, TAIL_BYTES)
    length = int.from_bytes(tail[-8:-4], "little") + 8
    if tail.endswith(_MAGIC) and len(tail) < length <= file.size():
        tail = _read_tail(file, length)
    return Footer(pq.read_metadata(pa.BufferReader(tail)), checksum([memoryview(tail)[-length:]]))


def _read_tail(file: pa.NativeFile, length: int) -> bytes:
    file.seek(max(file.size() - length, 0))
    return bytes(file.read(length))


def _file_schema(file: InputFile) -> pa.Schema:
    """Return only names and types, because writers add metadata that differs between files of the same schema."""
    schema = footer_of(file).metadata.schema.to_arrow_schema()
    return pa.schema([pa.field(field.name, field.type) for field in schema])


def _common_schema(files: tuple[InputFile, ...]) -> pa.Schema:
    schema = _file_schema(files[0])
    for file in files[1:]:
        _check_same_schema(schema, file, files[0].path)
    return schema


def _check_same_schema(schema: pa.Schema, file: InputFile, first: str) -> None:
    other = _file_schema(file)
    for name in [*schema.names, *other.names]:
        expected = schema.field(name).type if name in schema.names else "absent"
        actual = other.field(name).type if name in other.names else "absent"
        if actual != expected:
            raise InputError(
                f"{file.path}: column {name!r} is {actual}, but {expected} in {first}. All files of a source must have the same schema."
            )


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _stored_bytes(group: pq.RowGroupMetaData) -> int:
    return sum(group.column(index).total_compressed_size for index in range(group.num_columns))
