"""Groups of small files. A group is one split, so that a job with 100,000 small files has some hundred splits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

import pyarrow as pa

from weir.connectors.files.file_listing import InputFile
from weir.operators.batch_slicing import BATCH_BYTES
from weir.protocol.codec import from_json, to_json
from weir.protocol.ids import CheckpointId
from weir.protocol.snapshots import JsonValue, Split

FILES_MAX = 256
"""The maximum number of files in a group."""
BYTES_MAX = 4 << 20
"""The maximum size of the files in a group together. A larger file is not in a group."""
SPLITS_PER_SUBTASK = 64
"""Files are grouped only if each subtask still gets about this number of splits, so that all subtasks end at about the same time."""
MERGE_NS = 100_000_000
"""The rows of several files are merged into one batch for at most this time."""
Batches = Iterator[tuple[pa.RecordBatch, JsonValue]]
"""Batches, each with the position after its last record."""
_Part = TypeVar("_Part")


class Rows(Protocol):
    """Rows of one file that are not a batch yet, or a batch."""

    @property
    def num_rows(self) -> int: ...

    @property
    def nbytes(self) -> int: ...


_Rows = TypeVar("_Rows", bound=Rows)


class ListedFile(NamedTuple):
    """A file and its identity when it was listed (see ``InputFileIdentity``)."""

    path: str
    bytes: int
    modified_ns: int | None
    footer: str | None = None


@dataclass(frozen=True, slots=True)
class FileGroup:
    """The payload of a split that consists of whole files, in the order of the listing."""

    files: tuple[ListedFile, ...]


@dataclass(frozen=True, slots=True)
class GroupPosition:
    """The position in a group. ``files_read``: the number of files that are read to their end. ``position``: the position in the next
    file, or None if no record of this file was emitted."""

    files_read: int
    position: JsonValue = None

    def to_json(self) -> JsonValue:
        return {"files_read": self.files_read} | ({} if self.position is None else {"position": self.position})


def group_files(files: Sequence[InputFile], *, split_bytes: int, parallelism: int) -> Iterator[Sequence[InputFile]]:
    """Yield neighbouring small files as groups, and each other file by itself. All files keep their order."""
    files_max = max(1, min(FILES_MAX, len(files) // (SPLITS_PER_SUBTASK * max(parallelism, 1))))
    bytes_max = min(BYTES_MAX, split_bytes)
    group: list[InputFile] = []
    size = 0
    for file in files:
        if group and (len(group) == files_max or size + file.bytes > bytes_max):
            yield group
            group, size = [], 0
        group.append(file)
        size += file.bytes
    if group:
        yield group


def group_split(files: Sequence[ListedFile]) -> Split:
    return Split(id=f"{files[0].path} and {len(files) - 1} more files", payload=to_json(FileGroup(tuple(files))))


def read_split(
    split: Split,
    batch_rows: int,
    restored: CheckpointId | None,
    *,
    kind: type[_Part],
    whole_file: Callable[[ListedFile], _Part],
    read: Callable[[_Part, JsonValue, int, CheckpointId | None], Iterator[tuple[_Rows, JsonValue]]],
    merge: Callable[[Sequence[_Rows]], pa.RecordBatch],
) -> Batches:
    """Read a split, which is a group of files or a part of one file. ``kind``: the payload of a part. ``read`` takes a part, the
    position in it, the maximum number of rows of a batch, and the checkpoint that contains the position. ``merge`` makes one batch of
    the rows of several small files, because each batch has a fixed cost in every operator of the job."""
    if not (isinstance(split.payload, dict) and "files" in split.payload):
        for rows, position in read(from_json(kind, split.payload), split.position, batch_rows, restored):
            batch = merge([rows])
            if batch.num_rows:
                yield batch, position
        return
    files = from_json(FileGroup, split.payload).files
    at = GroupPosition(0) if split.position is None else from_json(GroupPosition, split.position)
    waiting: list[_Rows] = []
    count = size = 0
    until_ns = time.monotonic_ns() + MERGE_NS
    for number in range(at.files_read, len(files)):
        checkpoint = None if at.position is None else restored
        for rows, position in read(whole_file(files[number]), at.position, batch_rows, checkpoint):
            full = count + rows.num_rows > batch_rows or size + rows.nbytes > BATCH_BYTES
            if waiting and (full or time.monotonic_ns() >= until_ns):
                batch = merge(waiting)
                if batch.num_rows:
                    yield batch, at.to_json()
                waiting, count, size, until_ns = [], 0, 0, time.monotonic_ns() + MERGE_NS
            waiting.append(rows)
            count, size = count + rows.num_rows, size + rows.nbytes
            at = GroupPosition(number, position)
        at = GroupPosition(number + 1)
    batch = merge(waiting) if waiting else None
    if batch is not None and batch.num_rows:
        yield batch, at.to_json()


def merge_batches(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)
