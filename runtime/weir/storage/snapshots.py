"""State files: written by the subtasks of a slot, anew for each attempt at a checkpoint, and read back on restore."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from weir.errors import CheckpointError, NotFound
from weir.protocol.ids import CheckpointId, Generation, OperatorUid, SubtaskId
from weir.protocol.snapshots import StateFile
from weir.storage.base import CheckpointStorage
from weir.storage.checksums import checksum
from weir.storage.layout import JobLayout, is_pack, pack_path, state_path

PACKED_BYTES_MAX = 4 << 20
"""A larger file becomes an object of its own. Smaller ones share objects up to about this size: what an object costs (two
fsyncs, a request to a store) would be more than writing its bytes."""
ALIGNMENT = 64
"""Files in a pack begin at multiples of it, as Arrow recommends for its buffers."""


_numbers = itertools.count()
"""Of all objects that this process writes: a slot may write its part of one checkpoint in several goes."""


class StateFiles:
    """Of one slot and one attempt at a checkpoint, or of a part of it: no two of one process share an object.

    ``attempt`` sets its files apart from those of any other process, also of a zombie. Used by one thread.
    """

    def __init__(
        self, storage: CheckpointStorage, layout: JobLayout, *, generation: Generation, checkpoint: CheckpointId, attempt: str
    ) -> None:
        self._storage = storage
        self._layout = layout
        self._generation = generation
        self._checkpoint = checkpoint
        self._attempt = attempt
        self._pack: _Pack | None = None
        self._lost: Exception | None = None
        """Why an object was not stored that files were put into, whose writers have gone on since."""

    def writer(self, subtask: SubtaskId) -> StateWriter:
        return StateWriter(self, subtask)

    def put(self, data: Sequence[memoryview], *, operator: OperatorUid, subtask: int) -> tuple[str, int]:
        """Path and offset. Raises StorageError (StorageFull where it is that)."""
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
        """All that was put is durable when it returns. Raises StorageError, from then on each time."""
        if self._lost is not None:
            raise self._lost
        pack, self._pack = self._pack, None
        if pack is None:
            return
        try:
            self._storage.put(self._layout.absolute(pack.path), pack.parts)
        except Exception as error:
            self._lost = error
            raise

    def _next_attempt(self) -> str:
        return f"{self._attempt}.{next(_numbers)}"


@dataclass(slots=True)
class _Pack:
    path: str
    parts: list[memoryview]
    bytes: int = 0

    def add(self, data: Sequence[memoryview], size: int) -> int:
        """The offset."""
        gap = -self.bytes % ALIGNMENT
        if gap:
            self.parts.append(memoryview(bytes(gap)))
        offset = self.bytes + gap
        self.parts.extend(data)
        self.bytes = offset + size
        return offset


class StateWriter:
    """A SnapshotWriter: of one subtask."""

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
    """Of one checkpoint. Used by one thread."""

    def __init__(self, storage: CheckpointStorage, layout: JobLayout, checkpoint: CheckpointId) -> None:
        self._files = ExaminedFiles(storage, layout)
        self._checkpoint = checkpoint

    def read(self, file: StateFile) -> pa.Buffer:
        """The whole file. Raises CheckpointError if it is missing or is not, byte for byte, what was written."""
        data, problem = self._files.examine(file)
        if data is None:
            raise CheckpointError(
                f"checkpoint {self._checkpoint} cannot be restored: {self._files.url_of(file)} {problem}. "
                "Bring the file back from a backup, or restore another checkpoint with --from"
            )
        return pa.py_buffer(data)


class ExaminedFiles:
    """Reads state files and compares them with what was written. Used by one thread."""

    def __init__(self, storage: CheckpointStorage, layout: JobLayout) -> None:
        self._storage = storage
        self._layout = layout
        self._last: tuple[str, memoryview] | None = None
        """The pack read last: its other files are asked for next."""

    def url_of(self, file: StateFile) -> str:
        return f"{self._storage.url}/{self._layout.absolute(file.path)}"

    def examine(self, file: StateFile) -> tuple[memoryview | None, str]:
        """The file's bytes, or None and what is wrong with it."""
        try:
            held = self._object(file.path)
        except NotFound:
            return None, "is missing"
        data = held[file.offset : file.offset + file.bytes]
        packed = is_pack(file.path)
        if data.nbytes != file.bytes or (not packed and held.nbytes != file.bytes):
            end = file.offset + file.bytes
            return None, f"has {held.nbytes} bytes, and {'at least ' if packed else ''}{end} were written"
        found = checksum((data,))
        if found != file.checksum:
            where = f" from byte {file.offset} on" if packed else ""
            return None, f"is damaged{where}: its checksum is {found}, and it was written with {file.checksum}"
        return data, ""

    def _object(self, path: str) -> memoryview:
        if self._last is not None and self._last[0] == path:
            return self._last[1]
        self._last = None
        data = self._storage.get(self._layout.absolute(path))
        if is_pack(path):
            self._last = (path, data)
        return data
