"""The source for text files. Each line becomes one record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weir.connectors.files.file_groups import SplitFormat
from weir.connectors.files.file_listing import InputFile, max_split_bytes
from weir.connectors.files.followed_files import FileSource, Follow
from weir.connectors.files.line_reader import FileLines, LineBlock, LineRange, joined_lines, line_blocks, line_number, line_splits
from weir.connectors.files.read_ahead import ReadAheadReader
from weir.errors import InputError
from weir.protocol.ids import CheckpointId
from weir.protocol.snapshots import JsonValue, Split

SPLIT_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class TextSource(FileSource):
    """Reads column ``line`` (string, without line end), and optional columns ``file`` (string) and ``line_number`` (int64, from
    1).

    A split is either a byte range of one file, or a group of small files. If ``order`` is ``file``, a split consists of whole
    files. The position in a file is the byte offset after the last emitted line. With line numbers, the position is ``[byte
    offset, number of the next line]``."""

    paths: tuple[str, ...]
    file_name: bool = False
    line_numbers: bool = False
    split_bytes: int = SPLIT_BYTES
    rate: float | None = None
    order: str = "any"
    follow: Follow | None = None

    kind = "text"

    def schema(self) -> pa.Schema:
        fields = [pa.field("line", pa.string())]
        if self.file_name:
            fields.append(pa.field("file", pa.string()))
        if self.line_numbers:
            fields.append(pa.field("line_number", pa.int64()))
        return pa.schema(fields)

    def _splits_of(self, files: Sequence[InputFile], parallelism: int) -> tuple[Split, ...]:
        limit = max_split_bytes(files, split_bytes=self.split_bytes, parallelism=parallelism, order=self.order)
        return line_splits(files, split_bytes=limit, parallelism=parallelism, number_lines=self.line_numbers)

    def reader(self) -> ReadAheadReader:
        whole_file = partial(LineRange.whole, number_lines=self.line_numbers)
        splits = SplitFormat(LineRange, whole_file, self._read, self._batch, LineRange.locate)
        return ReadAheadReader(splits.read, locate=splits.locate, rate=self.rate)

    def _read(
        self, lines: LineRange, start: JsonValue, batch_rows: int, restored: CheckpointId | None
    ) -> Iterator[tuple[FileLines, JsonValue]]:
        offset, number = _resume(start, lines)
        for block in line_blocks(lines, offset, restored):
            for first in range(0, len(block.ends), batch_rows):
                part = FileLines(lines.file, block.slice(first, min(first + batch_rows, len(block.ends))), number)
                number += part.num_rows
                position: JsonValue = part.lines.next_offset
                yield part, [position, number] if self.line_numbers else position

    def _batch(self, parts: Sequence[FileLines]) -> pa.RecordBatch:
        counts = [part.num_rows for part in parts]
        columns = [_strings(parts)]
        if self.file_name:
            columns.append(pa.array([part.file for part in parts]).take(np.repeat(np.arange(len(parts)), counts)))
        if self.line_numbers:
            columns.append(pa.array(np.concatenate([np.arange(part.number, part.number + part.num_rows) for part in parts])))
        return pa.RecordBatch.from_arrays(columns, schema=self.schema())


def _resume(position: JsonValue, lines: LineRange) -> tuple[int | None, int]:
    if isinstance(position, list):
        offset, number = position
        assert isinstance(offset, int) and isinstance(number, int)
        return offset, number
    assert position is None or isinstance(position, int)
    return position, lines.line


def _strings(parts: Sequence[FileLines]) -> pa.StringArray:
    """Return the lines without their line ends, validated as UTF-8."""
    part = parts[0].lines if len(parts) == 1 else joined_lines([one.lines for one in parts])
    offsets = np.empty(len(part.ends) + 1, np.int32)
    offsets[0] = part.starts[0]
    offsets[1:] = part.ends
    whole = pa.BinaryArray.from_buffers(pa.binary(), len(part.ends), [None, pa.py_buffer(offsets), pa.py_buffer(part.data)])
    lines = pc.binary_slice(whole, 0, -1)
    if part.data.find(b"\r\n", int(offsets[0]), int(offsets[-1])) >= 0:
        lines = pc.if_else(pc.ends_with(lines, b"\r"), pc.binary_slice(lines, 0, -1), lines)
    strings = pa.StringArray.from_buffers(len(lines), lines.buffers()[1], lines.buffers()[2])
    try:
        strings.validate(full=True)
    except pa.ArrowInvalid:
        if len(parts) == 1:
            raise _not_utf8(part, parts[0].file) from None
        return pa.concat_arrays([_strings([one]) for one in parts])  # raises an error that names the file
    return strings


def _not_utf8(part: LineBlock, file: str) -> InputError:
    try:
        part.data[int(part.starts[0]) : int(part.ends[-1])].decode()
    except UnicodeDecodeError as error:
        inside = int(part.starts[0]) + error.start
        line = int(part.starts[np.searchsorted(part.ends, inside, side="right")])
        number = line_number(file, part.offset + line)
        return InputError(
            f"{file}: line {number} is not UTF-8 at byte {part.offset + inside}: {error.reason}. Convert the file to UTF-8."
        )
    raise AssertionError("Arrow rejected text that Python can decode")
