"""Retiring checkpoints of a job that does not run, and deleting their files.

First a generation is taken in the job's log, so that no driver that was only paused wakes up and goes on from what is gone; then the
entry that retires; then the files go. Whoever loses the race for a number of the log stops: somebody else is there, and what was decided
may not be right any more. Cut off anywhere, it leaves nothing that a restore would trip over, and the next one goes on.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog

from weir.errors import CheckpointError
from weir.protocol.ids import CheckpointId, Generation
from weir.protocol.joblog import CheckpointPinned, CheckpointRetired, Entry, GenerationStarted, Purpose
from weir.protocol.logview import LogView
from weir.storage.base import CheckpointStorage
from weir.storage.joblog import JobLog, Lost
from weir.storage.layout import JobLayout
from weir.storage.maintenance import References, retire_then_delete, sweep_orphans
from weir.storage.manifests import read_manifest
from weir.storage.retention import plan_retention
from weir_backend.checkpoints.place import Place
from weir_backend.retention.decide import Decided, LogFacts, unpublished

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Seen:
    """A job's storage, and its log as it was read: what is done is done to this log, or not at all."""

    storage: CheckpointStorage
    layout: JobLayout
    log: JobLog

    @property
    def view(self) -> LogView:
        return self.log.view


@dataclass(frozen=True, slots=True)
class LetGo:
    """``gone``: of those that were to go, what is retired now. ``left``: why files of theirs could not be deleted."""

    gone: frozenset[int]
    left: str | None = None


def see(storage: CheckpointStorage, place: Place) -> Seen:
    """Raises CheckpointError for a log that cannot be read, StorageError."""
    layout = JobLayout(place.name)
    found = Seen(storage, layout, JobLog(storage, layout))
    found.log.read()
    return found


def facts(seen: Seen, *, retained: int, asked: bool) -> LogFacts:
    """``asked``: somebody wants a chosen one deleted. Manifests are read only if anything may go. Raises StorageError."""
    expired = plan_retention(seen.view, keep=retained)
    if not expired and not asked:
        return LogFacts(seen.view, frozenset())
    return LogFacts(seen.view, frozenset(expired), unpublished(seen.view, _published_up_to(seen)))


def _published_up_to(seen: Seen) -> dict[int, int]:
    found: dict[int, int] = {}
    for record in seen.view.kept:
        try:
            found[record.checkpoint] = read_manifest(seen.storage, seen.layout, record).published_up_to
        except CheckpointError as error:
            log.warning("a manifest cannot be read", checkpoint=record.checkpoint, reason=str(error))
    return found


def let_go(seen: Seen, decided: Decided, *, may_go_on: Callable[[], bool]) -> LetGo:
    """``may_go_on``: asked before each entry; no: somebody else has the job. Raises StorageError, Superseded: what is retired by then stays so."""
    assert decided.touches_storage
    doing = _Doing(seen, may_go_on)
    left: str | None = None
    if doing.take_generation() and all(doing.unpin(number) for number in decided.unpin):
        for numbers, reason in ((decided.expire, "retention"), (decided.delete, "deleted by an operator")):
            if numbers:
                left = doing.retire(numbers, reason) or left
        if not doing.lost:
            # Also what somebody who died before has left, and what an aborted checkpoint has.
            left = doing.sweep() or left
    kept = {int(record.checkpoint) for record in seen.view.kept}
    finished = () if doing.lost else decided.finish
    return LetGo(frozenset(number for number in (*decided.going, *finished) if number not in kept), left)


class _Doing:
    def __init__(self, seen: Seen, may_go_on: Callable[[], bool]) -> None:
        self._seen = seen
        self._may_go_on = may_go_on
        self._references = References(seen.storage, seen.layout)
        self._generation = Generation(0)
        self.lost = False

    def take_generation(self) -> bool:
        """It goes on from the newest checkpoint, so nothing is left behind by it."""
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
        """Why files are left; None: none are, or nothing was retired."""
        if self._stopped():
            return None
        entry = CheckpointRetired(self._generation, tuple(map(CheckpointId, numbers)), reason, _nonce(), _wall_ms())
        seen = self._seen
        try:
            outcome = retire_then_delete(
                seen.storage, seen.layout, seen.log, entry, at=seen.log.next_number, references=self._references
            )
        except CheckpointError as error:
            # The entry stands, or could not be: the view says which. What another one shares with these nobody knows.
            return str(error)
        self.lost = isinstance(outcome, Lost)
        return None

    def sweep(self) -> str | None:
        if self._stopped():
            return None
        seen = self._seen
        try:
            swept = sweep_orphans(seen.storage, seen.layout, seen.view, references=self._references)
        except CheckpointError as error:
            return str(error)
        if swept:
            log.info("orphaned files removed", job=seen.layout.job, files=len(swept))
        return None

    def _append(self, entry: Entry) -> bool:
        if self._stopped():
            return False
        self.lost = isinstance(self._seen.log.append(entry, at=self._seen.log.next_number), Lost)
        return not self.lost

    def _stopped(self) -> bool:
        self.lost = self.lost or not self._may_go_on()
        return self.lost


def _nonce() -> str:
    return uuid.uuid4().hex


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000
