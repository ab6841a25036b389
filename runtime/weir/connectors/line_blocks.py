"""Line-aligned pieces of files: splitting, reading in blocks, finding lines by vectorised search."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from weir.connectors.file_listing import InputFile
from weir.connectors.transient import retry_after
from weir.errors import InputError
from weir.protocol.codec import from_json
from weir.protocol.snapshots import Split

BLOCK_BYTES = 4 << 20
LINE_BYTES_MAX = 256 << 20
_NEWLINE = 10
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class LineRange:
    """Payload of a split: the lines of ``file`` that begin in bytes ``[start, end)``.

    ``size``: of the file when it was listed. ``line``: 1-based number of the first line; 0 where nobody asked for it."""

    file: str
    start: int
    end: int
    size: int
    line: int = 0

    @staticmethod
    def of(split: Split) -> LineRange:
        return from_json(LineRange, split.payload)


@dataclass(frozen=True, slots=True)
class LineBlock:
    """Whole lines. Line i is ``data[starts[i]:ends[i]]`` with its newline (every line here has one)."""

    data: bytes
    offset: int
    """Of ``data[0]`` in the file."""
    starts: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int32]
    next_offset: int
    """Where the first line after this block begins in the file (the file's size at its end)."""

    def piece(self, first: int, last: int) -> LineBlock:
        """Lines ``[first, last)``; shares memory, ``starts`` and ``ends`` still count from ``data[0]``."""
        whole = last == len(self.ends)
        after = self.next_offset if whole else self.offset + int(self.ends[last - 1])
        return LineBlock(self.data, self.offset, self.starts[first:last], self.ends[first:last], after)


def line_splits(files: Sequence[InputFile], *, split_bytes: int, number_lines: bool) -> tuple[Split, ...]:
    """Byte ranges of at most ``split_bytes``. ``number_lines`` reads every file once, to count."""
    splits: list[Split] = []
    for file in files:
        line = 1 if number_lines else 0
        for start in range(0, file.bytes, split_bytes):
            end = min(start + split_bytes, file.bytes)
            # The first line of a range begins after the newline at or after start - 1.
            payload = {"file": file.path, "start": start, "end": end, "size": file.bytes, "line": line}
            splits.append(Split(id=f"{file.path}@{start}", payload=payload))  # type: ignore[arg-type]  # str and int join to object
            if number_lines and end < file.bytes:
                # All lines that begin before ``end``: the one at 0, and those after a newline before end - 1.
                line += count_newlines(file.path, max(start - 1, 0), end - 1) + (start == 0)
    return tuple(splits)


def count_newlines(path: str, start: int, end: int) -> int:
    """In bytes ``[start, end)`` of the file."""
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
        raise InputError(f"{path}: cannot be opened ({error.strerror})", retry=retry_after(error)) from error


def line_blocks(lines: LineRange, position: int | None, *, block_bytes: int = BLOCK_BYTES) -> Iterator[LineBlock]:
    """The range's lines from ``position`` (the beginning of a line) or its start on. Raises InputError."""
    with open_input(lines.file) as file:
        try:
            yield from _line_blocks(file, lines, position, block_bytes)
        except OSError as error:
            raise InputError(f"{lines.file}: cannot be read ({error.strerror})", retry=retry_after(error)) from error


def _line_blocks(file: BinaryIO, lines: LineRange, position: int | None, block_bytes: int) -> Iterator[LineBlock]:
    present = os.fstat(file.fileno()).st_size
    if present < lines.size:
        raise InputError(
            f"{lines.file}: has {present} bytes now, {lines.size} when it was listed; input must not be cut while it is read"
        )
    offset = _first_line(file, lines, block_bytes) if position is None else position
    file.seek(offset)
    unread = lines.size - offset
    carry = b""
    while offset < lines.end:
        fresh = file.read(min(block_bytes, unread))
        unread -= len(fresh)
        if not fresh:
            raise InputError(f"{lines.file}: was cut while it was read; input must not change")
        data = carry + fresh
        next_offset = offset + len(data)
        if unread == 0 and data[-1] != _NEWLINE:
            data += b"\n"
        ends = np.flatnonzero(np.frombuffer(data, np.uint8) == _NEWLINE).astype(np.int32) + np.int32(1)
        if len(ends) == 0:
            if len(data) > LINE_BYTES_MAX:
                raise InputError(
                    f"{lines.file}: the line at byte {offset} is longer than {LINE_BYTES_MAX >> 20} MiB; is this a text file?"
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
            yield LineBlock(data, offset, starts, ends, next_offset).piece(0, count)
        offset = next_offset


def _first_line(file: BinaryIO, lines: LineRange, block_bytes: int) -> int:
    """Offset of the first line that begins at or after ``lines.start``."""
    if lines.start == 0:
        return 0
    offset = lines.start - 1
    file.seek(offset)
    while offset < lines.end and (data := file.read(block_bytes)):
        found = data.find(b"\n")
        if found >= 0:
            return offset + found + 1
        offset += len(data)
    return lines.end


def line_number(path: str, offset: int) -> int:
    """1-based number of the line that begins at ``offset``; reads the file up to there, so for error messages only."""
    return count_newlines(path, 0, offset) + 1
