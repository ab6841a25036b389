"""What the entries of a job's log add up to. A pure fold: the same entries give the same view everywhere.

History is a tree. A generation goes on from one checkpoint; what its predecessor had completed after that
one is *abandoned*: still there, to go back to, but on no line that leads to the present. A checkpoint is
*restorable* while it is neither abandoned nor retired.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import assert_never

from weir.errors import CheckpointError, ProtocolError
from weir.protocol import codec
from weir.protocol.ids import CheckpointId, Generation
from weir.protocol.joblog import (
    BranchAbandoned,
    BranchReinstated,
    CheckpointCompleted,
    CheckpointImported,
    CheckpointPinned,
    CheckpointRetired,
    Entry,
    GenerationStarted,
    LogSummarised,
    Purpose,
)

RETIRED_REMEMBERED = 100
"""Of retired checkpoints only the newest so many are kept in the view, for lists that people read."""

UNSEEN_IDS_MAX = 100
"""Checkpoints that an earlier process may have triggered after its last entry in the log, at most: their ids are left out, so
that no id is ever used twice."""

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


@dataclass(frozen=True, slots=True)
class LeftBehind:
    """A completed checkpoint that a restore went back behind. ``branch`` is the line of history it was on when it was left, the
    name under which sinks keep what they take back; ``after`` the checkpoint gone back to (0: the beginning). Sinks
    take back all that was committed after that one, also of checkpoints in between that are retired and in no list.
    """

    checkpoint: CheckpointId
    branch: str
    after: CheckpointId


@dataclass(frozen=True, slots=True)
class LogView:
    """Every tuple is ascending by checkpoint or generation. ``generation`` 0: no generation has started."""

    generation: Generation = _NO_GENERATION
    branch: str = ""
    history: str = ""
    """Tells this log from every other one, also of a job of the same name: the nonce of its first entry."""
    highest_checkpoint: CheckpointId = _NO_CHECKPOINT
    """No id up to this one may be used again, on no branch."""
    generations: tuple[GenerationRecord, ...] = ()
    kept: tuple[CheckpointRecord, ...] = ()
    """Completed and not retired, on whatever branch."""
    current: tuple[CheckpointId, ...] = ()
    """Those of ``kept`` that are on the current branch."""
    pinned: tuple[CheckpointId, ...] = ()
    retired: tuple[CheckpointRecord, ...] = ()
    """The newest RETIRED_REMEMBERED of them."""
    abandonment_due: tuple[LeftBehind, ...] = ()
    """Left by a restore, and not yet recorded as taken back from the sinks: to be done (again) before anything runs."""
    withdrawn: tuple[LeftBehind, ...] = ()
    """Taken back from the sinks (or, of one on the current branch, perhaps begun to be): see ``reinstatement_due``."""
    ignored_entries: int = 0
    """Entries of a generation that was already fenced: they have no effect."""

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
        """What a recovery restores."""
        return self.find(self.current[-1]) if self.current else None

    @property
    def next_generation(self) -> Generation:
        return Generation(self.generation + 1)

    @property
    def next_checkpoint(self) -> CheckpointId:
        return CheckpointId(self.highest_checkpoint + 1)

    @property
    def unseen_checkpoint(self) -> CheckpointId:
        """The first id that surely nobody has used, not even for a checkpoint that no entry tells of."""
        return CheckpointId(self.next_checkpoint + (UNSEEN_IDS_MAX if self.generation else 0))

    @property
    def reinstatement_due(self) -> tuple[LeftBehind, ...]:
        """On the current branch again, and not yet shown again by the sinks: to be done (again) before anything runs."""
        return tuple(left for left in self.withdrawn if left.checkpoint in self.current)

    def find(self, checkpoint: CheckpointId) -> CheckpointRecord | None:
        """Of a kept checkpoint; None for one retired, never completed or never triggered."""
        return next((record for record in self.kept if record.checkpoint == checkpoint), None)

    def status(self, checkpoint: CheckpointId) -> CheckpointStatus | None:
        """None: never completed, or retired so long ago that it is forgotten."""
        if checkpoint in self.current:
            return CheckpointStatus.RESTORABLE
        if self.find(checkpoint) is not None:
            return CheckpointStatus.ABANDONED
        if any(record.checkpoint == checkpoint for record in self.retired):
            return CheckpointStatus.RETIRED
        return None

    def restore_point(self, checkpoint: CheckpointId) -> CheckpointRecord:
        """A checkpoint that can be restored, on whatever branch. Raises CheckpointError saying why not and what is there."""
        record = self.find(checkpoint)
        if record is not None:
            return record
        retired = self.status(checkpoint) is CheckpointStatus.RETIRED
        there = ", ".join(str(kept.checkpoint) for kept in self.kept[-10:]) or "none"
        why = (
            "is retired: its files are being deleted"
            if retired
            else "does not exist: it never completed, or was retired long ago"
        )
        raise CheckpointError(f"checkpoint {checkpoint} {why}; newest that can be restored: {there}")

    def ancestry(self, checkpoint: CheckpointId | None) -> tuple[CheckpointId, ...]:
        """Kept checkpoints on the line from the beginning to ``checkpoint``, itself included. None: the beginning."""
        line = self.line(checkpoint)
        return tuple(
            sorted(kept.checkpoint for kept in self.kept if kept.checkpoint <= line.get(kept.generation, _NO_CHECKPOINT))
        )

    def line(self, checkpoint: CheckpointId | None) -> dict[Generation, CheckpointId]:
        """For every generation on the line from the beginning to ``checkpoint`` the last id of it that is on the line.

        What a sink has published is on the line if its generation is in here and its checkpoint is at most that id; holds
        for retired checkpoints too, which no list names any more.
        """
        record = self.find(checkpoint) if checkpoint is not None else None
        generation, limit = (record.generation if record else None), checkpoint
        starts = {start.generation: start for start in self.generations}
        line: dict[Generation, CheckpointId] = {}
        while generation is not None and limit is not None:
            line[generation] = limit
            start = starts[generation]
            generation, limit = start.restored_generation, start.restored_from
        return line

    def left_behind_by(self, restored_from: CheckpointId | None) -> tuple[CheckpointId, ...]:
        """What a restore of ``restored_from`` would abandon: kept checkpoints of the current branch that are not its ancestors."""
        line = set(self.ancestry(restored_from))
        return tuple(checkpoint for checkpoint in self.current if checkpoint not in line)

    def branch_after(self, restored_from: CheckpointId | None, generation: Generation) -> str:
        """The branch that ``generation`` is on: the old one if nothing is left behind, that of an abandoned tip, or a new one."""
        if (
            self.generation
            and not self.left_behind_by(restored_from)
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
        """Its generation is fenced (or, of a start, taken): the writer was superseded."""
        if isinstance(entry, GenerationStarted | CheckpointImported):
            return entry.generation <= self.generation
        return entry.generation < self.generation

    def objection(self, entry: Entry) -> str | None:
        """Why ``entry`` cannot be the next one; None: it can. A stale entry is no matter of this: see ``is_stale``."""
        if not isinstance(entry, GenerationStarted | CheckpointImported) and entry.generation != self.generation:
            return f"generation {entry.generation} has not started"
        match entry:
            case GenerationStarted():
                if entry.restored_from is not None and self.find(entry.restored_from) is None:
                    return f"checkpoint {entry.restored_from} is retired or never completed, so nothing can start from it"
                if entry.first_checkpoint <= self.highest_checkpoint:
                    return f"checkpoint ids up to {self.highest_checkpoint} are used up"
            case CheckpointCompleted() | CheckpointImported():
                if entry.checkpoint <= self.highest_checkpoint:
                    return f"checkpoint ids up to {self.highest_checkpoint} are used up, {entry.checkpoint} is one of them"
            case CheckpointRetired():
                if not entry.checkpoints:
                    return "it names no checkpoint"
                for checkpoint in entry.checkpoints:
                    if self.find(checkpoint) is None:
                        return f"checkpoint {checkpoint} is retired already or never completed"
                    if checkpoint in self.pinned:
                        return f"checkpoint {checkpoint} is pinned"
                    if self.current and checkpoint == self.current[-1]:
                        return f"checkpoint {checkpoint} is the newest one, which a recovery would need"
            case CheckpointPinned():
                if self.find(entry.checkpoint) is None:
                    return f"checkpoint {entry.checkpoint} is retired or never completed"
            case BranchAbandoned():
                due = {left.checkpoint for left in self.abandonment_due if left.branch == entry.branch}
                if not set(entry.checkpoints) <= due:
                    return f"it names checkpoints that are not left behind on branch {entry.branch}"
            case BranchReinstated():
                if not set(entry.checkpoints) <= {left.checkpoint for left in self.reinstatement_due}:
                    return "it names checkpoints that are not to be reinstated"
            case LogSummarised():
                try:
                    summed_up = _carried(entry).generation
                except ProtocolError as error:
                    return f"what it sums up cannot be read: {error}"
                if summed_up != entry.generation:
                    return f"it sums up a log of generation {summed_up}"
            case _:
                assert_never(entry)
        return None

    def apply(self, entry: Entry) -> LogView:
        """The view after ``entry``. A stale one is ignored; raises CheckpointError for one that cannot be."""
        if self.is_stale(entry):
            return replace(self, ignored_entries=self.ignored_entries + 1)
        objection = self.objection(entry)
        if objection is not None:
            raise CheckpointError(f"{type(entry).__name__} of generation {entry.generation} cannot be: {objection}")
        match entry:
            case GenerationStarted():
                return self._started(entry)
            case CheckpointCompleted():
                return self._completed(entry)
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
                # Its writer knew every entry before it, so nothing is lost; of a reader who begins with it nothing is needed.
                return _carried(entry)
            case _:
                assert_never(entry)

    def _started(self, entry: GenerationStarted) -> LogView:
        line = self.ancestry(entry.restored_from)
        restored = self.find(entry.restored_from) if entry.restored_from is not None else None
        leaving = set(self.current) - set(line)
        # What was on its way (out of the sinks or back) when a writer died may be half done, so it is turned round as a whole.
        due = [left for left in self.abandonment_due if left.checkpoint not in line]
        due += [LeftBehind(checkpoint, self.branch, entry.restored_from or _NO_CHECKPOINT) for checkpoint in leaving]
        returning = [left for left in self.abandonment_due if left.checkpoint in line]
        staying = [left for left in self.withdrawn if left.checkpoint not in leaving]
        record = GenerationRecord(
            generation=entry.generation,
            restored_from=entry.restored_from,
            restored_generation=restored.generation if restored else None,
            branch=entry.branch,
            first_checkpoint=entry.first_checkpoint,
            timestamp_ms=entry.timestamp_ms,
            purpose=entry.purpose,
        )
        return replace(
            self,
            generation=entry.generation,
            branch=entry.branch,
            history=self.history or entry.nonce,
            highest_checkpoint=CheckpointId(entry.first_checkpoint - 1),
            generations=(*self.generations, record),
            current=line,
            abandonment_due=_in_order(due),
            withdrawn=_in_order((*staying, *returning)),
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

    def _retired(self, entry: CheckpointRetired) -> LogView:
        gone = set(entry.checkpoints)
        remembered = (*self.retired, *(record for record in self.kept if record.checkpoint in gone))
        return replace(
            self,
            kept=tuple(record for record in self.kept if record.checkpoint not in gone),
            current=tuple(checkpoint for checkpoint in self.current if checkpoint not in gone),
            retired=tuple(sorted(remembered, key=lambda record: record.checkpoint))[-RETIRED_REMEMBERED:],
            withdrawn=tuple(left for left in self.withdrawn if left.checkpoint not in gone),
        )


def summary(view: LogView, *, nonce: str, timestamp_ms: int) -> LogSummarised:
    """The entry to append where ``view`` is what all entries so far add up to."""
    return LogSummarised(view.generation, codec.to_json(view), nonce, timestamp_ms)


def base_view(entry: LogSummarised) -> LogView:
    """The view after ``entry``, for a reader who begins with it. Raises CheckpointError for one that cannot be."""
    return LogView(generation=entry.generation).apply(entry)


def _parts(entry: CheckpointImported) -> tuple[GenerationStarted, CheckpointCompleted]:
    """What it says in one."""
    return (
        GenerationStarted(
            entry.generation, None, entry.branch, entry.checkpoint, entry.nonce, entry.timestamp_ms, Purpose.IMPORT
        ),
        CheckpointCompleted(
            entry.generation, entry.checkpoint, entry.manifest_path, entry.manifest_checksum, entry.state_bytes, entry.nonce,
            entry.timestamp_ms, is_savepoint=True,
        ),
    )  # fmt: skip


def _carried(entry: LogSummarised) -> LogView:
    return codec.from_json(LogView, entry.view)


def _in_order(many: Iterable[LeftBehind]) -> tuple[LeftBehind, ...]:
    return tuple(sorted(many, key=lambda left: left.checkpoint))
