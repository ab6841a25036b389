"""Keeping a job's directory small: old checkpoints are retired and deleted, the log is summarised and trimmed, orphans are swept.

All of it is for the log's lane of the process that runs the job. Failing harms nobody: the next checkpoint tries again.
"""

from __future__ import annotations

import time
import uuid

import structlog

from weir.errors import WeirError
from weir.protocol.ids import CheckpointId, Generation
from weir.protocol.joblog import CheckpointRetired
from weir.protocol.manifest import Manifest
from weir.storage.base import CheckpointStorage
from weir.storage.joblog import Appended, JobLog
from weir.storage.layout import JobLayout
from weir.storage.maintenance import References, retire_then_delete, sweep_orphans
from weir.storage.retention import orphan_horizon, plan_retention

log = structlog.get_logger(__name__)

SUMMARY_EVERY = 128
"""Entries in the log, after which they are summarised. Who appends lists what there is, so more files would cost more than a summary does."""


class Retention:
    """``keep``: how many checkpoints. ``summary_every``: how many entries of the log until they are summarised."""

    def __init__(
        self, storage: CheckpointStorage, layout: JobLayout, job_log: JobLog, *, keep: int, summary_every: int = SUMMARY_EVERY
    ) -> None:
        assert summary_every >= 1, "a summary sums up at least one entry"
        self._storage = storage
        self._layout = layout
        self._log = job_log
        self._keep = keep
        self._summary_every = summary_every
        self._references = References(storage, layout)
        self._newest: CheckpointId | None = None
        self._litter: CheckpointId | None = None
        """The newest checkpoint of which files may lie about that nobody refers to: aborted, or retired and not deleted."""

    def completed(self, manifest: Manifest) -> None:
        """Its entry is in the log. Ids between it and the one before belong to checkpoints that were aborted."""
        self._references.add(manifest)
        if self._newest is not None and manifest.checkpoint > self._newest + 1:
            self._litter = CheckpointId(manifest.checkpoint - 1)
        self._newest = manifest.checkpoint

    def retire(self, generation: Generation, *, uncommitted_from: CheckpointId) -> None:
        """What is no longer wanted; then delete it. ``generation``: that of this process. ``uncommitted_from``: this
        checkpoint and later ones stay."""
        if self._litter is not None and orphan_horizon(self._log.view) > self._litter:
            # What an aborted checkpoint had written is a whole state; only now does nobody wait for it any more.
            self._litter = None
            self.sweep()
        view = self._log.view
        retire = plan_retention(view, keep=self._keep, uncommitted_from=uncommitted_from)
        if not retire:
            return
        entry = CheckpointRetired(generation, retire, "retention", uuid.uuid4().hex, time.time_ns() // 1_000_000)
        try:
            retire_then_delete(
                self._storage, self._layout, self._log, entry, at=self._log.next_number, references=self._references
            )
        except WeirError as error:
            log.warning("checkpoints could not be retired", checkpoints=retire, reason=str(error))
            self._litter = max(retire)

    def summarise(self, generation: Generation) -> None:
        """If it is time for it. Only what is known to be summed up is deleted: of a summary in doubt the next one takes care.

        Call it only while no entry of this process is in doubt (``JobLog.summarise``).
        """
        if self._log.unsummarised < self._summary_every:
            return
        try:
            summarised = self._log.summarise(generation, nonce=uuid.uuid4().hex, timestamp_ms=time.time_ns() // 1_000_000)
            if isinstance(summarised, Appended):
                self._log.trim()
        except WeirError as error:
            log.warning("the job's log could not be summarised or trimmed", reason=str(error))

    def sweep(self) -> None:
        """What earlier generations and aborted checkpoints left behind and no checkpoint refers to."""
        try:
            swept = sweep_orphans(self._storage, self._layout, self._log.view, references=self._references)
        except WeirError as error:
            log.warning("orphaned files could not be removed", reason=str(error))
        else:
            if swept:
                log.info("orphaned files removed", files=len(swept))
