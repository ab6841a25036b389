"""JSON-lines files: one object a line."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.json as pj

from weir.connectors.base import Source
from weir.connectors.descriptions import decode_schema, describe, encode_schema
from weir.connectors.file_listing import list_files
from weir.connectors.line_blocks import LineBlock, LineRange, line_blocks, line_number, line_splits
from weir.connectors.read_ahead import ReadAheadReader
from weir.connectors.text_source import SPLIT_BYTES
from weir.errors import InputError, SchemaError
from weir.protocol.snapshots import JsonValue, Split

_SHOWN_BYTES = 80
_BLANK = b" \t\r\n"
_ONE_OBJECT = "not exactly one JSON object on the line"
_NULL_BEFORE_OBJECT = re.compile(rb"null[ \t\r]*\{")
"""Found between two objects, and rarely inside a string."""


@dataclass(frozen=True, slots=True)
class JsonLinesSource(Source):
    """Objects parsed against a schema, given or inferred from the first ``infer_lines`` lines of the first file that has any.

    Missing fields are null. ``unknown_fields``: ``error`` or ``ignore``. Blank lines are skipped.
    A split is a byte range; its position is the byte offset after the last emitted line."""

    paths: tuple[str, ...]
    schema_ipc: str | None = None
    unknown_fields: str = "error"
    infer_lines: int = 1000
    split_bytes: int = SPLIT_BYTES
    rate: float | None = None

    kind = "json_lines"

    def describe(self) -> JsonValue:
        # With the schema resolved: a slot must not infer another one.
        return describe(dataclasses.replace(self, schema_ipc=encode_schema(self.schema())))

    def schema(self) -> pa.Schema:
        if self.schema_ipc is not None:
            schema = decode_schema(self.schema_ipc)
            for field in schema:
                _check_type(field)
            return schema
        return self._infer()

    def splits(self, parallelism: int) -> tuple[Split, ...]:
        files = list_files(self.paths)
        share = max(1 << 20, sum(file.bytes for file in files) // max(parallelism, 1) + 1)
        return line_splits(files, split_bytes=min(self.split_bytes, share), number_lines=False)

    def reader(self) -> ReadAheadReader:
        return ReadAheadReader(self._read, rate=self.rate)

    def _infer(self) -> pa.Schema:
        for file in list_files(self.paths):
            for block in line_blocks(LineRange(file.path, 0, file.bytes, file.bytes), None):
                head = block.piece(0, min(self.infer_lines, len(block.ends)))
                table = _parse(head, file.path, pj.ParseOptions())
                if table.num_rows == 0:
                    continue
                for field in table.schema:
                    if _has_null_type(field.type):
                        raise SchemaError(
                            f"{file.path}: the type of field {field.name!r} cannot be inferred, it has no value in the first "
                            f"{table.num_rows} records; give a schema"
                        )
                return table.schema
        raise SchemaError(f"{', '.join(self.paths)}: no record to infer a schema from; give a schema")

    def _read(self, split: Split, batch_rows: int) -> Iterator[tuple[pa.RecordBatch, JsonValue]]:
        assert split.position is None or isinstance(split.position, int)
        lines = LineRange.of(split)
        schema = self.schema()
        options = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior=self.unknown_fields)
        for block in line_blocks(lines, split.position):
            for first in range(0, len(block.ends), batch_rows):
                piece = block.piece(first, min(first + batch_rows, len(block.ends)))
                table = _parse(piece, lines.file, options).select(schema.names).combine_chunks()
                batches = table.to_batches()
                assert len(batches) <= 1, "a piece of a file is far below what one Arrow chunk can hold"
                for batch in batches:
                    yield pa.RecordBatch.from_arrays(batch.columns, schema=schema), piece.next_offset


class _NotOneObject(Exception):
    """Some line does not hold exactly one object. Its text goes into the message for the user."""


def _parse(piece: LineBlock, file: str, options: pj.ParseOptions) -> pa.Table:
    """A table of the piece's lines. Raises InputError naming the first bad line."""
    try:
        return _parse_lines(piece, options)
    except pa.ArrowNotImplementedError as error:
        raise SchemaError(f"{file}: JSON cannot be read into this schema ({error})") from error
    except _BAD_LINES as error:
        raise _first_bad_line(piece, file, options, error) from None


def _parse_lines(piece: LineBlock, options: pj.ParseOptions) -> pa.Table:
    objects = _count_objects(piece)
    if objects == 0:
        return (options.explicit_schema or pa.schema([])).empty_table()
    data = memoryview(piece.data)[int(piece.starts[0]) : int(piece.ends[-1])]
    table = pj.read_json(
        pa.BufferReader(pa.py_buffer(data)),
        read_options=pj.ReadOptions(use_threads=False, block_size=max(len(data) + 1, 1 << 16)),
        parse_options=options,
    )
    table.validate(full=True)
    if table.num_rows != objects:
        raise _NotOneObject(_ONE_OBJECT)
    return table


def _count_objects(piece: LineBlock) -> int:
    """Lines that are not blank. Raises _NotOneObject before the parser sees what it would take for valid (an object over
    several lines, several objects on one) or crash on (a null that stands alone)."""
    data = np.frombuffer(piece.data, np.uint8)
    objects = len(piece.ends)
    if (data[piece.starts] != ord("{")).any() or (data[piece.ends - 2] != ord("}")).any():
        objects = 0
        for start, end in zip(piece.starts.tolist(), piece.ends.tolist(), strict=True):
            line = piece.data[start:end].strip(_BLANK)
            if line and not (line.startswith(b"{") and line.endswith(b"}")):
                raise _NotOneObject(_ONE_OBJECT)
            objects += bool(line)
    first, last = int(piece.starts[0]), int(piece.ends[-1])
    if piece.data.find(b"null", first, last) >= 0 and _NULL_BEFORE_OBJECT.search(piece.data, first, last):
        for start, end in zip(piece.starts.tolist(), piece.ends.tolist(), strict=True):
            if _NULL_BEFORE_OBJECT.search(piece.data, start, end) and not _is_json(piece.data[start:end]):
                raise _NotOneObject(_ONE_OBJECT)
    return objects


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _first_bad_line(piece: LineBlock, file: str, options: pj.ParseOptions, error: Exception) -> InputError:
    """By halving: the first line that fails alone (or what only fails in company, at its first line)."""
    while len(piece.ends) > 1:
        middle = len(piece.ends) // 2
        for half in (piece.piece(0, middle), piece.piece(middle, len(piece.ends))):
            try:
                _parse_lines(half, options)
            except _BAD_LINES as worse:
                piece, error = half, worse
                break
        else:
            break
    start, end = int(piece.starts[0]), int(piece.ends[0])
    shown = piece.data[start : min(end, start + _SHOWN_BYTES)].rstrip(_BLANK).decode(errors="replace")
    reason = str(error).removeprefix("JSON parse error: ").split(" in row ")[0]
    return InputError(
        f"{file}: line {line_number(file, piece.offset + start)} is not a record of this source ({reason}): {shown}"
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
        raise SchemaError(f"field {field.name!r}: JSON lines cannot be read as {field.type} ({error})") from error
