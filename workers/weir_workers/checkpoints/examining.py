"""Reading the files of a checkpoint and comparing them with what was written, a part of them at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from weir.errors import CheckpointError, ConfigError, StorageError
from weir.protocol.ids import CheckpointId
from weir.protocol.logview import LogView
from weir.protocol.snapshots import StateFile
from weir.storage.base import CheckpointStorage
from weir.storage.joblog import JobLog
from weir.storage.layout import JobLayout
from weir.storage.manifests import read_manifest
from weir.storage.open import open_storage
from weir.storage.snapshots import ExaminedFiles
from weir_backend.checkpoints.presence import Presence, presence
from weir_backend.verification.decide import Damaged, Found, GotOn, Retired, Unclear, Whole
from weir_backend.verification.service import Part

BYTES_A_PART = 256 << 20
"""About: a file is read as a whole."""

Open = Callable[[str], CheckpointStorage]


def examine(part: Part, *, time_is_up: Callable[[], bool], open_: Open = open_storage, bytes_max: int = BYTES_A_PART) -> Found:
    """From file ``part.files_done`` on until ``bytes_max`` are read, or time is up; at least one file.

    A job that runs may retire the checkpoint meanwhile, and retires before it deletes: so the log is read once more before anything that
    is missing is called damage.
    """
    try:
        storage = open_(part.place.directory)
        layout = JobLayout(part.place.name)
        view = _view(storage, layout)
        found = _examine(part, storage, layout, view, time_is_up, bytes_max)
        if isinstance(found, Damaged) and _presence(part, _view(storage, layout)) is Presence.RETIRED:
            return Retired()
        return found
    except (StorageError, ConfigError) as error:
        return Unclear(str(error))
    except CheckpointError as error:
        # Of the log itself: without it nothing can be restored.
        return Damaged((str(error),))


def _examine(
    part: Part, storage: CheckpointStorage, layout: JobLayout, view: LogView, time_is_up: Callable[[], bool], bytes_max: int
) -> Found:
    match _presence(part, view):
        case Presence.RETIRED:
            return Retired()
        case Presence.UNKNOWN:
            return Damaged((_unknown(part, storage, view),))
        case Presence.KEPT:
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
) -> GotOn | Whole | Damaged:
    examined = ExaminedFiles(storage, layout)
    problems: list[str] = []
    read = size = 0
    for file in files:
        data, problem = examined.examine(file)
        if data is None:
            problems.append(f"{layout.absolute(file.path)} {problem}")
        read, size = read + 1, size + file.bytes
        if size >= bytes_max or time_is_up():
            break
    if problems:
        # Files of a pack that is missing have one problem, not several. What else is wrong does not make it any less whole.
        return Damaged(tuple(dict.fromkeys(problems)))
    return Whole(read, size) if read == len(files) else GotOn(read, size)


def _presence(part: Part, view: LogView) -> Presence:
    return presence(view, part.number, part.generation)


def _unknown(part: Part, storage: CheckpointStorage, view: LogView) -> str:
    there = f"ends at checkpoint {view.highest_checkpoint}" if view.generation else "is not there"
    return (
        f"the log of job {part.place.name} in {storage.url} {there}, and checkpoint {part.number} was completed: is the right "
        "directory mounted, was it set back to a backup?"
    )


def _view(storage: CheckpointStorage, layout: JobLayout) -> LogView:
    return JobLog(storage, layout).read()[0]
