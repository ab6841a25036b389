"""The source for JSON-lines files, which have one object per line."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.json as pj

from weir.connectors.base import describe_fields
from weir.connectors.files.file_groups import SplitFormat, merge_batches
from weir.connectors.files.file_listing import InputFile, list_files, max_split_bytes
from weir.connectors.files.followed_files import FileSource, Follow
from weir.connectors.files.line_reader import FileLines, LineBlock, LineRange, joined_lines, line_blocks, line_number, line_splits
from weir.connectors.files.read_ahead import ReadAheadReader
from weir.connectors.files.text_source import SPLIT_BYTES
from weir.errors import InputError, SchemaError
from weir.graph.schema import decode_schema, encode_schema
from weir.protocol.ids import CheckpointId
from weir.protocol.snapshots import JsonValue, Split

_SHOWN_BYTES = 80
_BLANK = b" \t\r\n"
_ONE_OBJECT = "the line must contain exactly one JSON object"
_NULL_BEFORE_OBJECT = re.compile(rb"null[ \t\r]*\{")
"""Matches ``null`` that is followed by an object on the same line. The pattern can also match text inside a JSON string."""


@dataclass(frozen=True, slots=True)
class JsonLinesSource(FileSource):
    """Parses objects with a given schema, or with a schema inferred from the first ``infer_lines`` lines of the first non-empty
    file.

    Missing fields are null. ``unknown_fields`` is ``error`` or ``ignore``. Blank lines are skipped. A split is either a byte
    range of one file, or a group of small files. If ``order`` is ``file``, a split consists of whole files. The position in a
    file is the byte offset after the last emitted line."""

    paths: tuple[str, ...]
    schema_ipc: str | None = None
    unknown_fields: str = "error"
    infer_lines: int = 1000
    split_bytes: int = SPLIT_BYTES
    rate: float | None = None
    order: str = "any"
    follow: Follow | None = None

    kind = "json_lines"

    def resolved(self) -> JsonLinesSource:
        return dataclasses.replace(self, schema_ipc=encode_schema(self.schema()))

    def describe(self) -> JsonValue:
        # Include the schema, so that a slot cannot infer a different schema.
        return describe_fields(self.resolved())

    def schema(self) -> pa.Schema:
        if self.schema_ipc is not None:
            schema = decode_schema(self.schema_ipc)
            for field in schema:
                _check_type(field)
            return schema
        return self._infer()

    def _splits_of(self, files: Sequence[InputFile], parallelism: int) -> tuple[Split, ...]:
        limit = max_split_bytes(files, split_bytes=self.split_bytes, parallelism=parallelism, order=self.order)
        return line_splits(files, split_bytes=limit, parallelism=parallelism, number_lines=False)

    def reader(self) -> ReadAheadReader:
        options = pj.ParseOptions(explicit_schema=self.schema(), unexpected_field_behavior=self.unknown_fields)
        merge = partial(_parse_parts, options=options)
        splits = SplitFormat(LineRange, LineRange.whole, _read, merge, LineRange.locate)
        return ReadAheadReader(splits.read, locate=splits.locate, rate=self.rate)

    def _infer(self) -> pa.Schema:
        for file in list_files(self.paths, following=self.follow is not None):
            for block in line_blocks(LineRange(file.path, 0, file.bytes, file.bytes), None):
                head = block.slice(0, min(self.infer_lines, len(block.ends)))
                table = _parse(head, file.path, pj.ParseOptions())
                if table.num_rows == 0:
                    continue
                for field in table.schema:
                    if _has_null_type(field.type):
                        raise SchemaError(
                            f"{file.path}: cannot infer the type of field {field.name!r}, because it has no value in the first "
                            f"{table.num_rows} records. Pass a schema."
                        )
                return table.schema
        raise SchemaError(f"{', '.join(self.paths)}: cannot infer a schema, because there are no records. Pass a schema.")


def _read(
    lines: LineRange, position: JsonValue, batch_rows: int, restored: CheckpointId | None
) -> Iterator[tuple[FileLines, JsonValue]]:
    assert position is None or isinstance(position, int)
    for block in line_blocks(lines, position, restored):
        for first in range(0, len(block.ends), batch_rows):
            part = block.slice(first, min(first + batch_rows, len(block.ends)))
            yield FileLines(lines.file, part), part.next_offset


def _parse_parts(parts: Sequence[FileLines], *, options: pj.ParseOptions) -> pa.RecordBatch:
    """Parse the lines of several files in one call, because the parser has a high cost per call. If a line is invalid, parse
    each file separately, so that the error names the file and the line."""
    if len(parts) > 1:
        with suppress(pa.ArrowNotImplementedError, *_BAD_LINES):
            return _batch_of(_parse_lines(joined_lines([part.lines for part in parts]), options), options)
    return merge_batches([_batch_of(_parse(part.lines, part.file, options), options) for part in parts])


def _batch_of(table: pa.Table, options: pj.ParseOptions) -> pa.RecordBatch:
    schema = options.explicit_schema
    batches = table.select(schema.names).combine_chunks().to_batches()
    assert len(batches) <= 1, "a block of lines fits into one Arrow chunk"
    columns = batches[0].columns if batches else [pa.array([], field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


class _NotOneObject(Exception):
    """Raised for a line that does not contain exactly one object. The exception's text becomes part of the error message."""


def _parse(part: LineBlock, file: str, options: pj.ParseOptions) -> pa.Table:
    """Parse the lines into a table. Raises InputError with the number of the first invalid line."""
    try:
        return _parse_lines(part, options)
    except pa.ArrowNotImplementedError as error:
        raise SchemaError(f"{file}: cannot read JSON into this schema: {error}") from error
    except _BAD_LINES as error:
        raise _first_bad_line(part, file, options, error) from None


def _parse_lines(part: LineBlock, options: pj.ParseOptions) -> pa.Table:
    objects = _count_objects(part)
    if objects == 0:
        return (options.explicit_schema or pa.schema([])).empty_table()
    data = memoryview(part.data)[int(part.starts[0]) : int(part.ends[-1])]
    table = pj.read_json(
        pa.BufferReader(pa.py_buffer(data)),
        read_options=pj.ReadOptions(use_threads=False, block_size=max(len(data) + 1, 1 << 16)),
        parse_options=options,
    )
    table.validate(full=True)
    if table.num_rows != objects:
        raise _NotOneObject(_ONE_OBJECT)
    return table


def _count_objects(part: LineBlock) -> int:
    """Count the lines that are not blank.

    Raises _NotOneObject for an object over several lines and for several objects on one line, because the parser would wrongly
    accept them. Also raises _NotOneObject for a line that contains only null, because the parser would crash."""
    data = np.frombuffer(part.data, np.uint8)
    objects = len(part.ends)
    if (data[part.starts] != ord("{")).any() or (data[part.ends - 2] != ord("}")).any():
        objects = 0
        for start, end in zip(part.starts.tolist(), part.ends.tolist(), strict=True):
            line = part.data[start:end].strip(_BLANK)
            if line and not (line.startswith(b"{") and line.endswith(b"}")):
                raise _NotOneObject(_ONE_OBJECT)
            objects += bool(line)
    first, last = int(part.starts[0]), int(part.ends[-1])
    if part.data.find(b"null", first, last) >= 0 and _NULL_BEFORE_OBJECT.search(part.data, first, last):
        for start, end in zip(part.starts.tolist(), part.ends.tolist(), strict=True):
            if _NULL_BEFORE_OBJECT.search(part.data, start, end) and not _is_json(part.data[start:end]):
                raise _NotOneObject(_ONE_OBJECT)
    return objects


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _first_bad_line(part: LineBlock, file: str, options: pj.ParseOptions, error: Exception) -> InputError:
    """Find the first invalid line by bisection. If a block is invalid but both of its halves are valid, report the first line of
    the block."""
    while len(part.ends) > 1:
        middle = len(part.ends) // 2
        for half in (part.slice(0, middle), part.slice(middle, len(part.ends))):
            try:
                _parse_lines(half, options)
            except _BAD_LINES as worse:
                part, error = half, worse
                break
        else:
            break
    start, end = int(part.starts[0]), int(part.ends[0])
    shown = part.data[start : min(end, start + _SHOWN_BYTES)].rstrip(_BLANK).decode(errors="replace")
    reason = str(error).removeprefix("JSON parse error: ").split(" in row ")[0].rstrip(".")
    return InputError(
        f"{file}: cannot parse line {line_number(file, part.offset + start)}: {reason}. The line begins with: {shown}"
    )


_BAD_LINES = (pa.ArrowInvalid, UnicodeDecodeError, _NotOneObject)


def _has_null_type(kind: pa.DataType) -> bool:
    if pa.types.is_null(kind):
        return True
    return any(_has_null_type(kind.field(index).type) for index in range(kind.num_fields))


def _check_type(field: pa.Field) -> None:
    try:
        pj.read_json(pa.BufferReader(b"{}\n"), parse_options=pj.ParseOptions(explicit_schema=pa.schema([field])))
    except pa.ArrowException as error:
        raise SchemaError(f"field {field.name!r}: JSON lines do not support type {field.type}: {error}") from error
