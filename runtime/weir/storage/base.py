"""The checkpoint storage interface: a flat set of objects under one root, with valid paths and checksums.

Paths are relative to the root and use ``/``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import xxhash

from weir.errors import StorageError


@dataclass(frozen=True, slots=True)
class StoredObject:
    path: str
    bytes: int
    modified_ms: int


class CheckpointStorage(Protocol):
    """All methods block, may be called from any thread, and raise StorageError (StorageFull if the storage is full)."""

    def put(self, path: str, data: Sequence[bytes | memoryview]) -> None:
        """Write or replace an object. The object is durable on return. A local disk syncs the file and its directory."""
        ...

    def create(self, path: str, data: bytes) -> bool:
        """Create the object atomically, only if it does not exist. Return False if the object exists.

        On return, the object is durable, even if another process has created it. All objects that already existed in the same
        directory are durable, too. Raise UnknownOutcome if it is unknown whether the object exists or whether it is durable: the
        storage's answer was lost, or the directory could not be synced. After UnknownOutcome, the object can be readable, but a
        power cut can still remove the object.
        """
        ...

    def get(self, path: str) -> memoryview:
        """Return the whole object. Raise ObjectNotFound if the object does not exist."""
        ...

    def size(self, path: str) -> int:
        """Return the number of bytes of the object. Raise ObjectNotFound if the object does not exist."""
        ...

    def get_range(self, path: str, *, offset: int, bytes: int) -> memoryview:
        """Return ``bytes`` bytes (at least one) of the object from byte ``offset`` on. The object must contain this range. Raise
        ObjectNotFound if the object does not exist."""
        ...

    def list(self, prefix: str) -> list[StoredObject]:
        """Return all objects whose path starts with ``prefix``, sorted by path. ``prefix`` ends with ``/`` or is empty."""
        ...

    def delete(self, paths: Sequence[str]) -> None:
        """Delete the objects. Ignore objects that do not exist."""
        ...

    @property
    def url(self) -> str: ...


def validate_path(path: str) -> str:
    """Return ``path``.

    Raise StorageError if the path is absolute, leads outside the root or has an empty segment. Paths also come from manifests,
    and a path in a damaged or forged manifest must not lead to files outside the root.
    """
    if any(segment in ("", ".", "..") for segment in path.split("/")) or "\0" in path or "\\" in path:
        raise StorageError(
            f"{path!r} is not a path in checkpoint storage. A path is relative and has no '.', '..' or empty segment."
        )
    return path


def validate_prefix(prefix: str) -> str:
    """Return ``prefix``, which is empty or a valid path followed by ``/``. Raise StorageError as ``validate_path`` does."""
    if prefix:
        assert prefix.endswith("/"), f"the prefix {prefix!r} of a listing must end with /"
        validate_path(prefix[:-1])
    return prefix


def checksum(data: Iterable[bytes | memoryview]) -> str:
    """Return ``xxh3:<32 hex digits>``: XXH3, 128 bits, over the concatenation of the parts.

    The checksum detects accidental damage, but does not protect against forgery.
    """
    digest = xxhash.xxh3_128()
    for part in data:
        digest.update(part)
    return checksum_text(digest)


def checksum_text(digest: xxhash.xxh3_128) -> str:
    """Return the digest in the format of ``checksum``."""
    return f"xxh3:{digest.hexdigest()}"
