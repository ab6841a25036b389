"""The state that the entries of a job log describe. The view depends only on the entries.

The checkpoints form a tree. A generation restores one checkpoint. Checkpoints that the previous generation completed after the
restored checkpoint become *abandoned*. Abandoned checkpoints are kept, and a rollback can return to them, but the current state
does not descend from them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import assert_never

from weir.errors import CheckpointError, ProtocolError
from weir.protocol import codec
from weir.protocol.ids import CheckpointId, Generation
from weir.protocol.job_log import (
    BranchAbandoned,
    BranchReinstated,
    CheckpointCompleted,
    CheckpointImported,
    CheckpointPinned,
    CheckpointPublished,
    CheckpointRetired,
    Entry,
    GenerationStarted,
    LogSummarised,
    Purpose,
)

RETIRED_REMEMBERED = 100
"""Maximum number of retired checkpoints in the view, for display. If a job has more retired checkpoints, the view contains only
the newest of these."""

GENERATIONS_REMEMBERED = 100
"""The number of newest generations for which the view contains separate records. An older generation has a record only if a kept
checkpoint descends from it. One record describes several older generations if each of them continued the previous one."""

SKIPPED_IDS_MAX = 100
"""An earlier process may have triggered up to this number of checkpoints after its last log entry. A new process skips this
number of ids, so that no id is used twice."""

_NO_GENERATION = Generation(0)
_NO_CHECKPOINT = CheckpointId(0)


class CheckpointStatus(StrEnum):
    RESTORABLE = "restorable"
    ABANDONED = "abandoned"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True)
class CheckpointRecord:
    checkpoint: CheckpointId
    generation: Generation
    branch: str
    manifest_path: str
    manifest_checksum: str
    state_bytes: int
    timestamp_ms: int
    is_savepoint: bool
    published: bool = False
    """Whether the output of the checkpoint and of its ancestors is known to be published. Logs of older versions do not record
    publications (see ``Manifest.published_up_to``)."""
    published_before: CheckpointId = _NO_CHECKPOINT
    """The newest ancestor that was known to be published when an ancestor was retired, or 0. The view has no records of retired
    ancestors."""


@dataclass(frozen=True, slots=True)
class GenerationRecord:
    generation: Generation
    restored_from: CheckpointId | None
    restored_generation: Generation | None
    """The generation that completed ``restored_from``."""
    branch: str
    first_checkpoint: CheckpointId
    timestamp_ms: int
    purpose: Purpose
    continues: bool = False
    """Whether this generation continues where the previous generation ended, and therefore abandons no checkpoint."""
    first_generation: Generation | None = None
    """The first of the generations that this object describes, or None if it describes only one generation. ``restored_from``,
    ``restored_generation``, ``first_checkpoint`` and ``continues`` belong to the first generation."""

    @property
    def first(self) -> Generation:
        return self.generation if self.first_generation is None else self.first_generation


@dataclass(frozen=True, slots=True)
class AbandonedCheckpoint:
    """A completed checkpoint that a rollback has abandoned.

    ``branch`` is the branch of the checkpoint. Sinks keep the revoked output under the name of the branch. ``after``
    is the restored checkpoint, or 0 for a start without state. Sinks revoke all output that was committed
    after ``after``, including the output of retired checkpoints, which ``kept`` does not contain.
    """

    checkpoint: CheckpointId
    branch: str
    after: CheckpointId


@dataclass(frozen=True, slots=True)
class LogView:
    """All tuples are in ascending order of checkpoint or generation. ``generation`` 0 means that no generation has started.

    The field names are part of the format of ``LogSummarised``.
    """

    generation: Generation = _NO_GENERATION
    branch: str = ""
    history: str = ""
    """The nonce of the first entry, which identifies this log even among jobs with the same name."""
    highest_checkpoint: CheckpointId = _NO_CHECKPOINT
    """No branch may use this checkpoint id or a lower id again."""
    generations: tuple[GenerationRecord, ...] = ()
    kept: tuple[CheckpointRecord, ...] = ()
    """The completed checkpoints that are not retired, of all branches."""
    current: tuple[CheckpointId, ...] = ()
    """The checkpoints in ``kept`` that the current state descends from."""
    pinned: tuple[CheckpointId, ...] = ()
    retired: tuple[CheckpointRecord, ...] = ()
    """The newest RETIRED_REMEMBERED retired checkpoints."""
    abandonment_due: tuple[AbandonedCheckpoint, ...] = ()
    """Abandoned checkpoints whose output is not recorded as revoked.

    A new generation first revokes the output of these checkpoints, even if an earlier generation has begun the revocation.
    """
    withdrawn: tuple[AbandonedCheckpoint, ...] = ()
    """Checkpoints whose output is revoked.

    If a revoked checkpoint is on the current branch, its revocation is possibly incomplete (see ``reinstatement_due``).
    """
    ignored_entries: int = 0
    """Number of entries that had no effect because their generation was fenced."""

    @property
    def restorable(self) -> tuple[CheckpointRecord, ...]:
        current = set(self.current)
        return tuple(record for record in self.kept if record.checkpoint in current)

    @property
    def abandoned(self) -> tuple[CheckpointRecord, ...]:
        current = set(self.current)
        return tuple(record for record in self.kept if record.checkpoint not in current)

    @property
    def newest(self) -> CheckpointRecord | None:
        """The checkpoint that a recovery restores."""
        return self.find(self.current[-1]) if self.current else None

    @property
    def next_generation(self) -> Generation:
        return Generation(self.generation + 1)

    @property
    def next_checkpoint(self) -> CheckpointId:
        return CheckpointId(self.highest_checkpoint + 1)

    @property
    def next_unused_checkpoint(self) -> CheckpointId:
        """The first checkpoint id that is certainly unused, even if a process has triggered checkpoints that have no entry."""
        return CheckpointId(self.next_checkpoint + (SKIPPED_IDS_MAX if self.generation else 0))

    @property
    def reinstatement_due(self) -> tuple[AbandonedCheckpoint, ...]:
        """Revoked checkpoints that are on the current branch again.

        The next generation reinstates the output of these checkpoints before it runs.
        """
        return tuple(left for left in self.withdrawn if left.checkpoint in self.current)

    def find(self, checkpoint: CheckpointId) -> CheckpointRecord | None:
        """Return the record of a kept checkpoint, or None if ``checkpoint`` was retired, never completed or never triggered."""
        return next((record for record in self.kept if record.checkpoint == checkpoint), None)

    def status(self, checkpoint: CheckpointId) -> CheckpointStatus | None:
        """Return None if the checkpoint never completed, or was retired so long ago that the view no longer contains it."""
        if checkpoint in self.current:
            return CheckpointStatus.RESTORABLE
        if self.find(checkpoint) is not None:
            return CheckpointStatus.ABANDONED
        if any(record.checkpoint == checkpoint for record in self.retired):
            return CheckpointStatus.RETIRED
        return None

    def restore_point(self, checkpoint: CheckpointId) -> CheckpointRecord:
        """Return the record of ``checkpoint``, to restore it. The checkpoint can be on any branch.

        Raises CheckpointError with the reason and the newest restorable checkpoints.
        """
        record = self.find(checkpoint)
        if record is not None:
            return record
        retired = self.status(checkpoint) is CheckpointStatus.RETIRED
        newest = ", ".join(str(kept.checkpoint) for kept in self.kept[-10:]) or "none"
        problem = (
            "is retired, and its files are being deleted"
            if retired
            else "does not exist, because it never completed or was retired long ago"
        )
        raise CheckpointError(f"checkpoint {checkpoint} {problem}; newest restorable checkpoints: {newest}")

    def ancestry(self, checkpoint: CheckpointId | None) -> tuple[CheckpointId, ...]:
        """Return the kept checkpoints from which ``checkpoint`` descends, and ``checkpoint`` itself. None means no checkpoint."""
        limits = self.ancestry_limits(checkpoint)
        return tuple(
            sorted(kept.checkpoint for kept in self.kept if kept.checkpoint <= limits.get(kept.generation, _NO_CHECKPOINT))
        )

    def published_up_to(self, checkpoint: CheckpointId) -> CheckpointId:
        """Return the newest checkpoint in the ancestry of ``checkpoint`` whose output is known to be published, or 0."""
        ancestry = set(self.ancestry(checkpoint))
        return max(
            (kept.checkpoint if kept.published else kept.published_before for kept in self.kept if kept.checkpoint in ancestry),
            default=_NO_CHECKPOINT,
        )

    def ancestry_limits(self, checkpoint: CheckpointId | None) -> dict[Generation, CheckpointId]:
        """Map each generation in the ancestry of ``checkpoint`` to its newest checkpoint in this ancestry.

        ``checkpoint`` descends from checkpoint c of generation g if the result contains g and c <= result[g]. This check also
        works for retired checkpoints, although ``ancestry`` does not return them.
        """
        record = self.find(checkpoint) if checkpoint is not None else None
        generation, limit = (record.generation if record else None), checkpoint
        limits: dict[Generation, CheckpointId] = {}
        while generation is not None and limit is not None:
            start = _record_of(self.generations, generation)
            assert start is not None, f"no record of generation {generation}"
            limits |= {Generation(one): limit for one in range(start.first, generation + 1)}
            generation, limit = start.restored_generation, start.restored_from
        return limits

    def abandoned_by(self, restored_from: CheckpointId | None) -> tuple[CheckpointId, ...]:
        """Return the checkpoints that a restore of ``restored_from`` would abandon.

        The result contains the checkpoints in ``current`` from which ``restored_from`` does not descend.
        """
        ancestry = set(self.ancestry(restored_from))
        return tuple(checkpoint for checkpoint in self.current if checkpoint not in ancestry)

    def branch_after(self, restored_from: CheckpointId | None, generation: Generation) -> str:
        """Return the branch of a new ``generation``.

        A generation that restores the newest checkpoint of the current branch continues this branch. A generation that starts
        without state continues the current branch if this branch has no checkpoint. A generation that restores the newest kept
        checkpoint of an abandoned branch continues the abandoned branch. Every other generation starts a new branch.
        """
        if (
            self.generation
            and not self.abandoned_by(restored_from)
            and restored_from == (self.current[-1] if self.current else None)
        ):
            return self.branch
        record = self.find(restored_from) if restored_from is not None else None
        if record is not None and record.checkpoint not in self.current:
            tip = max(kept.checkpoint for kept in self.kept if kept.branch == record.branch)
            if tip == record.checkpoint:
                return record.branch
        return f"b{generation}"

    def is_stale(self, entry: Entry) -> bool:
        """Return whether the generation of ``entry`` is fenced, so that its writer is superseded.

        An entry that starts a generation is also stale if this generation has already started.
        """
        if isinstance(entry, GenerationStarted | CheckpointImported):
            return entry.generation <= self.generation
        return entry.generation < self.generation

    def objection(self, entry: Entry) -> str | None:
        """Return the reason why ``entry`` cannot be the next entry, or None. Check ``is_stale`` first."""
        if not isinstance(entry, GenerationStarted | CheckpointImported) and entry.generation != self.generation:
            return f"generation {entry.generation} has not started"
        match entry:
            case GenerationStarted():
                if entry.restored_from is not None and self.find(entry.restored_from) is None:
                    return f"checkpoint {entry.restored_from} is retired or never completed, so no generation can start from it"
                if entry.first_checkpoint <= self.highest_checkpoint:
                    return f"checkpoint ids up to {self.highest_checkpoint} are already used"
            case CheckpointCompleted() | CheckpointImported():
                if entry.checkpoint <= self.highest_checkpoint:
                    return f"checkpoint ids up to {self.highest_checkpoint} are already used, including {entry.checkpoint}"
            case CheckpointRetired():
                if not entry.checkpoints:
                    return "the entry contains no checkpoint"
                for checkpoint in entry.checkpoints:
                    if self.find(checkpoint) is None:
                        return f"checkpoint {checkpoint} is already retired or never completed"
                    if checkpoint in self.pinned:
                        return f"checkpoint {checkpoint} is pinned"
                    if self.current and checkpoint == self.current[-1]:
                        return f"checkpoint {checkpoint} is the newest checkpoint, which a recovery needs"
            case CheckpointPinned() | CheckpointPublished():
                if self.find(entry.checkpoint) is None:
                    return f"checkpoint {entry.checkpoint} is retired or never completed"
            case BranchAbandoned():
                due = {left.checkpoint for left in self.abandonment_due if left.branch == entry.branch}
                if not set(entry.checkpoints) <= due:
                    return f"the entry contains checkpoints that need no revocation on branch {entry.branch}"
            case BranchReinstated():
                if not set(entry.checkpoints) <= {left.checkpoint for left in self.reinstatement_due}:
                    return "the entry contains checkpoints that need no reinstatement"
            case LogSummarised():
                try:
                    generation = _summarised_view(entry).generation
                except ProtocolError as error:
                    return f"its view is unreadable: {error}"
                if generation != entry.generation:
                    return f"its view has generation {generation}"
            case _:
                assert_never(entry)
        return None

    def apply(self, entry: Entry) -> LogView:
        """Return the view after ``entry``. A stale entry is counted and ignored. Raises CheckpointError for an invalid entry."""
        if self.is_stale(entry):
            return replace(self, ignored_entries=self.ignored_entries + 1)
        objection = self.objection(entry)
        if objection is not None:
            raise CheckpointError(f"{type(entry).__name__} of generation {entry.generation} is invalid: {objection}")
        match entry:
            case GenerationStarted():
                return self._started(entry)
            case CheckpointCompleted():
                return self._completed(entry)
            case CheckpointPublished():
                return self._published(entry.checkpoint)
            case CheckpointImported():
                started, completed = _parts(entry)
                return self._started(started)._completed(completed)
            case CheckpointRetired():
                return self._retired(entry)
            case CheckpointPinned():
                others = set(self.pinned) - {entry.checkpoint}
                return replace(self, pinned=tuple(sorted(others | {entry.checkpoint} if entry.pinned else others)))
            case BranchAbandoned():
                named = set(entry.checkpoints)
                kept = {record.checkpoint for record in self.kept}
                taken = [left for left in self.abandonment_due if left.checkpoint in named & kept]
                return replace(
                    self,
                    abandonment_due=tuple(left for left in self.abandonment_due if left.checkpoint not in named),
                    withdrawn=_in_order((*self.withdrawn, *taken)),
                )
            case BranchReinstated():
                return replace(self, withdrawn=tuple(left for left in self.withdrawn if left.checkpoint not in entry.checkpoints))
            case LogSummarised():
                # The writer of a summary has read every earlier entry, so the view is complete.
                return _summarised_view(entry)
            case _:
                assert_never(entry)

    def _started(self, entry: GenerationStarted) -> LogView:
        ancestry = self.ancestry(entry.restored_from)
        restored = self.find(entry.restored_from) if entry.restored_from is not None else None
        abandoned = set(self.current) - set(ancestry)
        # If a process crashed during a revocation or reinstatement, the operation is possibly incomplete. To reverse an
        # incomplete operation, process all of its checkpoints.
        due = [left for left in self.abandonment_due if left.checkpoint not in ancestry]
        due += [AbandonedCheckpoint(checkpoint, self.branch, entry.restored_from or _NO_CHECKPOINT) for checkpoint in abandoned]
        returning = [left for left in self.abandonment_due if left.checkpoint in ancestry]
        staying = [left for left in self.withdrawn if left.checkpoint not in abandoned]
        record = GenerationRecord(
            generation=entry.generation,
            restored_from=entry.restored_from,
            restored_generation=restored.generation if restored else None,
            branch=entry.branch,
            first_checkpoint=entry.first_checkpoint,
            timestamp_ms=entry.timestamp_ms,
            purpose=entry.purpose,
            continues=restored is not None and self._is_continued_by(entry.generation, restored),
        )
        return replace(
            self,
            generation=entry.generation,
            branch=entry.branch,
            history=self.history or entry.nonce,
            highest_checkpoint=CheckpointId(entry.first_checkpoint - 1),
            generations=_bounded((*self.generations, record), self.kept),
            current=ancestry,
            abandonment_due=_in_order(due),
            withdrawn=_in_order((*staying, *returning)),
        )

    def _is_continued_by(self, generation: Generation, restored: CheckpointRecord) -> bool:
        if not self.current or restored.checkpoint != self.current[-1] or generation != self.next_generation:
            return False
        previous = self.generations[-1]
        return restored.generation == previous.generation or (
            previous.continues and restored.checkpoint == previous.restored_from
        )

    def _completed(self, entry: CheckpointCompleted) -> LogView:
        record = CheckpointRecord(
            checkpoint=entry.checkpoint,
            generation=entry.generation,
            branch=self.branch,
            manifest_path=entry.manifest_path,
            manifest_checksum=entry.manifest_checksum,
            state_bytes=entry.state_bytes,
            timestamp_ms=entry.timestamp_ms,
            is_savepoint=entry.is_savepoint,
        )
        return replace(
            self,
            highest_checkpoint=entry.checkpoint,
            kept=(*self.kept, record),
            current=(*self.current, entry.checkpoint),
            pinned=(*self.pinned, entry.checkpoint) if entry.is_savepoint else self.pinned,
        )

    def _published(self, checkpoint: CheckpointId) -> LogView:
        ancestry = set(self.ancestry(checkpoint))
        return replace(
            self, kept=tuple(replace(kept, published=True) if kept.checkpoint in ancestry else kept for kept in self.kept)
        )

    def _retired(self, entry: CheckpointRetired) -> LogView:
        retired = set(entry.checkpoints)
        remembered = (*self.retired, *(record for record in self.kept if record.checkpoint in retired))
        return replace(
            self,
            kept=tuple(
                record if record.published else replace(record, published_before=self.published_up_to(record.checkpoint))
                for record in self.kept
                if record.checkpoint not in retired
            ),
            current=tuple(checkpoint for checkpoint in self.current if checkpoint not in retired),
            retired=tuple(sorted(remembered, key=lambda record: record.checkpoint))[-RETIRED_REMEMBERED:],
            withdrawn=tuple(left for left in self.withdrawn if left.checkpoint not in retired),
        )


def _record_of(generations: Sequence[GenerationRecord], generation: Generation) -> GenerationRecord | None:
    position = bisect_left(generations, generation, key=lambda record: record.generation)
    found = position < len(generations) and generations[position].first <= generation
    return generations[position] if found else None


def _bounded(generations: tuple[GenerationRecord, ...], kept: Iterable[CheckpointRecord]) -> tuple[GenerationRecord, ...]:
    """Join the old records of consecutive generations if each generation continued the previous one. Drop the old records of
    generations from which no checkpoint in ``kept`` descends.

    As a result, the number of old records grows only with the number of rollbacks in the ancestries of kept checkpoints. The
    newest generation that ran the job has a separate record.
    """
    newest_run = max((number for number, record in enumerate(generations) if record.purpose is Purpose.RUN), default=0)
    count = min(len(generations) - GENERATIONS_REMEMBERED, newest_run)
    if count <= 0:
        return generations
    joined: list[GenerationRecord] = []
    for record in generations[:count]:
        if record.continues and joined and joined[-1].generation == record.first - 1:
            joined.append(_joined(joined.pop(), record))
        else:
            joined.append(record)
    records = (*joined, *generations[count:])
    needed: set[Generation] = set()
    for checkpoint in kept:
        ancestor = _record_of(records, checkpoint.generation)
        while ancestor is not None and ancestor.generation not in needed:
            needed.add(ancestor.generation)
            parent = ancestor.restored_generation
            ancestor = _record_of(records, parent) if parent is not None else None
    return (*(record for record in joined if record.generation in needed), *generations[count:])


def _joined(earlier: GenerationRecord, later: GenerationRecord) -> GenerationRecord:
    """Return one record that describes the generations of both records. ``later`` must continue ``earlier``."""
    return replace(
        later,
        first_generation=earlier.first,
        restored_from=earlier.restored_from,
        restored_generation=earlier.restored_generation,
        first_checkpoint=earlier.first_checkpoint,
        continues=earlier.continues,
    )


def summary(view: LogView, *, nonce: str, timestamp_ms: int) -> LogSummarised:
    """Return the entry that summarises ``view``, the state after all entries so far."""
    return LogSummarised(view.generation, codec.to_json(view), nonce, timestamp_ms)


def base_view(entry: LogSummarised) -> LogView:
    """Return the view after ``entry`` for a reader that starts with this entry. Raises CheckpointError for an invalid entry."""
    return LogView(generation=entry.generation).apply(entry)


def _parts(entry: CheckpointImported) -> tuple[GenerationStarted, CheckpointCompleted]:
    """Split ``entry`` into the two entries that it combines: a started generation and a completed checkpoint."""
    return (
        GenerationStarted(
            entry.generation, None, entry.branch, entry.checkpoint, entry.nonce, entry.timestamp_ms, Purpose.IMPORT
        ),
        CheckpointCompleted(
            entry.generation, entry.checkpoint, entry.manifest_path, entry.manifest_checksum, entry.state_bytes, entry.nonce,
            entry.timestamp_ms, is_savepoint=True,
        ),
    )  # fmt: skip


def _summarised_view(entry: LogSummarised) -> LogView:
    return codec.from_json(LogView, entry.view)


def _in_order(checkpoints: Iterable[AbandonedCheckpoint]) -> tuple[AbandonedCheckpoint, ...]:
    return tuple(sorted(checkpoints, key=lambda left: left.checkpoint))
