"""Verify a checkpoint: read its files in several parts, and compare them with their checksums."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from weir.errors import CheckpointError, ConfigError, StorageError
from weir.protocol.ids import CheckpointId
from weir.protocol.log_view import LogView
from weir.protocol.snapshots import StateFile
from weir.storage.base import CheckpointStorage
from weir.storage.job_log import JobLog
from weir.storage.layout import JobLayout
from weir.storage.location import open_storage
from weir.storage.manifests import read_manifest
from weir.storage.state_files import StateFileChecker
from weir_backend.checkpoints.retention_rules import LogPresence, presence_in_log
from weir_backend.checkpoints.verification import VerificationPart
from weir_backend.checkpoints.verification_rules import (
    Damaged,
    Intact,
    Outcome,
    Retired,
    StorageUnavailable,
    VerificationProgress,
)

BYTES_A_PART = 256 << 20
"""A part ends when it has read this number of bytes. A part can read more, because a file is always read completely."""

OpenStorage = Callable[[str], CheckpointStorage]


def verify_part(
    part: VerificationPart, *, time_is_up: Callable[[], bool], open_: OpenStorage = open_storage, bytes_max: int = BYTES_A_PART
) -> Outcome:
    """Verify files, starting with file number ``part.files_done``, until ``bytes_max`` bytes are read or the time is up. Verifies at least
    one file.

    A running driver can retire the checkpoint and delete its files during the verification. A driver retires a checkpoint in the
    job log before it deletes the files, so this function reads the log again before it reports damage."""
    try:
        storage = open_(part.place.directory)
        layout = JobLayout(part.place.name)
        view = _view(storage, layout)
        found = _verify(part, storage, layout, view, time_is_up, bytes_max)
        if isinstance(found, Damaged) and _presence(part, _view(storage, layout)) is LogPresence.RETIRED:
            return Retired()
        return found
    except (StorageError, ConfigError) as error:
        return StorageUnavailable(str(error))
    except CheckpointError as error:
        # The job log itself is damaged, so no checkpoint can be restored.
        return Damaged((str(error),))


def _verify(
    part: VerificationPart,
    storage: CheckpointStorage,
    layout: JobLayout,
    view: LogView,
    time_is_up: Callable[[], bool],
    bytes_max: int,
) -> Outcome:
    match _presence(part, view):
        case LogPresence.RETIRED:
            return Retired()
        case LogPresence.UNKNOWN:
            return Damaged((_unknown(part, storage, view),))
        case LogPresence.KEPT:
            pass
    record = view.restore_point(CheckpointId(part.number))
    try:
        manifest = read_manifest(storage, layout, record)
    except CheckpointError as error:
        return Damaged((str(error),))
    return _files(manifest.referenced_files()[part.files_done :], storage, layout, time_is_up, bytes_max)


def _files(
    files: Sequence[StateFile],
    storage: CheckpointStorage,
    layout: JobLayout,
    time_is_up: Callable[[], bool],
    bytes_max: int,
) -> VerificationProgress | Intact | Damaged:
    checker = StateFileChecker(storage, layout)
    problems: list[str] = []
    read = size = 0
    for file in files:
        problem = checker.verify(file)
        if problem:
            problems.append(f"{layout.absolute(file.path)} {problem}")
        read, size = read + 1, size + file.bytes
        if size >= bytes_max or time_is_up():
            break
    if problems:
        # Files in the same missing pack have the same problem, so report it once.
        return Damaged(tuple(dict.fromkeys(problems)))
    return Intact(read, size) if read == len(files) else VerificationProgress(read, size)


def _presence(part: VerificationPart, view: LogView) -> LogPresence:
    return presence_in_log(view, part.number, part.generation)


def _unknown(part: VerificationPart, storage: CheckpointStorage, view: LogView) -> str:
    state = f"ends at checkpoint {view.highest_checkpoint}" if view.generation else "is missing"
    return (
        f"checkpoint {part.number} was completed, but the log of job '{part.place.name}' in {storage.url} {state}: check that the right "
        "directory is mounted and that no backup was restored"
    )


def _view(storage: CheckpointStorage, layout: JobLayout) -> LogView:
    return JobLog(storage, layout).read()[0]
