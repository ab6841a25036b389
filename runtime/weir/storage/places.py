"""Checkpoints as people name them: ``DIRECTORY#ID``, where the directory is that of a job, or of checkpoints of one job alone."""

from __future__ import annotations

import re
from collections.abc import Callable

from weir.errors import ConfigError
from weir.protocol.ids import CheckpointId
from weir.protocol.paths import decode_segment
from weir.storage.base import CheckpointStorage
from weir.storage.importing import Place
from weir.storage.inspection import list_jobs
from weir.storage.layout import JobLayout, log_number
from weir.storage.open import open_storage

_NAMED = re.compile(r"(?P<path>.+?)(?:#(?P<checkpoint>[0-9]{1,18}))?", re.DOTALL)


def parse_name(text: str) -> tuple[str, CheckpointId | None]:
    """``PATH`` or ``PATH#ID``. None: the newest one. Raises ConfigError."""
    match = _NAMED.fullmatch(text)
    if match is None:
        raise ConfigError("the path of a checkpoint is empty: write DIRECTORY or DIRECTORY#ID")
    checkpoint = match["checkpoint"]
    if checkpoint is not None and not int(checkpoint):
        raise ConfigError(f"{text}: checkpoints are numbered from 1 on")
    return match["path"], CheckpointId(int(checkpoint)) if checkpoint is not None else None


def locate(path: str, open_: Callable[[str], CheckpointStorage] = open_storage) -> Place:
    """Raises ConfigError naming what is there instead of a job, StorageError."""
    path = path.rstrip("/") or path
    storage = open_(path)
    if any(log_number(one.path) is not None for one in storage.list("log/")):
        parent, separator, segment = path.rpartition("/")
        return Place(open_(parent or separator or "."), JobLayout(decode_segment(segment)))
    jobs = list_jobs(storage)
    if not jobs:
        raise ConfigError(f"there is no job in {storage.url}: is it a directory of checkpoints?")
    if len(jobs) > 1:
        raise ConfigError(f"{storage.url} holds {', '.join(jobs)}: name the directory of one of them")
    return Place(storage, JobLayout(jobs[0]))
