"""From a URL to checkpoint storage."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from weir.errors import ConfigError
from weir.storage.base import CheckpointStorage
from weir.storage.local import LocalStorage
from weir.storage.memory import MemoryStorage

OBJECT_STORE_SCHEMES = frozenset({"s3", "s3a", "gs", "az", "adl", "azure", "abfs", "abfss", "https"})


def open_storage(url: str, options: Mapping[str, str] | None = None) -> CheckpointStorage:
    """``url``: a directory, ``file:///directory``, ``s3://bucket/prefix``, ``gs://...``, ``abfss://...``, or ``memory://``.

    Nothing is read or written yet: see ``weir.storage.probe``. A ``memory://`` storage is a new one, its
    owner's alone. Raises ConfigError for a URL that cannot be one.
    """
    scheme, separator, _ = url.partition("://")
    if not separator:
        if not url:
            raise ConfigError("the checkpoint directory is empty: give a directory or a URL such as s3://bucket/prefix")
        return LocalStorage(Path(url).expanduser())
    if scheme == "file":
        parts = urlsplit(url)
        if parts.netloc not in ("", "localhost") or not parts.path:
            raise ConfigError(f"{url} names a file on another host: write file:///directory with three slashes")
        return LocalStorage(unquote(parts.path))
    if scheme == "memory":
        return MemoryStorage()
    if scheme in OBJECT_STORE_SCHEMES:
        # Late, as it takes 20 ms and most jobs of a laptop never need it.
        from weir.storage.objectstore import ObjectStorage

        return ObjectStorage(url, options)
    known = ", ".join(sorted({"file", "memory", *OBJECT_STORE_SCHEMES}))
    raise ConfigError(f"{url}: no checkpoint storage has the scheme {scheme!r}; known are {known}, and plain directories")
