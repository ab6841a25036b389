"""The lifecycle of a checkpoint in the coordinator, as a table.

    triggered (IN_PROGRESS) -> all acknowledged (WRITING) -> manifest written (RECORDING)
    -> entry created in the job log (COMPLETED), which subsumes older checkpoints

Before RECORDING, a checkpoint can be ABORTED by a timeout, a decline, a failover, a storage error or a shutdown. From
RECORDING on, only the job log decides: the checkpoint completes, or this process has been superseded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from weir.kernel.config import CheckpointConfig
from weir.protocol.channel_state import EdgeChannels
from weir.protocol.ids import Attempt, CheckpointId, Generation, SubtaskId
from weir.protocol.manifest import CheckpointStatistics
from weir.protocol.snapshots import Committable, OperatorSnapshot, SubtaskSnapshot


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
    """Triggered by a user. Retained like a periodic checkpoint."""
    SAVEPOINT = "savepoint"
    FINAL = "final"
    """The last checkpoint of a job whose input has ended. The job finishes when this checkpoint completes."""
    SUSPEND = "suspend"
    """The last checkpoint before the job is suspended."""

    @property
    def owned_by_user(self) -> bool:
        """Whether the checkpoint is never subsumed, and is kept until the user deletes it."""
        return self is CheckpointKind.SAVEPOINT

    @property
    def drains(self) -> bool:
        """Whether this checkpoint follows the last record of the job."""
        return self is CheckpointKind.FINAL


@dataclass(frozen=True, slots=True)
class CommitPermit:
    """Authority to commit all output up to ``checkpoint``.

    Only this module creates permits, when a checkpoint completes or is restored.
    """

    checkpoint: CheckpointId
    generation: Generation
    attempt: int = 0

    @property
    def holder(self) -> Attempt:
        return Attempt(self.generation, self.attempt)


@dataclass(slots=True)
class PendingCheckpoint:
    checkpoint: CheckpointId
    kind: CheckpointKind
    triggered_ms: int
    phase: CheckpointPhase = CheckpointPhase.IN_PROGRESS
    snapshots: dict[SubtaskId, SubtaskSnapshot] = field(default_factory=dict)
    latest_ack_ms: int = 0
    channels: tuple[EdgeChannels, ...] = ()
    """The channels of all edges, after the manifest is written."""
    statistics: CheckpointStatistics = CheckpointStatistics()
    """The statistics of all subtasks, after the manifest is written."""

    def move(self, phase: CheckpointPhase) -> None:
        assert phase in LEGAL[self.phase], f"checkpoint {self.checkpoint}: {self.phase} -> {phase}"
        self.phase = phase

    def ordered_snapshots(self) -> list[SubtaskSnapshot]:
        return [self.snapshots[subtask] for subtask in sorted(self.snapshots)]

    def operators(self) -> Iterator[OperatorSnapshot]:
        for snapshot in self.ordered_snapshots():
            yield from snapshot.operators

    def committables(self) -> tuple[Committable, ...]:
        return tuple(committable for operator in self.operators() for committable in operator.committables)


@dataclass(frozen=True, slots=True)
class Trigger:
    """Send the trigger to every slot with a source subtask, without delay."""

    checkpoint: CheckpointId
    kind: CheckpointKind


@dataclass(frozen=True, slots=True)
class AllAcknowledged:
    """Write the manifest."""

    pending: PendingCheckpoint


@dataclass(frozen=True, slots=True)
class ManifestWritten:
    """The manifest is durable: create the checkpoint's entry in the job log."""

    pending: PendingCheckpoint


@dataclass(frozen=True, slots=True)
class Completed:
    """Commit the output with ``permit``, and notify the subtasks."""

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


CheckpointEffect: TypeAlias = Trigger | AllAcknowledged | ManifestWritten | Completed | Aborted | TooManyFailures


def permit_for_restore(checkpoint: CheckpointId, generation: Generation) -> CommitPermit:
    """Return the permit to recommit all output up to a restored checkpoint. The log must contain the checkpoint."""
    return CommitPermit(checkpoint, generation)


class CheckpointCoordinator:
    """Triggers and tracks the checkpoints of one generation. Every method returns the effects to execute, in order."""

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
                subtasks = ", ".join(str(subtask) for subtask in missing[:4])
                others = f" and {len(missing) - 4} others" if len(missing) > 4 else ""
                late = f"not acknowledged within {self._config.timeout_ms / 1000:g} s by {subtasks}{others}"
                effects += self._abort(pending, late, now_ms)
        if any(isinstance(effect, TooManyFailures) for effect in effects):
            return effects  # The job fails over now, so a new checkpoint would be aborted before its trigger is sent.
        due_ms = self.due_ms
        if due_ms is not None and may_trigger and now_ms >= due_ms:
            effects += self.trigger(CheckpointKind.PERIODIC, now_ms=now_ms)
        return effects

    def trigger(self, kind: CheckpointKind, *, now_ms: int) -> list[CheckpointEffect]:
        assert not self._pending, "a checkpoint is already pending"
        checkpoint = self._next
        self._next = CheckpointId(checkpoint + 1)
        self._last_trigger_ms = now_ms
        self._pending[checkpoint] = PendingCheckpoint(checkpoint, kind, now_ms)
        return [Trigger(checkpoint, kind)]

    def acknowledge(
        self, checkpoint: CheckpointId, snapshots: Iterable[SubtaskSnapshot], *, now_ms: int
    ) -> list[CheckpointEffect]:
        """A duplicate or late acknowledgement has no effect."""
        pending = self._pending.get(checkpoint)
        if pending is None or pending.phase is not CheckpointPhase.IN_PROGRESS:
            return []
        for snapshot in snapshots:
            subtask = SubtaskId(snapshot.chain, snapshot.index)
            if subtask in self._subtasks and subtask not in pending.snapshots:
                pending.snapshots[subtask] = snapshot
                pending.latest_ack_ms = now_ms
        if len(pending.snapshots) < len(self._subtasks):
            return []
        pending.move(CheckpointPhase.WRITING)
        return [AllAcknowledged(pending)]

    def decline(self, checkpoint: CheckpointId, subtask: SubtaskId, reason: str, *, now_ms: int) -> list[CheckpointEffect]:
        pending = self._pending.get(checkpoint)
        if pending is None or pending.phase is not CheckpointPhase.IN_PROGRESS:
            return []
        return self._abort(pending, f"subtask {subtask} declined: {reason}", now_ms)

    def manifest_written(
        self, checkpoint: CheckpointId, channels: tuple[EdgeChannels, ...], statistics: CheckpointStatistics
    ) -> list[CheckpointEffect]:
        """``channels`` and ``statistics`` are those in the manifest. The writer of the manifest computes them, because this takes
        long for a job with many channels."""
        pending = self._pending.get(checkpoint)
        if pending is None or pending.phase is not CheckpointPhase.WRITING:
            return []
        pending.channels, pending.statistics = channels, statistics
        pending.move(CheckpointPhase.RECORDING)
        return [ManifestWritten(pending)]

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
        """For a failover or a shutdown.

        A checkpoint in RECORDING is not aborted, because the log decides whether it completes.
        """
        effects: list[CheckpointEffect] = []
        for pending in list(self._pending.values()):
            if pending.phase is not CheckpointPhase.RECORDING:
                effects += self._abort(pending, reason, now_ms, counts=False)
        return effects

    @property
    def due_ms(self) -> int | None:
        """The time of the next periodic trigger, or None if no trigger is due before a pending checkpoint has ended."""
        if not self._periodic or self._pending:
            return None
        assert self._config.interval_ms is not None
        return max(self._last_trigger_ms + self._config.interval_ms, self._last_end_ms + self._config.min_pause_ms)

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


@dataclass(frozen=True, slots=True)
class _Expected:
    generation: Generation
    checkpoint: CheckpointId
    kind: CheckpointKind


class LastCheckpoint:
    """The checkpoint that ends a job: FINAL when all input has ended, or SUSPEND on request.

    Call ``expect`` before each attempt to take this checkpoint. If an attempt aborts, another attempt follows in this generation
    or a later generation.
    """

    def __init__(self, subtasks: Iterable[SubtaskId]) -> None:
        self._subtasks = frozenset(subtasks)
        self._ended: set[SubtaskId] = set()
        self._suspending = False
        self._expected: _Expected | None = None

    @property
    def kind(self) -> CheckpointKind | None:
        """Return the kind of checkpoint that must end the job, or None while the job continues.

        FINAL takes precedence, because a job whose input has ended cannot be suspended.
        """
        if self._ended == self._subtasks:
            return CheckpointKind.FINAL
        return CheckpointKind.SUSPEND if self._suspending else None

    def suspend(self) -> None:
        """Request a SUSPEND checkpoint. The request survives a recovery."""
        self._suspending = True

    def subtask_ended(self, subtask: SubtaskId) -> None:
        self._ended.add(subtask)

    def slot_restarted(self, index: int) -> None:
        """Forget which subtasks of a slot have ended, because the slot restarts from the restore point."""
        self._ended = {subtask for subtask in self._ended if subtask.index != index}

    def generation_started(self) -> None:
        """Forget which subtasks have ended, because all subtasks restart from the restore point."""
        self._ended.clear()

    def expect(self, generation: Generation, checkpoint: CheckpointId) -> None:
        """Call this method before triggering ``checkpoint`` as the last checkpoint."""
        assert self.kind is not None, "the job is not ending"
        self._expected = _Expected(generation, checkpoint, self.kind)

    def is_completed(self, generation: Generation, newest: CheckpointId | None) -> bool:
        """Return whether the checkpoint that ends the job is completed.

        ``newest`` is the newest completed checkpoint. The result is True if ``newest`` was triggered in ``generation`` to end the
        job, and has the required kind.
        """
        if newest is None or self.kind is None:
            return False
        return self._expected == _Expected(generation, newest, self.kind)
