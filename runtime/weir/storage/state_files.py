"""State files: subtasks write them for each checkpoint attempt and read them on restore."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from weir.errors import CheckpointError, ObjectNotFound
from weir.protocol.ids import CheckpointId, Generation, OperatorUid, SubtaskId
from weir.protocol.snapshots import StateFile
from weir.storage.base import CheckpointStorage, checksum
from weir.storage.layout import JobLayout, is_pack, pack_path, state_path

PART_BYTES_MAX = 8 << 20
"""Verification reads a separate object in parts of at most this size, because a state file can be larger than memory."""
PACKED_BYTES_MAX = 4 << 20
"""A file larger than this becomes a separate object. Smaller files share objects of up to about this size, because creating an
object (two fsyncs, or a request to a store) costs more than writing its bytes."""
ALIGNMENT = 64
"""The offset of each file in a pack is a multiple of this, as Arrow recommends for its buffers."""


_numbers = itertools.count()
"""A counter for the names of all objects of this process. Names need a number because a slot can write its part of a checkpoint
in several steps."""


class StateFiles:
    """Writes the state files of one slot for one checkpoint attempt, or for a part of it. Instances with the same ``numbers`` never
    share an object. By default, these are all instances of the process.

    ``attempt`` distinguishes the files from those of any other process, including a zombie. Used by one thread.
    """

    def __init__(
        self,
        storage: CheckpointStorage,
        layout: JobLayout,
        *,
        generation: Generation,
        checkpoint: CheckpointId,
        attempt: str,
        numbers: Iterator[int] = _numbers,
    ) -> None:
        self._storage = storage
        self._layout = layout
        self._generation = generation
        self._checkpoint = checkpoint
        self._attempt = attempt
        self._numbers = numbers
        self._pack: _Pack | None = None
        self._failure: Exception | None = None
        """The error that prevented storing an object, if any.

        Later calls raise this error again, because the subtasks whose files are in the object have already continued.
        """

    def writer(self, subtask: SubtaskId) -> StateWriter:
        return StateWriter(self, subtask)

    def put(self, data: Sequence[memoryview], *, operator: OperatorUid, subtask: int) -> tuple[str, int]:
        """Add a file. Return the file's path and offset. Raise StorageError (StorageFull if the storage is full)."""
        size = sum(part.nbytes for part in data)
        if size > PACKED_BYTES_MAX:
            path = state_path(
                operator, generation=self._generation, checkpoint=self._checkpoint, subtask=subtask, attempt=self._next_attempt()
            )
            self._storage.put(self._layout.absolute(path), data)
            return path, 0
        if self._pack is not None and self._pack.bytes + size > PACKED_BYTES_MAX:
            self.flush()
        if self._pack is None:
            path = pack_path(generation=self._generation, checkpoint=self._checkpoint, attempt=self._next_attempt())
            self._pack = _Pack(path, [])
        return self._pack.path, self._pack.add(data, size)

    def flush(self) -> None:
        """Store all files added so far, so that they are durable on return. If storing fails, raise StorageError, and raise the
        same error on every later call."""
        if self._failure is not None:
            raise self._failure
        pack, self._pack = self._pack, None
        if pack is None:
            return
        try:
            self._storage.put(self._layout.absolute(pack.path), pack.parts)
        except Exception as error:
            self._failure = error
            raise

    def _next_attempt(self) -> str:
        return f"{self._attempt}.{next(self._numbers)}"


@dataclass(slots=True)
class _Pack:
    path: str
    parts: list[memoryview]
    bytes: int = 0

    def add(self, data: Sequence[memoryview], size: int) -> int:
        """Add a file and return its offset."""
        gap = -self.bytes % ALIGNMENT
        if gap:
            self.parts.append(memoryview(bytes(gap)))
        offset = self.bytes + gap
        self.parts.extend(data)
        self.bytes = offset + size
        return offset


class StateWriter:
    """The SnapshotWriter of one subtask."""

    def __init__(self, files: StateFiles, subtask: SubtaskId) -> None:
        self._files = files
        self._subtask = subtask

    def put(
        self,
        operator: OperatorUid,
        data: Sequence[memoryview | bytes | pa.Buffer],
        *,
        rows: int,
        key_groups: tuple[int, int] | None,
    ) -> StateFile:
        parts = [memoryview(part).cast("B") for part in data]
        path, offset = self._files.put(parts, operator=operator, subtask=self._subtask.index)
        return StateFile(path, sum(part.nbytes for part in parts), checksum(parts), rows, key_groups, offset)


class StateReader:
    """Reads the state files of one checkpoint. Used by one thread."""

    def __init__(self, storage: CheckpointStorage, layout: JobLayout, checkpoint: CheckpointId) -> None:
        self._files = StateFileChecker(storage, layout)
        self._checkpoint = checkpoint

    def read(self, file: StateFile) -> pa.Buffer:
        """Return the whole file. Raise CheckpointError if the file is missing or its checksum does not match."""
        data, problem = self._files.check(file)
        if data is None:
            raise CheckpointError(
                f"Cannot restore checkpoint {self._checkpoint}: {self._files.url_of(file)} {problem}. "
                "Restore the file from a backup, or restore another checkpoint with --from."
            )
        return pa.py_buffer(data)


class StateFileChecker:
    """Reads state files and compares them with their checksums. Used by one thread."""

    def __init__(self, storage: CheckpointStorage, layout: JobLayout) -> None:
        self._storage = storage
        self._layout = layout
        self._last: tuple[str, memoryview] | None = None
        """The last pack that was read. The next file is usually in the same pack."""

    def url_of(self, file: StateFile) -> str:
        return f"{self._storage.url}/{self._layout.absolute(file.path)}"

    def check(self, file: StateFile) -> tuple[memoryview | None, str]:
        """Return (the file's bytes, ""), or (None, the problem). The problem is worded to follow the file's name in a sentence,
        such as "is missing"."""
        try:
            stored = self._object(file.path)
        except ObjectNotFound:
            return None, "is missing"
        data = stored[file.offset : file.offset + file.bytes]
        problem = _wrong_size(file, stored.nbytes) or _wrong_checksum(file, (data,))
        return (None if problem else data), problem

    def verify(self, file: StateFile) -> str:
        """Return the problem of the file as a predicate, or "" if the file is intact. A file of any size needs little memory."""
        if is_pack(file.path):
            return self.check(file)[1]
        path = self._layout.absolute(file.path)
        parts = (
            self._storage.get_range(path, offset=offset, bytes=min(PART_BYTES_MAX, file.bytes - offset))
            for offset in range(0, file.bytes, PART_BYTES_MAX)
        )
        try:
            return _wrong_size(file, self._storage.size(path)) or _wrong_checksum(file, parts)
        except ObjectNotFound:
            return "is missing"

    def _object(self, path: str) -> memoryview:
        if self._last is not None and self._last[0] == path:
            return self._last[1]
        self._last = None
        data = self._storage.get(self._layout.absolute(path))
        if is_pack(path):
            self._last = (path, data)
        return data


def _wrong_size(file: StateFile, stored_bytes: int) -> str:
    """``stored_bytes``: the size of the object that contains the file."""
    end, packed = file.offset + file.bytes, is_pack(file.path)
    if stored_bytes >= end if packed else stored_bytes == end:
        return ""
    return f"has {stored_bytes} bytes, but {'at least ' if packed else ''}{end} were written"


def _wrong_checksum(file: StateFile, parts: Iterable[memoryview]) -> str:
    actual = checksum(parts)
    if actual == file.checksum:
        return ""
    where = f" at byte {file.offset}" if is_pack(file.path) else ""
    return f"is damaged{where}: its checksum is {actual}, but {file.checksum} was written"
