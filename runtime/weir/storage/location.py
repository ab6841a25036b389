"""Checkpoint storage by URL, and a job's checkpoints by path.

``open_storage`` opens a URL. ``locate_job`` finds the job below a path. ``parse_checkpoint_path`` parses ``DIRECTORY#ID``,
where DIRECTORY is a job's directory, or a checkpoint directory that contains one job.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from weir.errors import ConfigError
from weir.protocol.ids import CheckpointId
from weir.protocol.paths import decode_segment
from weir.storage.base import CheckpointStorage
from weir.storage.inspection import list_jobs
from weir.storage.layout import JobLayout, log_number
from weir.storage.local import LocalStorage
from weir.storage.memory import MemoryStorage

OBJECT_STORE_SCHEMES = frozenset({"s3", "s3a", "gs", "az", "adl", "azure", "abfs", "abfss", "https"})

_NAMED = re.compile(r"(?P<path>.+?)(?:#(?P<checkpoint>[0-9]{1,18}))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class JobLocation:
    """The checkpoint directory of one job."""

    storage: CheckpointStorage
    layout: JobLayout

    @property
    def url(self) -> str:
        """URL of the job's directory."""
        return f"{self.storage.url}/{self.layout.root}".rstrip("/")


def open_storage(url: str, options: Mapping[str, str] | None = None) -> CheckpointStorage:
    """Open checkpoint storage. ``url``: a directory, ``file:///directory``, ``s3://bucket/prefix``, ``gs://...``,
    ``abfss://...``, or ``memory://``.

    ``open_storage`` does not access the storage. Call ``probe_storage`` to test the access. Each ``memory://`` storage is new
    and private to the caller. Raise ConfigError for an invalid URL.
    """
    scheme, separator, _ = url.partition("://")
    if not separator:
        if not url:
            raise ConfigError(
                "the checkpoint directory is an empty string. Give a directory or a URL such as s3://bucket/prefix."
            )
        return LocalStorage(Path(url).expanduser())
    if scheme == "file":
        parts = urlsplit(url)
        if parts.netloc not in ("", "localhost") or not parts.path:
            raise ConfigError(f"{url} names a file on another host. Write file:///directory with three slashes.")
        return LocalStorage(unquote(parts.path))
    if scheme == "memory":
        return MemoryStorage()
    if scheme in OBJECT_STORE_SCHEMES:
        # Import the module here, because the import takes 20 ms and local jobs do not need the module.
        from weir.storage.object_store import ObjectStorage

        return ObjectStorage(url, options)
    known = ", ".join(sorted({"file", "memory", *OBJECT_STORE_SCHEMES}))
    raise ConfigError(f"{url}: unknown scheme {scheme!r}. Use a plain directory, or one of these schemes: {known}.")


def parse_checkpoint_path(text: str) -> tuple[str, CheckpointId | None]:
    """Parse ``PATH`` or ``PATH#ID``. If the text has no ID, return None, which means the newest checkpoint. Raise
    ConfigError."""
    match = _NAMED.fullmatch(text)
    if match is None:
        raise ConfigError("the checkpoint path is empty. Write DIRECTORY or DIRECTORY#ID.")
    checkpoint = match["checkpoint"]
    if checkpoint is not None and not int(checkpoint):
        raise ConfigError(f"{text}: checkpoint ids start at 1")
    return match["path"], CheckpointId(int(checkpoint)) if checkpoint is not None else None


def locate_job(path: str, open_: Callable[[str], CheckpointStorage] = open_storage) -> JobLocation:
    """Return the job at ``path``. Raise StorageError, or ConfigError if ``path`` contains no job or several jobs."""
    path = path.rstrip("/") or path
    storage = open_(path)
    if any(log_number(one.path) is not None for one in storage.list("log/")):
        parent, separator, segment = path.rpartition("/")
        return JobLocation(open_(parent or separator or "."), JobLayout(decode_segment(segment)))
    jobs = list_jobs(storage)
    if not jobs:
        raise ConfigError(f"{storage.url} contains no job. Give a checkpoint directory.")
    if len(jobs) > 1:
        raise ConfigError(f"{storage.url} contains several jobs: {', '.join(jobs)}. Name the directory of one job.")
    return JobLocation(storage, JobLayout(jobs[0]))
