"""Garbage collection of a stopped job: retire its expired checkpoints and delete their files.

The collection first appends a generation to the job log. The new generation fences a driver that was only paused, so that the
driver cannot resume from a deleted checkpoint. Then the collection appends an entry that retires the checkpoints, and deletes
their files. If another process has appended to the log in the meantime, the collection stops, because its decision may be based
on an outdated log. The collection can be interrupted at any point, because a restore still finds all its files and the next
collection completes the work.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog

from weir.errors import CheckpointError
from weir.protocol.ids import CheckpointId, Generation
from weir.protocol.job_log import CheckpointPinned, CheckpointRetired, Entry, GenerationStarted, Purpose
from weir.protocol.log_view import LogView
from weir.storage.base import CheckpointStorage
from weir.storage.garbage_collection import StateReferences, delete_orphans, plan_retention, retire_and_delete
from weir.storage.job_log import JobLog, NumberTaken
from weir.storage.layout import JobLayout
from weir.storage.manifests import read_manifest
from weir_backend.checkpoints.location import CheckpointLocation
from weir_backend.checkpoints.retention_rules import GcDecision, LogFacts, unpublished_checkpoints

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class JobStorage:
    """The checkpoint storage of a job, and its job log as it was read. The worker decides from this log which checkpoints to retire, and
    retires them only if the log has not changed."""

    storage: CheckpointStorage
    layout: JobLayout
    log: JobLog

    @property
    def view(self) -> LogView:
        return self.log.view


@dataclass(frozen=True, slots=True)
class GcResult:
    """``retired`` contains the chosen checkpoints that are retired now. ``deletion_problem`` is the reason why some files could not be
    deleted, or None if all files are deleted."""

    retired: frozenset[int]
    deletion_problem: str | None = None


def open_job_storage(storage: CheckpointStorage, place: CheckpointLocation) -> JobStorage:
    """Open the storage and read the job log. Raises StorageError, and CheckpointError if the log is damaged."""
    layout = JobLayout(place.name)
    found = JobStorage(storage, layout, JobLog(storage, layout))
    found.log.read()
    return found


def facts(seen: JobStorage, *, retained: int, asked: bool) -> LogFacts:
    """Return the facts for the decision. ``asked`` is True if a user has requested the deletion of some checkpoints. Reads manifests only
    if the collection can delete something. Raises StorageError."""
    expired = plan_retention(seen.view, keep=retained)
    if not expired and not asked:
        return LogFacts(seen.view, frozenset())
    return LogFacts(seen.view, frozenset(expired), unpublished_checkpoints(seen.view, _published_up_to(seen)))


def _published_up_to(seen: JobStorage) -> dict[int, int]:
    """Map the id of each kept checkpoint to its ``Manifest.published_up_to``, except for checkpoints whose publication the job
    log records. The result does not contain checkpoints with unreadable manifests."""
    found: dict[int, int] = {}
    for record in seen.view.kept:
        if record.published:
            continue
        try:
            found[record.checkpoint] = read_manifest(seen.storage, seen.layout, record).published_up_to
        except CheckpointError as error:
            log.warning("cannot read a manifest", checkpoint=record.checkpoint, reason=str(error))
    return found


def collect(seen: JobStorage, decided: GcDecision, *, may_continue: Callable[[], bool]) -> GcResult:
    """Carry out ``decided``. ``may_continue`` is called before each log entry and returns False if another process has taken over the
    job. Raises StorageError and Superseded. Checkpoints that were retired before the error stay retired."""
    assert decided.touches_storage
    collector = _Collector(seen, may_continue)
    deletion_problem: str | None = None
    if collector.take_generation() and all(collector.unpin(number) for number in decided.unpin):
        for numbers, reason in ((decided.expire, "retention"), (decided.delete, "deleted by an operator")):
            if numbers:
                deletion_problem = collector.retire(numbers, reason) or deletion_problem
        if not collector.lost:
            # The collection also deletes files of crashed processes and aborted checkpoints.
            deletion_problem = collector.sweep() or deletion_problem
    kept = {int(record.checkpoint) for record in seen.view.kept}
    finished = () if collector.lost else decided.finish
    return GcResult(frozenset(number for number in (*decided.to_delete, *finished) if number not in kept), deletion_problem)


class _Collector:
    def __init__(self, seen: JobStorage, may_continue: Callable[[], bool]) -> None:
        self._seen = seen
        self._may_continue = may_continue
        self._references = StateReferences(seen.storage, seen.layout)
        self._generation = Generation(0)
        self.lost = False

    def take_generation(self) -> bool:
        """Append a generation that continues from the newest checkpoint, so that no checkpoint is abandoned."""
        view = self._seen.view
        newest = view.newest.checkpoint if view.newest is not None else None
        self._generation = view.next_generation
        return self._append(
            GenerationStarted(
                generation=self._generation,
                restored_from=newest,
                branch=view.branch_after(newest, self._generation),
                first_checkpoint=view.next_checkpoint,
                nonce=_nonce(),
                timestamp_ms=_wall_ms(),
                purpose=Purpose.MAINTENANCE,
            )
        )

    def unpin(self, number: int) -> bool:
        return self._append(CheckpointPinned(self._generation, CheckpointId(number), False, _nonce(), _wall_ms()))

    def retire(self, numbers: Sequence[int], reason: str) -> str | None:
        """Retire the checkpoints and delete their files. Return the reason why some files could not be deleted, or None."""
        if self._stopped():
            return None
        entry = CheckpointRetired(self._generation, tuple(map(CheckpointId, numbers)), reason, _nonce(), _wall_ms())
        seen = self._seen
        try:
            outcome = retire_and_delete(
                seen.storage, seen.layout, seen.log, entry, at=seen.log.next_number, references=self._references
            )
        except CheckpointError as error:
            # The log view shows whether the entry was appended. If a manifest cannot be read, it is unknown which files are shared, so no
            # file is deleted.
            return str(error)
        self.lost = isinstance(outcome, NumberTaken)
        return None

    def sweep(self) -> str | None:
        """Delete orphaned files. Return the reason why some files could not be deleted, or None."""
        if self._stopped():
            return None
        seen = self._seen
        try:
            swept = delete_orphans(seen.storage, seen.layout, seen.view, references=self._references)
        except CheckpointError as error:
            return str(error)
        if swept:
            log.info("orphaned files deleted", job=seen.layout.job, files=len(swept))
        return None

    def _append(self, entry: Entry) -> bool:
        if self._stopped():
            return False
        self.lost = isinstance(self._seen.log.append(entry, at=self._seen.log.next_number), NumberTaken)
        return not self.lost

    def _stopped(self) -> bool:
        self.lost = self.lost or not self._may_continue()
        return self.lost


def _nonce() -> str:
    return uuid.uuid4().hex


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000
