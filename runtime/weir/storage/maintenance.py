"""Retiring, deleting, sweeping, verifying and listing checkpoints of a job.

Of a running job only its coordinator deletes. When no run is live, who wants to delete starts a
generation first (``Purpose.MAINTENANCE``), so that no sleeping run wakes up and goes on from what is gone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from weir.errors import CheckpointError
from weir.protocol.ids import CheckpointId
from weir.protocol.joblog import CheckpointRetired
from weir.protocol.logview import CheckpointRecord, LogView
from weir.protocol.manifest import Manifest
from weir.storage.base import CheckpointStorage, StoredObject
from weir.storage.joblog import Appended, JobLog, Lost
from weir.storage.layout import JobLayout
from weir.storage.manifests import read_manifest
from weir.storage.retention import orphans


class References:
    """Which state files checkpoints name. Reads each manifest once and forgets those it is no longer asked for."""

    def __init__(self, storage: CheckpointStorage, layout: JobLayout) -> None:
        self._storage = storage
        self._layout = layout
        self._known: dict[CheckpointId, frozenset[str]] = {}

    def add(self, manifest: Manifest) -> None:
        """Who has just written a manifest need not have it read back."""
        self._known[manifest.checkpoint] = frozenset(file.path for file in manifest.referenced_files())

    def of(self, record: CheckpointRecord) -> frozenset[str]:
        """Raises CheckpointError if the manifest cannot be read."""
        if record.checkpoint not in self._known:
            self.add(read_manifest(self._storage, self._layout, record))
        return self._known[record.checkpoint]

    def of_all(self, records: Iterable[CheckpointRecord]) -> frozenset[str]:
        wanted = tuple(records)
        referenced: frozenset[str] = frozenset().union(*(self.of(record) for record in wanted))
        checkpoints = {record.checkpoint for record in wanted}
        self._known = {checkpoint: paths for checkpoint, paths in self._known.items() if checkpoint in checkpoints}
        return referenced


@dataclass(frozen=True, slots=True)
class Retired:
    """``deleted``: relative paths. What could not be deleted now is an orphan, which a later sweep removes."""

    outcome: Appended
    deleted: tuple[str, ...]


def retire_then_delete(
    storage: CheckpointStorage,
    layout: JobLayout,
    log: JobLog,
    entry: CheckpointRetired,
    *,
    at: int,
    references: References,
    protected: Collection[str] = (),
) -> Retired | Lost:
    """Append ``entry``, and only once it is in the log delete what no kept checkpoint shares with the retired ones.

    ``protected``: relative paths of files that pending checkpoints refer to and did not write themselves. Lost: nothing was deleted.
    Raises what ``JobLog.append`` raises, with nothing deleted; CheckpointError if a manifest of a kept
    checkpoint cannot be read, so that nobody knows what it shares: the entry stands then, and nothing is deleted.
    """
    leaving = {checkpoint: log.view.find(checkpoint) for checkpoint in entry.checkpoints}
    files: set[str] = set()
    manifests: set[str] = set()
    for record in leaving.values():
        if record is None:
            continue
        manifests.add(record.manifest_path)
        try:
            files |= references.of(record)
        except CheckpointError:
            # Damaged: its files cannot be known, but their names say whose they are, and the sweep finds them.
            continue
    outcome = log.append(entry, at=at)
    if isinstance(outcome, Lost):
        return outcome
    kept = references.of_all(outcome.view.kept)
    doomed = (*sorted(files - kept - frozenset(protected)), *sorted(manifests))
    storage.delete([layout.absolute(path) for path in doomed])
    return Retired(outcome, doomed)


def sweep_orphans(
    storage: CheckpointStorage, layout: JobLayout, view: LogView, *, references: References, protected: Collection[str] = ()
) -> tuple[StoredObject, ...]:
    """Delete state files and manifests that no checkpoint can need any more; returns them.

    Input staged by Spark, the log and whatever does not bear a name of the layout are never touched. Raises CheckpointError,
    with nothing deleted, if a manifest of a kept checkpoint cannot be read.
    """
    referenced = references.of_all(view.kept)
    objects = (*storage.list(layout.state), *storage.list(layout.checkpoints))
    doomed = orphans(view, layout, objects, referenced=referenced, protected=protected)
    storage.delete([one.path for one in doomed])
    return doomed
