"""Checkpoint storage in the memory of one process, for tests. In-memory storage obeys the contract of ``CheckpointStorage``,
except that it is not durable."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from weir.errors import ObjectNotFound
from weir.storage.base import StoredObject, validate_path, validate_prefix


@dataclass(frozen=True, slots=True)
class _Object:
    data: bytes
    modified_ms: int


class MemoryStorage:
    """In-memory storage.

    ``now_ms`` is called for each write and returns its modification time. By default, each write is one millisecond after the
    previous write.
    """

    def __init__(self, now_ms: Callable[[], int] | None = None) -> None:
        self._objects: dict[str, _Object] = {}
        self._lock = threading.Lock()
        self._now_ms = now_ms
        self._writes = 0

    @property
    def url(self) -> str:
        return "memory://"

    def put(self, path: str, data: Sequence[bytes | memoryview]) -> None:
        joined = b"".join(data)
        with self._lock:
            self._objects[validate_path(path)] = self._object(joined)

    def create(self, path: str, data: bytes) -> bool:
        with self._lock:
            if validate_path(path) in self._objects:
                return False
            self._objects[path] = self._object(bytes(data))
            return True

    def get(self, path: str) -> memoryview:
        with self._lock:
            stored = self._objects.get(validate_path(path))
        if stored is None:
            raise ObjectNotFound(f"{path} does not exist in {self.url}")
        return memoryview(stored.data)

    def size(self, path: str) -> int:
        return self.get(path).nbytes

    def get_range(self, path: str, *, offset: int, bytes: int) -> memoryview:
        return self.get(path)[offset : offset + bytes]

    def list(self, prefix: str) -> list[StoredObject]:
        validate_prefix(prefix)
        with self._lock:
            return [
                StoredObject(path, len(stored.data), stored.modified_ms)
                for path, stored in sorted(self._objects.items())
                if path.startswith(prefix)
            ]

    def delete(self, paths: Sequence[str]) -> None:
        with self._lock:
            for path in paths:
                self._objects.pop(validate_path(path), None)

    def _object(self, data: bytes) -> _Object:
        self._writes += 1
        return _Object(data, self._now_ms() if self._now_ms else self._writes)
