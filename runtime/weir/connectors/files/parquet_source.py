"""The source for Parquet files."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial

import pyarrow as pa
import pyarrow.parquet as pq

from weir.connectors.base import describe_fields
from weir.connectors.files.file_groups import BYTES_MAX, Batches, ListedFile, SplitFormat, group_files, group_split, merge_batches
from weir.connectors.files.file_identity import InputFileIdentity, check_unchanged, identity_of
from weir.connectors.files.file_listing import InputFile, in_parallel, list_files, max_split_bytes
from weir.connectors.files.followed_files import FileSource, Follow
from weir.connectors.files.read_ahead import ReadAheadReader
from weir.connectors.transient_errors import retry_policy
from weir.errors import InputError, SchemaError
from weir.graph.schema import decode_schema, encode_schema, near_miss
from weir.operators.batch_slicing import BATCH_BYTES, slice_by_bytes
from weir.protocol.codec import to_json
from weir.protocol.ids import CheckpointId
from weir.protocol.snapshots import JsonValue, Split
from weir.storage.base import checksum

SPLIT_BYTES = 64 << 20
"""The maximum compressed size of the row groups of one split. A row group that is larger than ``SPLIT_BYTES`` becomes a split
by itself."""
TAIL_BYTES = 64 << 10
"""The size of the first read of a footer. Most footers are smaller."""
SCHEMAS_COMPARED = 1000
"""The maximum number of files whose schemas are compared at the start of a job. The reader also compares the schema of each
file that it reads."""
_MAGIC = b"PAR1"


@dataclass(frozen=True, slots=True)
class RowGroups:
    """The payload of a split. The split contains the row groups ``[first, last)`` of ``file``, which have ``rows`` rows in
    total. If ``last`` and ``rows`` are None, the split contains all row groups from ``first`` on.

    ``size``, ``modified_ns`` and ``footer`` are the identity of the file when the file was listed, or None if unknown."""

    file: str
    first: int
    last: int | None
    rows: int | None
    size: int | None = None
    modified_ns: int | None = None
    footer: str | None = None

    @staticmethod
    def whole(file: ListedFile) -> RowGroups:
        return RowGroups(file.path, 0, None, None, file.bytes, file.modified_ns, file.footer)


@dataclass(frozen=True, slots=True)
class ParquetSource(FileSource):
    """Reads only the columns in ``columns``, or all columns if ``columns`` is None. All files must have the same columns.

    A split is a range of row groups of one file, or a group of small files. If ``order`` is ``file``, a split consists of whole
    files. The position in a file is the number of emitted rows."""

    paths: tuple[str, ...]
    columns: tuple[str, ...] | None = None
    split_bytes: int = SPLIT_BYTES
    rate: float | None = None
    schema_ipc: str | None = None
    """The schema of the records. ``resolved`` sets this field, so that a slot reads only the footers of the files in its
    splits."""
    order: str = "any"
    follow: Follow | None = None

    kind = "parquet"

    def resolved(self) -> ParquetSource:
        return dataclasses.replace(self, schema_ipc=encode_schema(self.schema()))

    def describe(self) -> JsonValue:
        return describe_fields(self.resolved())

    def schema(self) -> pa.Schema:
        if self.schema_ipc is not None:
            return decode_schema(self.schema_ipc)
        schema = self._listed_schema()
        if self.columns is None:
            return schema
        for name in self.columns:
            if name not in schema.names:
                raise SchemaError(f"{', '.join(self.paths)}: no column {name!r}{near_miss(name, schema.names)}")
        return pa.schema([schema.field(name) for name in self.columns])

    def _listed_schema(self) -> pa.Schema:
        """Raises SchemaError if the source is followed and has no complete file yet."""
        if self.follow is None:
            return _common_schema(list_files(self.paths)[:SCHEMAS_COMPARED])
        for file in list_files(self.paths, following=True):
            with suppress(InputError):
                return _columns_of(footer_of(file).metadata.schema)
        raise SchemaError(
            f"{', '.join(self.paths)}: there is no complete Parquet file yet. Pass the schema of the files as schema=."
        )

    def _check_complete(self, file: InputFile) -> None:
        _footer_checksum(file)

    def _splits_of(self, files: Sequence[InputFile], parallelism: int) -> tuple[Split, ...]:
        if self.follow is None:
            _common_schema(files[:SCHEMAS_COMPARED])
        limit = max_split_bytes(files, split_bytes=self.split_bytes, parallelism=parallelism, order=self.order)
        return row_group_splits(files, split_bytes=limit, parallelism=parallelism)

    def reader(self) -> ReadAheadReader:
        return row_group_reader(self.schema(), same_columns=self.columns is None, rate=self.rate)


def row_group_splits(
    files: Sequence[InputFile], *, split_bytes: int, parallelism: int, check_modification: bool = True
) -> tuple[Split, ...]:
    """Return the splits of all files. Small files are combined into groups. Files that are larger than ``split_bytes`` are
    divided into ranges of row groups. If ``check_modification`` is False, the identity of a file does not contain the
    modification time.

    This function parses only the footers of files that are larger than ``split_bytes``. For a small file, parsing the footer
    would take longer than all other work."""
    whole = [file for file in files if file.bytes <= split_bytes]
    footers = dict(zip(whole, in_parallel(_footer_checksum, whole, doing="reading Parquet footers"), strict=True))
    splits: list[Split] = []
    for group in group_files(files, split_bytes=split_bytes, parallelism=parallelism):
        listed = [
            ListedFile(file.path, file.bytes, file.modified_ns if check_modification else None, footers.get(file))
            for file in group
        ]
        if len(listed) > 1:
            splits.append(group_split(listed))
        elif group[0] in footers:
            splits.append(_split(RowGroups.whole(listed[0])))
        else:
            splits += map(_split, _cut(group[0], listed[0], split_bytes))
    return tuple(splits)


def _split(groups: RowGroups) -> Split:
    return Split(id=f"{groups.file}#{groups.first}", payload=to_json(groups))


def _cut(file: InputFile, listed: ListedFile, split_bytes: int) -> Iterator[RowGroups]:
    """Combine adjacent row groups into splits of at most ``split_bytes``. A row group that is larger than ``split_bytes``
    becomes a split by itself."""
    footer = footer_of(file)
    row_groups = [footer.metadata.row_group(index) for index in range(footer.metadata.num_row_groups)]
    groups = [(group.num_rows, _stored_bytes(group)) for group in row_groups]
    first = 0
    while first < len(groups):
        last, rows, stored = first + 1, groups[first][0], groups[first][1]
        while last < len(groups) and stored + groups[last][1] <= split_bytes:
            rows, stored, last = rows + groups[last][0], stored + groups[last][1], last + 1
        if rows:
            yield RowGroups(listed.path, first, last, rows, listed.bytes, listed.modified_ns, footer.checksum)
        first = last


def row_group_reader(schema: pa.Schema, *, same_columns: bool | None, rate: float | None) -> ReadAheadReader:
    """If ``same_columns`` is True, each file must have exactly the columns of ``schema``. If ``same_columns`` is False, a file
    can have more columns than ``schema``. If ``same_columns`` is None, the reader accepts all files whose columns can be cast
    to ``schema``."""
    accepted: list[pq.ParquetSchema] = []

    def check(path: str, found: pq.ParquetSchema) -> None:
        if same_columns is not None and not any(map(found.equals, accepted)):
            columns = _columns_of(found)
            if not same_columns:
                columns = pa.schema([field for field in columns if field.name in schema.names])
            _check_same_schema(schema, path, columns, "other files")
            accepted[:] = [found]

    read = partial(read_row_groups, schema=schema, check=check)
    splits = SplitFormat(RowGroups, RowGroups.whole, read, merge_batches, _locate)
    return ReadAheadReader(splits.read, locate=splits.locate, rate=rate)


def _locate(groups: RowGroups, position: JsonValue) -> str:
    assert position is None or isinstance(position, int)
    row = f"row {(position or 0) + 1:,}"
    return f"{row} of {groups.file}" if groups.first == 0 else f"{row} of row group {groups.first} and later in {groups.file}"


def read_row_groups(
    groups: RowGroups,
    start: JsonValue,
    batch_rows: int,
    restored: CheckpointId | None = None,
    *,
    schema: pa.Schema,
    check: Callable[[str, pq.ParquetSchema], None],
) -> Batches:
    """Yield the batches of a split from position ``start`` on. Columns are cast to ``schema``, because the Arrow types of a
    file that Spark wrote can differ from ``schema``. ``check`` takes the path and the schema of a file, and raises InputError if
    this schema does not match the schema of the source.

    ``restored`` is the checkpoint that contains the position ``start``. Raises InputError, for example if the file has changed
    since the listing. Every yielded batch was read from the listed version of the file."""
    assert start is None or isinstance(start, int)
    listed = InputFileIdentity(groups.size, groups.modified_ns, groups.footer)
    position = start or 0
    what = "the file" if groups.last is None else f"row groups {groups.first} to {groups.last - 1}"
    try:
        with pa.OSFile(groups.file) as data:
            check_unchanged(groups.file, listed, identity_of(data.fileno()), restored=restored)
            source = pa.BufferReader(data.read_buffer()) if data.size() <= BYTES_MAX else data
            footer = checksum([_footer_bytes(source, source.size())])
            check_unchanged(groups.file, listed, InputFileIdentity(footer=footer), restored=restored)
            file = pq.ParquetFile(source)
            check(groups.file, file.schema)
            last = file.metadata.num_row_groups if groups.last is None else groups.last
            rows = file.metadata.num_rows if groups.rows is None else groups.rows
            first, done = groups.first, 0
            while first < last and done + file.metadata.row_group(first).num_rows <= position:
                done += file.metadata.row_group(first).num_rows
                first += 1
            skip = position - done
            groups_to_read = range(first, last)
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
            f"{groups.file}: cannot read {what} as Parquet: {_one_line(error)}", retry=retry_policy(error)
        ) from error
    if position != rows:
        raise InputError(
            f"{groups.file}: read {position} rows, but the footer lists {rows} rows. "
            "Input files must not change while a job reads them."
        )


def _rows_at_once(footer: pq.FileMetaData, groups: range, columns: Sequence[str], batch_rows: int) -> int:
    """Use the footer to estimate how many rows fit into BATCH_BYTES bytes. Returns at most ``batch_rows``.

    Without the estimate, the memory would have to hold ``batch_rows`` rows at once, even if the rows are large documents. The
    estimate can be too high, because the footer contains encoded sizes, in which repeated values count only once. Therefore,
    batches that are too large are sliced after reading.
    """
    if sum(footer.row_group(group).total_byte_size for group in groups) <= BATCH_BYTES:
        return batch_rows
    row_bytes = max((_encoded_bytes(footer.row_group(group), columns) for group in groups), default=0.0)
    return max(1, min(batch_rows, int(BATCH_BYTES / row_bytes))) if row_bytes else batch_rows


def _encoded_bytes(group: pq.RowGroupMetaData, columns: Sequence[str]) -> float:
    """Return the mean encoded size of a row, before compression. The leaves of a nested column have names like ``column.leaf``."""
    leaves = [group.column(index) for index in range(group.num_columns)]
    read_leaves = [leaf for leaf in leaves if any(f"{leaf.path_in_schema}.".startswith(f"{name}.") for name in columns)]
    return sum(leaf.total_uncompressed_size for leaf in read_leaves) / group.num_rows if group.num_rows else 0.0


def _fit(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    if batch.schema.equals(schema):
        return batch
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
    """Read and parse the footer of a file. Raises InputError, with the path of the file, if the file cannot be read
    or is not a Parquet file."""
    data = _file_footer(file)
    try:
        return Footer(pq.read_metadata(pa.BufferReader(data)), checksum([data]))
    except (OSError, pa.ArrowException) as error:
        raise _not_parquet(file, error) from error


def _footer_checksum(file: InputFile) -> str:
    """Return the checksum of the footer without parsing the footer. Raises InputError like ``footer_of``."""
    return checksum([_file_footer(file)])


def _file_footer(file: InputFile) -> bytes:
    try:
        with open(file.path, "rb", buffering=0) as data:
            return _footer_bytes(data, file.bytes)
    except (OSError, pa.ArrowException) as error:
        raise _not_parquet(file, error) from error


def _not_parquet(file: InputFile, error: Exception) -> InputError:
    return InputError(f"{file.path}: cannot read the file as Parquet: {_one_line(error)}", retry=retry_policy(error))


def _footer_bytes(file: io.RawIOBase | pa.NativeFile, size: int) -> bytes:
    """Read the footer with one or two reads. A file ends with the footer, the size of the footer (4 bytes) and a magic number (4
    bytes). Raises OSError, ArrowException."""
    tail = _read_tail(file, size, TAIL_BYTES)
    length = int.from_bytes(tail[-8:-4], "little") + 8
    if not tail.endswith(_MAGIC) or length > size:
        raise pa.ArrowInvalid(
            "the file does not end with a Parquet footer, so it is damaged or not a Parquet file. Restore or remove the file."
        )
    return (tail if len(tail) >= length else _read_tail(file, size, length))[-length:]


def _read_tail(file: io.RawIOBase | pa.NativeFile, size: int, length: int) -> bytes:
    file.seek(max(size - length, 0))
    return bytes(file.read(length))


def _columns_of(found: pq.ParquetSchema) -> pa.Schema:
    """Return only names and types, because writers add metadata that differs between files of the same schema."""
    schema = found.to_arrow_schema()
    return pa.schema([pa.field(field.name, field.type) for field in schema])


def _common_schema(files: Sequence[InputFile]) -> pa.Schema:
    schemas = [_columns_of(footer.metadata.schema) for footer in in_parallel(footer_of, files, doing="reading Parquet footers")]
    for file, schema in zip(files, schemas, strict=True):
        _check_same_schema(schemas[0], file.path, schema, files[0].path)
    return schemas[0]


def _check_same_schema(schema: pa.Schema, path: str, other: pa.Schema, where: str) -> None:
    """Raise InputError if the file ``path`` has another schema. ``other`` is the schema of the file. ``where`` names the files
    that have ``schema``, for the error message."""
    for name in [*schema.names, *other.names]:
        expected = schema.field(name).type if name in schema.names else "absent"
        actual = other.field(name).type if name in other.names else "absent"
        if actual != expected:
            raise InputError(
                f"{path}: column {name!r} is {actual}, but {expected} in {where}. All files of a source must have the same schema."
            )


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _stored_bytes(group: pq.RowGroupMetaData) -> int:
    return sum(group.column(index).total_compressed_size for index in range(group.num_columns))
