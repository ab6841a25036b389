"""At the start of a job: is this storage one that exactly-once can rest on?"""

from __future__ import annotations

import contextlib
import secrets
from concurrent.futures import ThreadPoolExecutor

from weir.errors import ConfigError, StorageError, StorageFull
from weir.storage.base import CheckpointStorage
from weir.storage.local import LocalStorage

RACERS = 4


def probe(storage: CheckpointStorage) -> None:
    """Write, read, list and delete below ``.weir-probe/``, and let creates race for a name. Clears old staging files of a directory.

    Raises ConfigError saying what is wrong and what to do, StorageFull if there is no space.
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
                storage.delete([found.path for found in storage.list(prefix)])
    except StorageFull:
        raise
    except StorageError as error:
        raise ConfigError(f"checkpoint storage {storage.url} cannot be used: {error}") from error


def _check_objects(storage: CheckpointStorage, prefix: str) -> None:
    written = secrets.token_bytes(32)
    storage.put(f"{prefix}object", (written[:16], memoryview(written)[16:]))
    if bytes(storage.get(f"{prefix}object")) != written:
        raise ConfigError(f"checkpoint storage {storage.url} gives back something else than was written: choose another")
    if [found.path for found in storage.list(prefix)] != [f"{prefix}object"]:
        raise ConfigError(f"checkpoint storage {storage.url} does not list an object that was just written: choose another")


def _check_create_if_absent(storage: CheckpointStorage, prefix: str) -> None:
    path = f"{prefix}created"
    entries = [f"racer {racer} {secrets.token_hex(8)}".encode() for racer in range(RACERS)]
    with ThreadPoolExecutor(RACERS) as pool:
        won = list(pool.map(lambda entry: storage.create(path, entry), entries))
    winners = [entry for entry, created in zip(entries, won, strict=True) if created]
    late = storage.create(path, b"late")
    if len(winners) != 1 or late or bytes(storage.get(path)) != winners[0]:
        raise ConfigError(
            f"checkpoint storage {storage.url} let {len(winners) + late} of {RACERS + 1} writers create one and the same object; "
            "with that two runs of a job could both commit, so it is refused: use a store with conditional writes (If-None-Match)"
        )
