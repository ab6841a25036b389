"""Is the checkpoint storage of a slot the same as that of the driver?

A directory of the same name on another machine would take every state file, and every checkpoint would complete; only
when a slot is started elsewhere its state would be missing. So the driver leaves a mark there, and slots look for it.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Collection

from weir.errors import ConfigError, NotFound
from weir.protocol.paths import encode_segment
from weir.storage.base import CheckpointStorage

LEFT_MS_MIN = 24 * 3600 * 1000
"""A mark older than this, of a run that another one has overtaken, was left by a driver that was killed."""


class SharedStorage:
    """``run``: of the coordinator, by whose number its mark is named."""

    def __init__(self, storage: CheckpointStorage, job: str, run: int) -> None:
        self._storage = storage
        self._marks = f".weir-probe/{encode_segment(job)}/"
        self._mark = f"{self._marks}run-{run:x}"
        self._seen = False

    def announce(self) -> None:
        """In the driver, before the first slot is started. Raises StorageError."""
        self._storage.put(self._mark, (b"slots of a run look for this",))

    def check(self) -> None:
        """In a slot, at each deployment; looks once. Raises ConfigError, which no restart mends, or StorageError."""
        if self._seen:
            return
        try:
            self._storage.get(self._mark)
        except NotFound:
            raise ConfigError(
                f"the checkpoint directory {self._storage.url} is not the same one on {socket.gethostname()} as where the job was "
                "started: use a directory on a file system that all machines share, or an object store (s3://bucket/prefix)"
            ) from None
        self._seen = True

    def others(self) -> frozenset[str]:
        """Old marks of other runs of the job: a run that waits for its slots now may be the next. Raises StorageError."""
        before_ms = time.time_ns() // 1_000_000 - LEFT_MS_MIN
        return frozenset(found.path for found in self._storage.list(self._marks) if found.modified_ms < before_ms) - {self._mark}

    def withdraw(self, fenced: Collection[str] = ()) -> None:
        """In the driver, once no slot of this run is started any more. ``fenced``: marks of runs that this one has fenced."""
        self._storage.delete([self._mark, *sorted(fenced)])
