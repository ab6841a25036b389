"""The port to checkpoint storage: a flat space of objects below one root. Paths are relative, with ``/``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class StoredObject:
    path: str
    bytes: int
    modified_ms: int


class CheckpointStorage(Protocol):
    """All methods block, are safe to call from any thread, and raise StorageError (StorageFull where it is that)."""

    def put(self, path: str, data: Sequence[bytes | memoryview]) -> None:
        """Write or replace; durable when it returns (file and directory fsynced where it is a disk)."""
        ...

    def create(self, path: str, data: bytes) -> bool:
        """Write only if absent, atomically. False: there is one already. Raises UnknownOutcome when the answer was lost."""
        ...

    def get(self, path: str) -> memoryview:
        """Raises NotFound."""
        ...

    def list(self, prefix: str) -> list[StoredObject]:
        """All objects whose path begins with ``prefix`` (which ends with ``/`` or is empty), sorted by path."""
        ...

    def delete(self, paths: Sequence[str]) -> None:
        """Absent ones are ignored."""
        ...

    @property
    def url(self) -> str: ...
