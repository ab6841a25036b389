"""Checkpoint storage in an object store: S3, Google Cloud Storage, Azure, or a compatible store."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    NotSupportedError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)
from obstore.store import from_url

from weir.errors import ConfigError, ObjectNotFound, StorageError, UnknownOutcome
from weir.storage.base import StoredObject, validate_path, validate_prefix

SINGLE_PUT_BYTES_MAX = 8 * 1024 * 1024
"""An object larger than this is uploaded in parts, and becomes visible after the last part."""
_REFUSED = (PermissionDeniedError, UnauthenticatedError, NotSupportedError)
_FORBIDDEN = re.compile(r"non-2xx status code: 40[13]")
_CLIENT_ERROR = re.compile(r"non-2xx status code: 4(?!08|09|29)\d\d")


class ObjectStorage:
    """An object store as checkpoint storage. ``options`` are the store's settings (``endpoint``, ``region``, ...). Settings
    that ``options`` does not contain come from environment variables.

    When the network fails, the client retries reads, and also writes that may overwrite an object (``put``). The client never
    retries ``create``. A retry could find the object that the first attempt has created, and would report that another process
    has created the object.

    Users cannot set the timeouts of requests. After a failed request, the caller retries the write of a log entry, declines the
    checkpoint, or restarts the job.
    """

    def __init__(self, url: str, options: Mapping[str, str] | None = None, *, create_timeout_s: float = 20.0) -> None:
        self._url = url.rstrip("/")
        settings: Any = dict(options or {})
        try:
            self._store: Any = from_url(
                url,
                config=settings,
                client_options={"allow_http": True, "connect_timeout": timedelta(seconds=5), "timeout": timedelta(minutes=5)},
                retry_config={"max_retries": 5, "retry_timeout": timedelta(seconds=60)},
            )
            timeout = timedelta(seconds=create_timeout_s)
            self._store_without_retries: Any = from_url(
                url,
                config=settings,
                client_options={"allow_http": True, "connect_timeout": min(timeout, timedelta(seconds=5)), "timeout": timeout},
                retry_config={"max_retries": 0},
            )
        except (BaseError, ValueError) as error:
            raise ConfigError(f"Cannot use {url} as checkpoint storage: {_first_line(error)}") from error

    @property
    def url(self) -> str:
        return self._url

    def put(self, path: str, data: Sequence[bytes | memoryview]) -> None:
        parts = [memoryview(part).cast("B") for part in data]
        small = sum(part.nbytes for part in parts) <= SINGLE_PUT_BYTES_MAX
        with self._errors("write", path, writes=True):
            if small:
                obstore.put(self._store, validate_path(path), b"".join(parts), use_multipart=False)
            else:
                obstore.put(self._store, validate_path(path), iter(parts))

    def create(self, path: str, data: bytes) -> bool:
        with self._errors("create", path, writes=True):
            try:
                obstore.put(self._store_without_retries, validate_path(path), data, mode="create", use_multipart=False)
            except (AlreadyExistsError, PreconditionError):
                return False
            return True

    def get(self, path: str) -> memoryview:
        with self._errors("read", path):
            return memoryview(obstore.get(self._store, validate_path(path)).bytes()).cast("B")

    def size(self, path: str) -> int:
        with self._errors("read", path):
            return int(obstore.head(self._store, validate_path(path))["size"])

    def get_range(self, path: str, *, offset: int, bytes: int) -> memoryview:
        with self._errors("read", path):
            return memoryview(obstore.get_range(self._store, validate_path(path), start=offset, length=bytes)).cast("B")

    def list(self, prefix: str) -> list[StoredObject]:
        objects: list[StoredObject] = []
        with self._errors("list", validate_prefix(prefix)):
            for chunk in obstore.list(self._store, prefix=prefix or None):
                objects += [
                    StoredObject(entry["path"], entry["size"], int(entry["last_modified"].timestamp() * 1000)) for entry in chunk
                ]
        return sorted(objects, key=lambda entry: entry.path)

    def delete(self, paths: Sequence[str]) -> None:
        if not paths:
            return
        with self._errors("delete", paths[0]):
            try:
                obstore.delete(self._store, [validate_path(path) for path in paths])
            except FileNotFoundError:
                # Some stores fail if one of the objects does not exist, and do not report which objects they have deleted.
                for path in paths:
                    with contextlib.suppress(FileNotFoundError):
                        obstore.delete(self._store, path)

    @contextlib.contextmanager
    def _errors(self, action: str, path: str, *, writes: bool = False) -> Iterator[None]:
        location = f"{self._url}/{path}"
        try:
            yield
        except (BaseError, ValueError, OSError) as error:
            raise _translated(error, action, location, writes=writes) from error


def _translated(error: Exception, action: str, location: str, *, writes: bool) -> StorageError:
    absent = isinstance(error, FileNotFoundError)
    if "NoSuchBucket" in str(error) or (absent and writes):
        return StorageError(f"cannot {action} {location}: the bucket does not exist. Create the bucket, or correct the URL.")
    if absent:
        return ObjectNotFound(f"{location} does not exist")
    reason = _first_line(error)
    if isinstance(error, _REFUSED) or _FORBIDDEN.search(str(error)):
        return StorageError(f"cannot {action} {location}: {reason}. Check the credentials and their permissions.")
    if writes and not isinstance(error, ValueError) and not _CLIENT_ERROR.search(str(error)):
        return UnknownOutcome(f"{location} may or may not have been written: {reason}")
    return StorageError(f"cannot {action} {location}: {reason}. Check the URL and that the store is reachable.")


def _first_line(error: BaseException) -> str:
    return str(error).split("\n", 1)[0].strip()
