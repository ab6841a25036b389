"""Retention and garbage collection: which checkpoints to retire, and which files to delete.

``plan_retention`` and ``find_orphans`` are pure functions. ``retire_and_delete`` and ``delete_orphans`` change the storage.

While a job is running, only its coordinator deletes files. When no run is active, a process must start a generation
(``Purpose.MAINTENANCE``) before it deletes files. The new generation fences a paused run, which otherwise could continue and
refer to deleted files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from weir.errors import CheckpointError, ConfigError
from weir.protocol.ids import CheckpointId
from weir.protocol.job_log import CheckpointRetired
from weir.protocol.log_view import CheckpointRecord, LogView
from weir.protocol.manifest import Manifest
from weir.storage.base import CheckpointStorage, StoredObject
from weir.storage.job_log import Appended, JobLog, NumberTaken
from weir.storage.layout import JobLayout, identify
from weir.storage.manifests import read_manifest


def plan_retention(
    view: LogView, *, keep: int, uncommitted_from: CheckpointId | None = None, keep_abandoned: bool = True
) -> tuple[CheckpointId, ...]:
    """Return the checkpoints to retire. The newest ``keep`` checkpoints of the current branch and all pinned checkpoints remain.

    The newest checkpoint always remains, because a recovery restores it. ``uncommitted_from`` is the oldest checkpoint whose
    commit is not confirmed. ``uncommitted_from`` and later checkpoints remain, because a recovery must commit them again. If
    ``keep_abandoned`` is True, abandoned checkpoints remain, so that a user can return to them.
    """
    if keep < 1:
        raise ConfigError(f"cannot keep {keep} checkpoints: keep at least 1")
    retiring = list(view.current[:-keep])
    if not keep_abandoned:
        retiring += [record.checkpoint for record in view.abandoned]
    pinned = set(view.pinned)
    return tuple(
        sorted(
            checkpoint
            for checkpoint in retiring
            if checkpoint not in pinned and (uncommitted_from is None or checkpoint < uncommitted_from)
        )
    )


def orphan_horizon(view: LogView) -> CheckpointId:
    """Return the horizon, a checkpoint id. Files of the horizon or a later checkpoint do not count as orphaned, because a later
    checkpoint can be in progress. Pinned checkpoints do not affect the horizon."""
    retained = [checkpoint for checkpoint in view.current if checkpoint not in view.pinned] or list(view.current[-1:])
    return retained[0] if retained else CheckpointId(0)


def find_orphans(
    view: LogView,
    layout: JobLayout,
    objects: Iterable[StoredObject],
    *,
    referenced: Collection[str],
    protected: Collection[str] = (),
) -> tuple[StoredObject, ...]:
    """Return the objects that no checkpoint can need any more.

    ``referenced`` are the relative paths of all state files that kept checkpoints reference. ``protected`` are the relative
    paths of state files that pending checkpoints reference but did not write. An object is an orphan if no checkpoint
    references it, if a generation in the log wrote it, and if its checkpoint is older than the horizon or retired.
    """
    horizon = orphan_horizon(view)
    retired = {record.checkpoint for record in view.retired}
    manifests = {record.manifest_path for record in view.kept}
    found_orphans: list[StoredObject] = []
    for stored in objects:
        path = layout.relative(stored.path)
        identity = identify(path)
        if identity is None or path in referenced or path in protected or path in manifests:
            continue
        if identity.generation <= view.generation and (identity.checkpoint < horizon or identity.checkpoint in retired):
            found_orphans.append(stored)
    return tuple(found_orphans)


class StateReferences:
    """The state files that checkpoints reference. Each manifest is read once. A checkpoint's references are cached until
    ``of_all`` is called without that checkpoint."""

    def __init__(self, storage: CheckpointStorage, layout: JobLayout) -> None:
        self._storage = storage
        self._layout = layout
        self._paths: dict[CheckpointId, frozenset[str]] = {}

    def add(self, manifest: Manifest) -> None:
        """Add a manifest that this process has written, so that the manifest need not be read."""
        self._paths[manifest.checkpoint] = frozenset(file.path for file in manifest.referenced_files())

    def of(self, record: CheckpointRecord) -> frozenset[str]:
        """Return the relative paths that a checkpoint references. Raise CheckpointError if the checkpoint's manifest cannot be
        read."""
        if record.checkpoint not in self._paths:
            self.add(read_manifest(self._storage, self._layout, record))
        return self._paths[record.checkpoint]

    def of_all(self, records: Iterable[CheckpointRecord]) -> frozenset[str]:
        requested = tuple(records)
        referenced: frozenset[str] = frozenset().union(*(self.of(record) for record in requested))
        checkpoints = {record.checkpoint for record in requested}
        self._paths = {checkpoint: paths for checkpoint, paths in self._paths.items() if checkpoint in checkpoints}
        return referenced


@dataclass(frozen=True, slots=True)
class RetireResult:
    """The outcome of retiring checkpoints.

    ``deleted`` contains relative paths. A file that could not be deleted becomes an orphan, which a later garbage collection
    deletes.
    """

    outcome: Appended
    deleted: tuple[str, ...]


def retire_and_delete(
    storage: CheckpointStorage,
    layout: JobLayout,
    log: JobLog,
    entry: CheckpointRetired,
    *,
    at: int,
    references: StateReferences,
    protected: Collection[str] = (),
) -> RetireResult | NumberTaken:
    """Append ``entry``, then delete the files of the retired checkpoints, except files that a kept checkpoint also uses.

    ``protected`` are the relative paths of files that pending checkpoints reference but did not write. If the result is
    NumberTaken, nothing is deleted. Raise the errors of ``JobLog.append``, in which case nothing is deleted. Raise
    CheckpointError if the manifest of a kept checkpoint cannot be read, because the files of that checkpoint are then unknown.
    After this error, ``entry`` is already in the log, but no file is deleted.
    """
    retiring = {checkpoint: log.view.find(checkpoint) for checkpoint in entry.checkpoints}
    files: set[str] = set()
    manifests: set[str] = set()
    for record in retiring.values():
        if record is None:
            continue
        manifests.add(record.manifest_path)
        try:
            files |= references.of(record)
        except CheckpointError:
            # The manifest is damaged, so the files of this checkpoint are unknown.
            # ``delete_orphans`` needs no manifest, because it finds these files by their names.
            continue
    outcome = log.append(entry, at=at)
    if isinstance(outcome, NumberTaken):
        return outcome
    kept = references.of_all(outcome.view.kept)
    deletable = (*sorted(files - kept - frozenset(protected)), *sorted(manifests))
    storage.delete([layout.absolute(path) for path in deletable])
    return RetireResult(outcome, deletable)


def delete_orphans(
    storage: CheckpointStorage, layout: JobLayout, view: LogView, *, references: StateReferences, protected: Collection[str] = ()
) -> tuple[StoredObject, ...]:
    """Delete orphaned state files and manifests, and return the deleted objects.

    Staged rows, the log and files whose names are not from ``JobLayout`` are never deleted. If the manifest of a kept
    checkpoint cannot be read, raise CheckpointError and delete nothing.
    """
    referenced = references.of_all(view.kept)
    objects = (*storage.list(layout.state), *storage.list(layout.checkpoints))
    deletable = find_orphans(view, layout, objects, referenced=referenced, protected=protected)
    storage.delete([stored.path for stored in deletable])
    return deletable
