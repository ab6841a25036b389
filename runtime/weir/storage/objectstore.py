"""Checkpoint storage in an object store: S3, Google Cloud Storage, Azure, or anything that speaks like one of them."""

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

from weir.errors import ConfigError, NotFound, StorageError, UnknownOutcome
from weir.storage.base import StoredObject
from weir.storage.paths import checked, checked_prefix

SINGLE_PUT_BYTES_MAX = 8 * 1024 * 1024
"""What is larger goes up in parts, which become visible together."""
_REFUSED = (PermissionDeniedError, UnauthenticatedError, NotSupportedError)
_FORBIDDEN = re.compile(r"non-2xx status code: 40[13]")
_CLIENT_ERROR = re.compile(r"non-2xx status code: 4(?!08|09|29)\d\d")


class ObjectStorage:
    """``options`` are settings of the store (``endpoint``, ``region``, ...); what is not given comes from the environment.

    Reads and overwriting puts are repeated by the client when the network fails; a create never is, as
    its repetition would find the object of the first try and take it for somebody else's.
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
            raise ConfigError(f"{url} is no checkpoint storage that can be used: {_first_line(error)}") from error

    @property
    def url(self) -> str:
        return self._url

    def put(self, path: str, data: Sequence[bytes | memoryview]) -> None:
        parts = [memoryview(part).cast("B") for part in data]
        small = sum(part.nbytes for part in parts) <= SINGLE_PUT_BYTES_MAX
        with self._errors("write", path, writes=True):
            if small:
                obstore.put(self._store, checked(path), b"".join(parts), use_multipart=False)
            else:
                obstore.put(self._store, checked(path), iter(parts))

    def create(self, path: str, data: bytes) -> bool:
        with self._errors("create", path, writes=True):
            try:
                obstore.put(self._store_without_retries, checked(path), data, mode="create", use_multipart=False)
            except (AlreadyExistsError, PreconditionError):
                return False
            return True

    def get(self, path: str) -> memoryview:
        with self._errors("read", path):
            return memoryview(obstore.get(self._store, checked(path)).bytes()).cast("B")

    def list(self, prefix: str) -> list[StoredObject]:
        found: list[StoredObject] = []
        with self._errors("list", checked_prefix(prefix)):
            for chunk in obstore.list(self._store, prefix=prefix or None):
                found += [StoredObject(one["path"], one["size"], int(one["last_modified"].timestamp() * 1000)) for one in chunk]
        return sorted(found, key=lambda one: one.path)

    def delete(self, paths: Sequence[str]) -> None:
        if not paths:
            return
        with self._errors("delete", paths[0]):
            try:
                obstore.delete(self._store, [checked(path) for path in paths])
            except FileNotFoundError:
                # Some stores mind absent objects, and it is not said which of the others are gone by then.
                for path in paths:
                    with contextlib.suppress(FileNotFoundError):
                        obstore.delete(self._store, path)

    @contextlib.contextmanager
    def _errors(self, what: str, path: str, *, writes: bool = False) -> Iterator[None]:
        where = f"{self._url}/{path}"
        try:
            yield
        except (BaseError, ValueError, OSError) as error:
            raise _translated(error, what, where, writes=writes) from error


def _translated(error: Exception, what: str, where: str, *, writes: bool) -> StorageError:
    absent = isinstance(error, FileNotFoundError)
    if "NoSuchBucket" in str(error) or (absent and writes):
        return StorageError(f"cannot {what} {where}: its bucket does not exist; create it, or correct the URL")
    if absent:
        return NotFound(f"there is no {where}")
    reason = _first_line(error)
    if isinstance(error, _REFUSED) or _FORBIDDEN.search(str(error)):
        return StorageError(f"cannot {what} {where}: {reason}; check the credentials and what they allow")
    if writes and not isinstance(error, ValueError) and not _CLIENT_ERROR.search(str(error)):
        return UnknownOutcome(f"{where} may or may not have been written: {reason}")
    return StorageError(f"cannot {what} {where}: {reason}; check the URL and that the store can be reached")


def _first_line(error: BaseException) -> str:
    return str(error).split("\n", 1)[0].strip()
