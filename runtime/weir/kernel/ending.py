"""The good end of a job: when its last checkpoint is due, of which kind, and whether it is there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from weir.kernel.checkpoints import CheckpointKind
from weir.kernel.effects import Outcome
from weir.protocol.ids import CheckpointId, Generation, SubtaskId


@dataclass(frozen=True, slots=True)
class _Awaited:
    generation: Generation
    checkpoint: CheckpointId
    kind: CheckpointKind


class LastCheckpoint:
    """A job ends with a checkpoint after which nothing is to come: all input has ended, or somebody wants it suspended.

    ``awaits`` is told each attempt at it; an aborted one is followed by another, in this generation or in a later one.
    """

    def __init__(self, subtasks: Iterable[SubtaskId]) -> None:
        self._subtasks = frozenset(subtasks)
        self._ended: set[SubtaskId] = set()
        self._suspend_wanted = False
        self._awaited: _Awaited | None = None

    @property
    def kind(self) -> CheckpointKind | None:
        """What the last one has to be; None: the job goes on. Input that has ended leaves nothing to suspend."""
        if self._ended == self._subtasks:
            return CheckpointKind.FINAL
        return CheckpointKind.SUSPEND if self._suspend_wanted else None

    @property
    def outcome(self) -> Outcome:
        """How the job ends once the last one is completed and committed."""
        return Outcome.FINISHED if self.kind is CheckpointKind.FINAL else Outcome.SUSPENDED

    def suspend(self) -> None:
        """Stays wanted over a recovery."""
        self._suspend_wanted = True

    def subtask_ended(self, subtask: SubtaskId) -> None:
        self._ended.add(subtask)

    def generation_runs(self) -> None:
        """Its subtasks began anew at the restore point: what had ended since then has not."""
        self._ended.clear()

    def awaits(self, generation: Generation, checkpoint: CheckpointId) -> None:
        """``checkpoint`` is about to be triggered as the last one."""
        assert self.kind is not None, "the job is not about to end"
        self._awaited = _Awaited(generation, checkpoint, self.kind)

    def is_completed(self, generation: Generation, newest: CheckpointId | None) -> bool:
        """The last one was triggered in this generation as what it has to be, and it is the ``newest`` completed one."""
        if newest is None or self.kind is None:
            return False
        return self._awaited == _Awaited(generation, newest, self.kind)
