"""State files: written by subtasks, one writer per attempt at a checkpoint, and read back on restore."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pyarrow as pa

from weir.errors import CheckpointError, NotFound
from weir.protocol.ids import CheckpointId, Generation, OperatorUid
from weir.protocol.snapshots import StateFile
from weir.storage.base import CheckpointStorage
from weir.storage.checksums import checksum
from weir.storage.layout import JobLayout, state_path


class StateWriter:
    """Of one subtask and one checkpoint. ``attempt`` sets its files apart from those of any other try, also of a zombie's.

    May be called from several threads.
    """

    def __init__(
        self,
        storage: CheckpointStorage,
        layout: JobLayout,
        *,
        generation: Generation,
        checkpoint: CheckpointId,
        subtask: int,
        attempt: str,
    ) -> None:
        self._storage = storage
        self._layout = layout
        self._generation = generation
        self._checkpoint = checkpoint
        self._subtask = subtask
        self._attempt = attempt
        self._numbers = itertools.count()

    def put(
        self,
        operator: OperatorUid,
        data: Sequence[memoryview | bytes | pa.Buffer],
        *,
        rows: int,
        key_groups: tuple[int, int] | None,
    ) -> StateFile:
        """Durable when it returns. Raises StorageError (StorageFull where it is that)."""
        parts = [memoryview(part).cast("B") for part in data]
        path = state_path(
            operator,
            generation=self._generation,
            checkpoint=self._checkpoint,
            subtask=self._subtask,
            attempt=f"{self._attempt}.{next(self._numbers)}",
        )
        self._storage.put(self._layout.absolute(path), parts)
        return StateFile(path, sum(part.nbytes for part in parts), checksum(parts), rows, key_groups)


class StateReader:
    """Of one checkpoint."""

    def __init__(self, storage: CheckpointStorage, layout: JobLayout, checkpoint: CheckpointId) -> None:
        self._storage = storage
        self._layout = layout
        self._checkpoint = checkpoint

    def read(self, file: StateFile) -> pa.Buffer:
        """The whole file. Raises CheckpointError if it is missing or is not, byte for byte, what was written."""
        data, problem = examine(self._storage, self._layout, file)
        if data is None:
            raise CheckpointError(
                f"checkpoint {self._checkpoint} cannot be restored: {self._storage.url}/{self._layout.absolute(file.path)} {problem}. "
                "Bring the file back from a backup, or restore another checkpoint with --from"
            )
        return pa.py_buffer(data)


def examine(storage: CheckpointStorage, layout: JobLayout, file: StateFile) -> tuple[memoryview | None, str]:
    """The file's bytes, or None and what is wrong with it."""
    try:
        data = storage.get(layout.absolute(file.path))
    except NotFound:
        return None, "is missing"
    if data.nbytes != file.bytes:
        return None, f"has {data.nbytes} bytes, and {file.bytes} were written"
    found = checksum((data,))
    if found != file.checksum:
        return None, f"is damaged: its checksum is {found}, and it was written with {file.checksum}"
    return data, ""
