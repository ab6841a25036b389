"""Checkpoint storage in the memory of one process: the real contract, nothing durable. For tests and trials."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from weir.errors import NotFound
from weir.storage.base import StoredObject
from weir.storage.paths import checked, checked_prefix


@dataclass(frozen=True, slots=True)
class _Object:
    data: bytes
    modified_ms: int


class MemoryStorage:
    """``now_ms`` dates the objects; without one each write is a millisecond after the one before."""

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
            self._objects[checked(path)] = self._object(joined)

    def create(self, path: str, data: bytes) -> bool:
        with self._lock:
            if checked(path) in self._objects:
                return False
            self._objects[path] = self._object(bytes(data))
            return True

    def get(self, path: str) -> memoryview:
        with self._lock:
            found = self._objects.get(checked(path))
        if found is None:
            raise NotFound(f"there is no {path} in {self.url}")
        return memoryview(found.data)

    def list(self, prefix: str) -> list[StoredObject]:
        checked_prefix(prefix)
        with self._lock:
            return [
                StoredObject(path, len(found.data), found.modified_ms)
                for path, found in sorted(self._objects.items())
                if path.startswith(prefix)
            ]

    def delete(self, paths: Sequence[str]) -> None:
        with self._lock:
            for path in paths:
                self._objects.pop(checked(path), None)

    def _object(self, data: bytes) -> _Object:
        self._writes += 1
        return _Object(data, self._now_ms() if self._now_ms else self._writes)
