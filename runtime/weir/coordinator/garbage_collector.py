"""Garbage collection in a running job: retires and deletes old checkpoints, summarises the log, and deletes orphaned files.

All methods except ``protect`` run in the log executor. A failed garbage collection is harmless, because the next checkpoint
triggers another one.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections import defaultdict, deque
from collections.abc import Collection

import structlog

from weir.errors import WeirError
from weir.protocol.ids import CheckpointId, Generation, OperatorUid
from weir.protocol.job_log import CheckpointRetired
from weir.protocol.manifest import Manifest
from weir.storage.base import CheckpointStorage
from weir.storage.garbage_collection import StateReferences, delete_orphans, orphan_horizon, plan_retention, retire_and_delete
from weir.storage.job_log import Appended, JobLog
from weir.storage.layout import JobLayout

log = structlog.get_logger(__name__)

SUMMARY_EVERY = 128
"""Number of log entries between summaries.

Each append lists all entries of the log, so a long log would cost more than a summary.
"""


class GarbageCollector:
    """``keep``: number of retained checkpoints. ``summary_every``: number of log entries between summaries."""

    def __init__(
        self, storage: CheckpointStorage, layout: JobLayout, job_log: JobLog, *, keep: int, summary_every: int = SUMMARY_EVERY
    ) -> None:
        assert summary_every >= 1, "a summary covers at least one entry"
        self._storage = storage
        self._layout = layout
        self._log = job_log
        self._keep = keep
        self._summary_every = summary_every
        self._references = StateReferences(storage, layout)
        self._newest: CheckpointId | None = None
        self._orphans_up_to: CheckpointId | None = None
        """The newest checkpoint that has possibly left orphaned files, because it was aborted or could not be deleted."""

        self._protecting = threading.Lock()
        self._protected: dict[OperatorUid, deque[Collection[str]]] = defaultdict(deque)
        """For each source, the possible paths of the split lists that no completed checkpoint refers to yet, in the order of their
        discovery."""

    def protect(self, source: OperatorUid, paths: Collection[str]) -> None:
        """Keep a split list until a checkpoint refers to it or to a newer list. Call this before the list is written. Any
        thread can call this method. ``paths``: the possible relative paths of the list."""
        with self._protecting:
            self._protected[source].append(paths)

    def completed(self, manifest: Manifest) -> None:
        """Call this method when the job log contains the checkpoint. Deletes the split lists whose splits were all finished
        before the first checkpoint that could have referred to them.

        The ids between this checkpoint and the previous one belong to aborted checkpoints.
        """
        self._references.add(manifest)
        if self._newest is not None and manifest.checkpoint > self._newest + 1:
            self._orphans_up_to = CheckpointId(manifest.checkpoint - 1)
        self._newest = manifest.checkpoint
        unused = self._unprotect(manifest) - {file.path for file in manifest.referenced_files()}
        if unused:
            self._delete_unused(manifest.checkpoint, unused)

    def _delete_unused(self, checkpoint: CheckpointId, paths: Collection[str]) -> None:
        try:
            self._storage.delete([self._layout.absolute(path) for path in sorted(paths)])
        except WeirError as error:
            log.warning("cannot delete unused split lists", reason=str(error))
            self._orphans_up_to = max(checkpoint, self._orphans_up_to or CheckpointId(0))

    def _unprotect(self, manifest: Manifest) -> set[str]:
        """Return the paths that need no protection any more, because ``manifest`` refers to the same list or to a newer one."""
        released: set[str] = set()
        with self._protecting:
            for uid, state in manifest.assigners.items():
                lists, newest = self._protected[uid], {listed.file.path for listed in state.split_lists[-1:]}
                while any(newest.intersection(paths) for paths in lists):
                    released.update(lists.popleft())
        return released

    def _protected_paths(self) -> frozenset[str]:
        with self._protecting:
            return frozenset(path for lists in self._protected.values() for paths in lists for path in paths)

    def retire(self, generation: Generation, *, uncommitted_from: CheckpointId) -> None:
        """Retire and delete the checkpoints that are no longer retained.

        ``generation`` is the generation of this process. The checkpoint ``uncommitted_from`` and all later checkpoints are kept.
        """
        if self._orphans_up_to is not None and orphan_horizon(self._log.view) > self._orphans_up_to:
            # An aborted checkpoint can leave a complete set of state files. When ``orphan_horizon`` is higher than the id of the
            # aborted checkpoint, no checkpoint can refer to these files any more.
            self._orphans_up_to = None
            self.delete_orphans()
        view = self._log.view
        retire = plan_retention(view, keep=self._keep, uncommitted_from=uncommitted_from)
        if not retire:
            return
        entry = CheckpointRetired(generation, retire, "retention", uuid.uuid4().hex, time.time_ns() // 1_000_000)
        try:
            retire_and_delete(
                self._storage,
                self._layout,
                self._log,
                entry,
                at=self._log.next_number,
                references=self._references,
                protected=self._protected_paths(),
            )
        except WeirError as error:
            log.warning("cannot retire checkpoints", checkpoints=retire, reason=str(error))
            self._orphans_up_to = max(*retire, self._orphans_up_to or CheckpointId(0))

    def summarise(self, generation: Generation) -> None:
        """Summarise the log if it has grown enough, and delete the entries that the summary covers.

        If it is unknown whether the summary was written, the entries are deleted after the next summary. Call this method only
        while no append of this process is open (see ``JobLog.summarise``).
        """
        if self._log.unsummarised < self._summary_every:
            return
        try:
            summarised = self._log.summarise(generation, nonce=uuid.uuid4().hex, timestamp_ms=time.time_ns() // 1_000_000)
            if isinstance(summarised, Appended):
                self._log.trim()
        except WeirError as error:
            log.warning("cannot summarise or trim the job log", reason=str(error))

    def delete_orphans(self) -> None:
        """Delete orphaned files. Earlier generations and aborted checkpoints can leave orphaned files."""
        try:
            deleted = delete_orphans(
                self._storage, self._layout, self._log.view, references=self._references, protected=self._protected_paths()
            )
        except WeirError as error:
            log.warning("cannot delete orphaned files", reason=str(error))
        else:
            if deleted:
                log.info("orphaned files deleted", files=len(deleted))
