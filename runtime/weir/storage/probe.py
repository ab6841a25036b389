"""Checks of checkpoint storage at the start of a job.

``probe_storage`` checks that the storage supports exactly-once checkpoints. ``SharedStorageMarker`` checks that driver and slots
use the same storage. If each host had its own local checkpoint directory, checkpoints would still complete. But if a slot were
later started on another host, the slot would not find its state. So the driver writes a marker object, and each slot checks that
it can read the marker.
"""

from __future__ import annotations

import contextlib
import secrets
import socket
import time
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor

from weir.errors import ConfigError, ObjectNotFound, StorageError, StorageFull
from weir.protocol.paths import encode_segment
from weir.storage.base import CheckpointStorage
from weir.storage.local import LocalStorage

RACERS = 4

ABANDONED_MS_MIN = 24 * 3600 * 1000
"""If a marker of a fenced run is older than this, the run's driver was killed."""


def probe_storage(storage: CheckpointStorage) -> None:
    """Write, read, list and delete objects below ``.weir-probe/``, and create one object from several threads. If the storage
    is a directory, remove its old staging files.

    Raise ConfigError that names the problem and a solution, or StorageFull if there is no space.
    """
    prefix = f".weir-probe/{secrets.token_hex(8)}/"
    try:
        try:
            if isinstance(storage, LocalStorage):
                storage.clear_staging()
            _check_objects(storage, prefix)
            _check_create_if_absent(storage, prefix)
        finally:
            with contextlib.suppress(StorageError):
                storage.delete([stored.path for stored in storage.list(prefix)])
    except StorageFull:
        raise
    except StorageError as error:
        raise ConfigError(f"Cannot use checkpoint storage {storage.url}: {error}") from error


def _check_objects(storage: CheckpointStorage, prefix: str) -> None:
    written = secrets.token_bytes(32)
    storage.put(f"{prefix}object", (written[:16], memoryview(written)[16:]))
    if bytes(storage.get(f"{prefix}object")) != written:
        raise ConfigError(
            f"Checkpoint storage {storage.url} returns data that differs from the data written. Choose another storage."
        )
    if [stored.path for stored in storage.list(prefix)] != [f"{prefix}object"]:
        raise ConfigError(
            f"Checkpoint storage {storage.url} does not list an object that was just written. Choose another storage."
        )


def _check_create_if_absent(storage: CheckpointStorage, prefix: str) -> None:
    path = f"{prefix}created"
    entries = [f"racer {racer} {secrets.token_hex(8)}".encode() for racer in range(RACERS)]
    with ThreadPoolExecutor(RACERS) as pool:
        won = list(pool.map(lambda entry: storage.create(path, entry), entries))
    winners = [entry for entry, created in zip(entries, won, strict=True) if created]
    late = storage.create(path, b"late")
    if len(winners) != 1 or late or bytes(storage.get(path)) != winners[0]:
        raise ConfigError(
            f"Checkpoint storage {storage.url} let {len(winners) + late} of {RACERS + 1} writers create the same object, so two runs of a "
            "job could both commit. Use a store with conditional writes (If-None-Match)."
        )


class SharedStorageMarker:
    """The marker object of one run. ``run`` is the number of the coordinator's run, and part of the marker's name."""

    def __init__(self, storage: CheckpointStorage, job: str, run: int) -> None:
        self._storage = storage
        self._prefix = f".weir-probe/{encode_segment(job)}/"
        self._path = f"{self._prefix}run-{run:x}"
        self._checked = False

    def write(self) -> None:
        """Write the marker. The driver calls ``write`` before it starts the first slot. Raise StorageError."""
        self._storage.put(self._path, (b"The slots of a run check that they can read this object.",))

    def check(self) -> None:
        """Check that this slot can read the marker. The slot calls ``check`` at each deployment. After a success, ``check``
        does not read the marker again. Raise StorageError. If the storage is not shared, raise ConfigError, because a restart
        cannot solve this problem."""
        if self._checked:
            return
        try:
            self._storage.get(self._path)
        except ObjectNotFound:
            raise ConfigError(
                f"The checkpoint directory {self._storage.url} on host {socket.gethostname()} differs from the checkpoint directory "
                "on the driver's host. Use a directory on a file system that all hosts share, or an object store (s3://bucket/prefix)."
            ) from None
        self._checked = True

    def other_markers(self) -> frozenset[str]:
        """Return old markers of the job's other runs. A young marker may belong to a run that is waiting for its slots.
        Raise StorageError."""
        before_ms = time.time_ns() // 1_000_000 - ABANDONED_MS_MIN
        return frozenset(stored.path for stored in self._storage.list(self._prefix) if stored.modified_ms < before_ms) - {
            self._path
        }

    def delete(self, fenced: Collection[str] = ()) -> None:
        """Delete the marker. The driver calls ``delete`` when it will not start any more slots in this run. Also delete
        ``fenced``, the markers of runs that this run has fenced."""
        self._storage.delete([self._path, *sorted(fenced)])
