"""Groups of small files. Each group is one split, so a job with 100,000 small files has only several hundred splits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

import pyarrow as pa

from weir.connectors.files.file_listing import InputFile
from weir.operators.batch_slicing import BATCH_BYTES
from weir.protocol.codec import from_json, to_json
from weir.protocol.ids import CheckpointId
from weir.protocol.snapshots import JsonValue, Split

FILES_MAX = 256
"""The maximum number of files in a group."""
BYTES_MAX = 4 << 20
"""The maximum total size of the files in a group, in bytes. A larger file is never in a group with other files."""
SPLITS_PER_SUBTASK = 64
"""The approximate minimum number of splits per subtask. If there are few files, the groups are smaller, so that each subtask
still gets about SPLITS_PER_SUBTASK splits. With many splits, all subtasks end at about the same time."""
MERGE_NS = 100_000_000
"""The maximum time in which rows of several files are collected for one batch, in nanoseconds."""
Batches = Iterator[tuple[pa.RecordBatch, JsonValue]]
"""Batches, each with the position after its last record."""
_Part = TypeVar("_Part")


class Rows(Protocol):
    """Rows of one file, either as a batch or in a form that ``merge`` converts to a batch."""

    @property
    def num_rows(self) -> int: ...

    @property
    def nbytes(self) -> int: ...


_Rows = TypeVar("_Rows", bound=Rows)


class ListedFile(NamedTuple):
    """A file, with its identity at the time of the listing (see ``InputFileIdentity``)."""

    path: str
    bytes: int
    modified_ns: int | None
    footer: str | None = None


@dataclass(frozen=True, slots=True)
class FileGroup:
    """The payload of a split that is a group of files. The files are in the order of the listing."""

    files: tuple[ListedFile, ...]


@dataclass(frozen=True, slots=True)
class GroupPosition:
    """The position in a group. ``files_read``: the number of files that were read to the end. ``position``: the position in the
    next file, or None if no record of that file was emitted."""

    files_read: int
    position: JsonValue = None

    def to_json(self) -> JsonValue:
        return {"files_read": self.files_read} | ({} if self.position is None else {"position": self.position})


def group_files(files: Sequence[InputFile], *, split_bytes: int, parallelism: int) -> Iterator[Sequence[InputFile]]:
    """Yield groups of adjacent small files. A large file is a group by itself. The files keep their order."""
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


@dataclass(frozen=True, slots=True)
class SplitFormat(Generic[_Part, _Rows]):
    """Reads splits, each of which is a group of files or a part of one file.

    ``kind`` is the class of a part's payload. ``whole_file`` returns the payload for a whole file. ``read_part`` takes a part, the
    position in the part, the maximum number of rows of a batch, and the checkpoint that contains the position. ``merge``
    combines rows of several small files into one batch, because each batch has a fixed cost in every operator of the job.
    ``locate_in`` takes a part and a position, and returns the place of the position, for messages."""

    kind: type[_Part]
    whole_file: Callable[[ListedFile], _Part]
    read_part: Callable[[_Part, JsonValue, int, CheckpointId | None], Iterator[tuple[_Rows, JsonValue]]]
    merge: Callable[[Sequence[_Rows]], pa.RecordBatch]
    locate_in: Callable[[_Part, JsonValue], str]

    def read(self, split: Split, batch_rows: int, restored: CheckpointId | None) -> Batches:
        if not _is_group(split):
            for rows, position in self.read_part(from_json(self.kind, split.payload), split.position, batch_rows, restored):
                batch = self.merge([rows])
                if batch.num_rows:
                    yield batch, position
            return
        files, at = _group(split)
        waiting: list[_Rows] = []
        count = size = 0
        until_ns = time.monotonic_ns() + MERGE_NS
        for number in range(at.files_read, len(files)):
            checkpoint = None if at.position is None else restored
            for rows, position in self.read_part(self.whole_file(files[number]), at.position, batch_rows, checkpoint):
                full = count + rows.num_rows > batch_rows or size + rows.nbytes > BATCH_BYTES
                if waiting and (full or time.monotonic_ns() >= until_ns):
                    batch = self.merge(waiting)
                    if batch.num_rows:
                        yield batch, at.to_json()
                    waiting, count, size, until_ns = [], 0, 0, time.monotonic_ns() + MERGE_NS
                waiting.append(rows)
                count, size = count + rows.num_rows, size + rows.nbytes
                at = GroupPosition(number, position)
            at = GroupPosition(number + 1)
        batch = self.merge(waiting) if waiting else None
        if batch is not None and batch.num_rows:
            yield batch, at.to_json()

    def locate(self, split: Split) -> str:
        """See ``SourceOperator.locate``."""
        if not _is_group(split):
            return self.locate_in(from_json(self.kind, split.payload), split.position)
        files, at = _group(split)
        return self.locate_in(self.whole_file(files[at.files_read]), at.position)


def _is_group(split: Split) -> bool:
    return isinstance(split.payload, dict) and "files" in split.payload


def _group(split: Split) -> tuple[tuple[ListedFile, ...], GroupPosition]:
    at = GroupPosition(0) if split.position is None else from_json(GroupPosition, split.position)
    return from_json(FileGroup, split.payload).files, at


def merge_batches(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)
