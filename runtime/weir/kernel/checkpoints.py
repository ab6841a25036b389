"""The life of a checkpoint in the coordinator. This file owns it, as a table.

    triggered (IN_PROGRESS) -> all acknowledged (WRITING) -> manifest written (RECORDING)
    -> entry created in the job's log = COMPLETED; older ones are subsumed.

Until its entry is being created a checkpoint can be ABORTED (timeout, decline, failover, storage,
shutdown). From then on only the log decides: RECORDING ends in COMPLETED, or the process was superseded.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from weir.protocol.ids import CheckpointId, Generation, SubtaskId
from weir.protocol.snapshots import Committable, SubtaskSnapshot


class CheckpointPhase(StrEnum):
    IN_PROGRESS = "in_progress"
    WRITING = "writing"
    RECORDING = "recording"
    COMPLETED = "completed"
    ABORTED = "aborted"


LEGAL: dict[CheckpointPhase, frozenset[CheckpointPhase]] = {
    CheckpointPhase.IN_PROGRESS: frozenset({CheckpointPhase.WRITING, CheckpointPhase.ABORTED}),
    CheckpointPhase.WRITING: frozenset({CheckpointPhase.RECORDING, CheckpointPhase.ABORTED}),
    CheckpointPhase.RECORDING: frozenset({CheckpointPhase.COMPLETED}),
    CheckpointPhase.COMPLETED: frozenset(),
    CheckpointPhase.ABORTED: frozenset(),
}


class CheckpointKind(StrEnum):
    PERIODIC = "periodic"
    MANUAL = "manual"
    """Somebody asked for it. Kept as long as a periodic one."""
    SAVEPOINT = "savepoint"
    FINAL = "final"
    """Of a bounded job whose input has ended: its completion finishes the job."""
    SUSPEND = "suspend"
    """The last one before the job is suspended."""

    @property
    def owned_by_user(self) -> bool:
        """Never subsumed: kept until the user lets go of it."""
        return self is CheckpointKind.SAVEPOINT

    @property
    def drains(self) -> bool:
        """Nothing is still to come after it."""
        return self is CheckpointKind.FINAL


@dataclass(frozen=True, slots=True)
class CheckpointConfig:
    """``interval_ms`` None: no periodic checkpoints. ``timeout_ms``: from the trigger until all have acknowledged, of every kind.
    ``min_pause_ms`` counts from the end of the one before, and holds back periodic ones only.

    One checkpoint is pending at a time.
    """

    interval_ms: int | None = 10_000
    timeout_ms: int = 600_000
    min_pause_ms: int = 0
    tolerable_failed_checkpoints: int | None = 3
    """So many failures in a row, of every kind of checkpoint, are put up with: after one more the job fails over. None: never for that."""


@dataclass(frozen=True, slots=True)
class CommitPermit:
    """Authority to publish everything up to ``checkpoint``. Made in this file only, on completion or restore."""

    checkpoint: CheckpointId
    generation: Generation


@dataclass(slots=True)
class PendingCheckpoint:
    checkpoint: CheckpointId
    kind: CheckpointKind
    triggered_ms: int
    phase: CheckpointPhase = CheckpointPhase.IN_PROGRESS
    snapshots: dict[SubtaskId, SubtaskSnapshot] = field(default_factory=dict)
    latest_ack_ms: int = 0

    def move(self, phase: CheckpointPhase) -> None:
        assert phase in LEGAL[self.phase], f"checkpoint {self.checkpoint}: {self.phase} -> {phase}"
        self.phase = phase

    def committables(self) -> tuple[Committable, ...]:
        return tuple(
            committable
            for _, snapshot in sorted(self.snapshots.items())
            for operator in snapshot.operators
            for committable in operator.committables
        )


@dataclass(frozen=True, slots=True)
class Trigger:
    """Send the trigger to every slot with a source subtask, at once."""

    checkpoint: CheckpointId
    kind: CheckpointKind


@dataclass(frozen=True, slots=True)
class AllAcknowledged:
    """Write the manifest."""

    pending: PendingCheckpoint


@dataclass(frozen=True, slots=True)
class Record:
    """The manifest is durable: create the entry in the job's log."""

    pending: PendingCheckpoint


@dataclass(frozen=True, slots=True)
class Completed:
    """Commit with ``permit``; tell the subtasks."""

    pending: PendingCheckpoint
    permit: CommitPermit


@dataclass(frozen=True, slots=True)
class Aborted:
    checkpoint: CheckpointId
    kind: CheckpointKind
    reason: str


@dataclass(frozen=True, slots=True)
class TooManyFailures:
    reason: str


CheckpointEffect: TypeAlias = Trigger | AllAcknowledged | Record | Completed | Aborted | TooManyFailures


def permit_for_restore(checkpoint: CheckpointId, generation: Generation) -> CommitPermit:
    """On restore everything up to the restored checkpoint is committed again: its entry is in the log."""
    return CommitPermit(checkpoint, generation)


class CheckpointCoordinator:
    """One per generation. Every method returns the effects to carry out, in order."""

    def __init__(
        self,
        config: CheckpointConfig,
        *,
        generation: Generation,
        subtasks: Iterable[SubtaskId],
        next_checkpoint: CheckpointId,
        now_ms: int,
    ) -> None:
        self._config = config
        self._generation = generation
        self._subtasks = frozenset(subtasks)
        self._next = next_checkpoint
        self._pending: dict[CheckpointId, PendingCheckpoint] = {}
        self._last_trigger_ms = now_ms
        self._last_end_ms = now_ms - config.min_pause_ms
        self._consecutive_failures = 0
        self._periodic = config.interval_ms is not None

    @property
    def next_checkpoint(self) -> CheckpointId:
        return self._next

    @property
    def pending(self) -> tuple[PendingCheckpoint, ...]:
        return tuple(self._pending.values())

    def stop_periodic(self) -> None:
        self._periodic = False

    def tick(self, now_ms: int, *, may_trigger: bool = True) -> list[CheckpointEffect]:
        effects: list[CheckpointEffect] = []
        for pending in list(self._pending.values()):
            if pending.phase is CheckpointPhase.IN_PROGRESS and now_ms - pending.triggered_ms >= self._config.timeout_ms:
                missing = sorted(self._subtasks - pending.snapshots.keys())
                waiting = ", ".join(str(subtask) for subtask in missing[:4])
                effects += self._abort(pending, f"not acknowledged within {self._config.timeout_ms} ms by {waiting}", now_ms)
        if any(isinstance(effect, TooManyFailures) for effect in effects):
            return effects  # the job fails over: a checkpoint begun now would be aborted before its trigger is sent
        if self._periodic and may_trigger and self._is_due(now_ms):
            effects += self.trigger(CheckpointKind.PERIODIC, now_ms=now_ms)
        return effects

    def trigger(self, kind: CheckpointKind, *, now_ms: int) -> list[CheckpointEffect]:
        assert not self._pending, "one checkpoint at a time"
        checkpoint = self._next
        self._next = CheckpointId(checkpoint + 1)
        self._last_trigger_ms = now_ms
        self._pending[checkpoint] = PendingCheckpoint(checkpoint, kind, now_ms)
        return [Trigger(checkpoint, kind)]

    def acknowledge(self, checkpoint: CheckpointId, snapshot: SubtaskSnapshot, *, now_ms: int) -> list[CheckpointEffect]:
        """A second or late acknowledgement has no effect."""
        pending = self._pending.get(checkpoint)
        subtask = SubtaskId(snapshot.chain, snapshot.index)
        if pending is None or pending.phase is not CheckpointPhase.IN_PROGRESS or subtask in pending.snapshots:
            return []
        if subtask not in self._subtasks:
            return []
        pending.snapshots[subtask] = snapshot
        pending.latest_ack_ms = now_ms
        if pending.snapshots.keys() != self._subtasks:
            return []
        pending.move(CheckpointPhase.WRITING)
        return [AllAcknowledged(pending)]

    def decline(self, checkpoint: CheckpointId, subtask: SubtaskId, reason: str, *, now_ms: int) -> list[CheckpointEffect]:
        pending = self._pending.get(checkpoint)
        if pending is None or pending.phase is not CheckpointPhase.IN_PROGRESS:
            return []
        return self._abort(pending, f"subtask {subtask} declined: {reason}", now_ms)

    def manifest_written(self, checkpoint: CheckpointId) -> list[CheckpointEffect]:
        pending = self._pending.get(checkpoint)
        if pending is None or pending.phase is not CheckpointPhase.WRITING:
            return []
        pending.move(CheckpointPhase.RECORDING)
        return [Record(pending)]

    def manifest_failed(self, checkpoint: CheckpointId, reason: str, *, now_ms: int) -> list[CheckpointEffect]:
        pending = self._pending.get(checkpoint)
        if pending is None or pending.phase is not CheckpointPhase.WRITING:
            return []
        return self._abort(pending, f"the manifest could not be written: {reason}", now_ms)

    def entry_created(self, checkpoint: CheckpointId, *, now_ms: int) -> list[CheckpointEffect]:
        pending = self._pending.pop(checkpoint)
        pending.move(CheckpointPhase.COMPLETED)
        self._last_end_ms = now_ms
        self._consecutive_failures = 0
        return [Completed(pending, CommitPermit(checkpoint, self._generation))]

    def abort_all(self, reason: str, *, now_ms: int) -> list[CheckpointEffect]:
        """Failover or shutdown. What is being recorded stays: the log decides about it."""
        effects: list[CheckpointEffect] = []
        for pending in list(self._pending.values()):
            if pending.phase is not CheckpointPhase.RECORDING:
                effects += self._abort(pending, reason, now_ms, counts=False)
        return effects

    def _is_due(self, now_ms: int) -> bool:
        assert self._config.interval_ms is not None
        return (
            now_ms - self._last_trigger_ms >= self._config.interval_ms
            and now_ms - self._last_end_ms >= self._config.min_pause_ms
            and not self._pending
        )

    def _abort(self, pending: PendingCheckpoint, reason: str, now_ms: int, *, counts: bool = True) -> list[CheckpointEffect]:
        pending.move(CheckpointPhase.ABORTED)
        del self._pending[pending.checkpoint]
        self._last_end_ms = now_ms
        effects: list[CheckpointEffect] = [Aborted(pending.checkpoint, pending.kind, reason)]
        if counts:
            self._consecutive_failures += 1
            tolerable = self._config.tolerable_failed_checkpoints
            if tolerable is not None and self._consecutive_failures > tolerable:
                effects.append(TooManyFailures(f"{self._consecutive_failures} checkpoints in a row failed, the last: {reason}"))
        return effects
