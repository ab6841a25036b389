"""Reads files as blocks of whole lines. This module makes splits, reads blocks, and finds line ends with a vectorised search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from weir.connectors.files.file_groups import ListedFile, group_files, group_split
from weir.connectors.files.file_identity import InputFileIdentity, check_unchanged, identity_of
from weir.connectors.files.file_listing import InputFile
from weir.connectors.transient_errors import retry_policy
from weir.errors import InputError
from weir.protocol.codec import to_json
from weir.protocol.ids import CheckpointId
from weir.protocol.snapshots import JsonValue, Split

BLOCK_BYTES = 4 << 20
LINE_BYTES_MAX = 256 << 20
_NEWLINE = 10
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class LineRange:
    """The payload of a split. The split contains all lines of ``file`` that begin in bytes ``[start, end)``.

    ``size`` and ``modified_ns`` are the identity of the file when the file was listed. ``modified_ns`` is None in splits that
    older versions of Weir wrote. ``line`` is the number of the first line (from 1), or 0 if unknown."""

    file: str
    start: int
    end: int
    size: int
    line: int = 0
    modified_ns: int | None = None

    @staticmethod
    def whole(file: ListedFile, *, number_lines: bool = False) -> LineRange:
        return LineRange(file.path, 0, file.bytes, file.bytes, int(number_lines), file.modified_ns)

    def locate(self, position: JsonValue) -> str:
        """Return the place of ``position`` for messages. The position is a byte offset, ``[byte offset, line number]``, or None."""
        match position:
            case [int(), int(number)]:
                return f"line {number:,} of {self.file}"
            case int(offset):
                return f"byte {offset:,} of {self.file}"
        return f"line {self.line:,} of {self.file}" if self.line else f"byte {self.start:,} of {self.file}"


@dataclass(frozen=True, slots=True)
class LineBlock:
    """A block of whole lines. Line i is ``data[starts[i]:ends[i]]``. Every line ends with a newline."""

    data: bytes
    offset: int
    """The offset of ``data[0]`` in the file."""
    starts: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int32]
    next_offset: int
    """The offset in the file of the first line after this block, or the size of the file if no line follows."""

    def slice(self, first: int, last: int) -> LineBlock:
        """Return lines ``[first, last)`` without a copy. The result has the same ``data``, so its ``starts`` and ``ends`` are
        still offsets from ``data[0]``."""
        to_end = last == len(self.ends)
        next_offset = self.next_offset if to_end else self.offset + int(self.ends[last - 1])
        return LineBlock(self.data, self.offset, self.starts[first:last], self.ends[first:last], next_offset)


@dataclass(frozen=True, slots=True)
class FileLines:
    """Consecutive lines of a file. ``number``: the number of the first line (from 1), or 0 if unknown."""

    file: str
    lines: LineBlock
    number: int = 0

    @property
    def num_rows(self) -> int:
        return len(self.lines.ends)

    @property
    def nbytes(self) -> int:
        return int(self.lines.ends[-1] - self.lines.starts[0])


def joined_lines(blocks: Sequence[LineBlock]) -> LineBlock:
    """Return one block with the lines of all blocks, in order. The fields ``offset`` and ``next_offset`` of the result have no
    meaning."""
    pieces = [memoryview(block.data)[int(block.starts[0]) : int(block.ends[-1])] for block in blocks]
    firsts = np.cumsum([0, *(len(piece) for piece in pieces[:-1])]) - [int(block.starts[0]) for block in blocks]
    starts = np.concatenate([block.starts + first for block, first in zip(blocks, firsts, strict=True)])
    ends = np.concatenate([block.ends + first for block, first in zip(blocks, firsts, strict=True)])
    return LineBlock(b"".join(pieces), 0, starts.astype(np.int32), ends.astype(np.int32), 0)


def line_splits(files: Sequence[InputFile], *, split_bytes: int, parallelism: int, number_lines: bool) -> tuple[Split, ...]:
    """Return the splits of all files: groups of small files, and byte ranges of large files. A range has at most
    ``split_bytes`` bytes. If ``number_lines`` is True, this function reads large files to count their lines. Empty files have
    no splits."""
    splits: list[Split] = []
    filled = [file for file in files if file.bytes]
    for file, *more in group_files(filled, split_bytes=split_bytes, parallelism=parallelism):
        if more:
            splits.append(group_split([ListedFile(one.path, one.bytes, one.modified_ns) for one in (file, *more)]))
            continue
        line = 1 if number_lines else 0
        for start in range(0, file.bytes, split_bytes):
            end = min(start + split_bytes, file.bytes)
            # The first line of a range begins after the first newline at or after byte start - 1. A range at offset 0 begins with
            # the first line of the file.
            lines = LineRange(file.path, start, end, file.bytes, line, file.modified_ns)
            splits.append(Split(id=f"{file.path}@{start}", payload=to_json(lines)))
            if number_lines and end < file.bytes:
                # Add the number of lines that begin in this range: one line at offset 0, and one line after each newline in
                # bytes [start - 1, end - 1).
                line += count_newlines(file.path, max(start - 1, 0), end - 1) + (start == 0)
    return tuple(splits)


def count_newlines(path: str, start: int, end: int) -> int:
    """Count the newlines in bytes ``[start, end)`` of the file."""
    total = 0
    with open_input(path) as file:
        file.seek(start)
        while start < end and (data := file.read(min(BLOCK_BYTES, end - start))):
            total += int(np.count_nonzero(np.frombuffer(data, np.uint8) == _NEWLINE))
            start += len(data)
    return total


def open_input(path: str) -> BinaryIO:
    try:
        return open(path, "rb", buffering=0)
    except OSError as error:
        raise InputError(f"{path}: cannot open the input file: {error.strerror}.", retry=retry_policy(error)) from error


def line_blocks(
    lines: LineRange, position: int | None, restored: CheckpointId | None = None, *, block_bytes: int = BLOCK_BYTES
) -> Iterator[LineBlock]:
    """Yield the lines of the range that begin at ``position`` or later. If ``position`` is None, yield all lines of the range.

    ``restored`` is the checkpoint that contains ``position``. Raises InputError if the file cannot be read, or has changed
    since it was listed. Therefore, every yielded block was read from the listed version of the file."""
    with open_input(lines.file) as file:
        try:
            yield from _line_blocks(file, lines, position, restored, block_bytes)
        except OSError as error:
            raise InputError(f"{lines.file}: cannot read the input file: {error.strerror}.", retry=retry_policy(error)) from error


def _line_blocks(
    file: BinaryIO, lines: LineRange, position: int | None, restored: CheckpointId | None, block_bytes: int
) -> Iterator[LineBlock]:
    offset = _first_line(file, lines, block_bytes) if position is None else position
    _check_unchanged(file, lines, restored)
    file.seek(offset)
    unread = lines.size - offset
    carry = b""
    while offset < lines.end:
        fresh = file.read(min(block_bytes, unread))
        unread -= len(fresh)
        _check_unchanged(file, lines, restored)  # check after the read, because the file can change during the read
        if not fresh:
            raise InputError(f"{lines.file}: the file was truncated while the source read it. Input files must not change.")
        data = carry + fresh
        next_offset = offset + len(data)
        if unread == 0 and data[-1] != _NEWLINE:
            data += b"\n"
        ends = np.flatnonzero(np.frombuffer(data, np.uint8) == _NEWLINE).astype(np.int32) + np.int32(1)
        if len(ends) == 0:
            if len(data) > LINE_BYTES_MAX:
                raise InputError(
                    f"{lines.file}: the line at byte {offset} is longer than {LINE_BYTES_MAX >> 20} MiB. Check that the input is text."
                )
            carry = data
            continue
        cut = int(ends[-1])
        carry = data[cut:]
        if carry:
            next_offset = offset + cut
        starts = np.empty_like(ends)
        starts[0] = 3 if offset == 0 and data.startswith(_BYTE_ORDER_MARK) else 0
        starts[1:] = ends[:-1]
        count = int(np.searchsorted(starts, lines.end - offset, side="left"))
        if count:
            yield LineBlock(data, offset, starts, ends, next_offset).slice(0, count)
        offset = next_offset


def _check_unchanged(file: BinaryIO, lines: LineRange, restored: CheckpointId | None) -> None:
    present = identity_of(file.fileno())
    listed = InputFileIdentity(lines.size, lines.modified_ns)
    if lines.modified_ns is None and present.bytes is not None and present.bytes > lines.size:
        return  # the version of Weir that wrote this split accepted files that had grown
    check_unchanged(lines.file, listed, present, restored=restored)


def _first_line(file: BinaryIO, lines: LineRange, block_bytes: int) -> int:
    """Return the offset of the first line that begins at or after ``lines.start``."""
    if lines.start == 0:
        return 0
    offset = lines.start - 1
    file.seek(offset)
    while offset < lines.end and (data := file.read(block_bytes)):
        newline = data.find(b"\n")
        if newline >= 0:
            return offset + newline + 1
        offset += len(data)
    return lines.end


def line_number(path: str, offset: int) -> int:
    """Return the 1-based number of the line at ``offset``. Use this function only for error messages, because it reads the file up
    to ``offset``."""
    return count_newlines(path, 0, offset) + 1
