"""What the job master asks its surroundings to do, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from weir.kernel.checkpoints import CommitPermit, PendingCheckpoint
from weir.kernel.restore import RestorePoint
from weir.protocol.ids import CheckpointId, Generation, OperatorUid, SlotIncarnation
from weir.protocol.manifest import AssignerState
from weir.protocol.messages import ToSlot
from weir.protocol.snapshots import Committable


@dataclass(frozen=True, slots=True)
class Send:
    to: SlotIncarnation
    message: ToSlot


@dataclass(frozen=True, slots=True)
class DropSlot:
    """Close its connection and see to it that Spark puts another in its place: it is dead, hung or not obeying."""

    incarnation: SlotIncarnation
    reason: str


@dataclass(frozen=True, slots=True)
class StartGeneration:
    """Create the entry that fences all older generations."""

    generation: Generation
    restored_from: CheckpointId | None
    first_checkpoint: CheckpointId
    """Above every id that this process has ever triggered."""


@dataclass(frozen=True, slots=True)
class RecordCompleted:
    """Create the entry that makes the checkpoint completed. Its manifest is already written."""

    generation: Generation
    pending: PendingCheckpoint


LogRequest: TypeAlias = StartGeneration | RecordCompleted


@dataclass(frozen=True, slots=True)
class AppendLog:
    """Answer with on_log_created, on_log_superseded or on_log_failed. One at a time."""

    request: LogRequest
    delay_ms: int = 0


@dataclass(frozen=True, slots=True)
class WriteManifest:
    """Answer with on_manifest_written or on_manifest_failed."""

    generation: Generation
    pending: PendingCheckpoint
    assigners: Mapping[OperatorUid, AssignerState]


@dataclass(frozen=True, slots=True)
class Prepare:
    """Before the slots start: commit everything up to the restore point, abort (or abandon) everything after it.

    ``enumerate_sources``: sources whose input is to be enumerated, as the job starts from nothing or they are new in it.
    Answer with on_prepared or on_prepare_failed.
    """

    generation: Generation
    permit: CommitPermit | None
    point: RestorePoint | None
    enumerate_sources: tuple[OperatorUid, ...]
    delay_ms: int = 0


@dataclass(frozen=True, slots=True)
class Commit:
    """Answer with on_committed or on_commit_failed. Later ones wait for earlier ones."""

    permit: CommitPermit
    committables: tuple[Committable, ...]
    attempt: int = 1


class Outcome(StrEnum):
    FINISHED = "finished"
    SUSPENDED = "suspended"
    FAILED = "failed"
    CANCELED = "canceled"
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True)
class Finish:
    """The last effect: the process lets go of everything. ``kind`` is the class name of the first cause."""

    outcome: Outcome
    reason: str = ""
    kind: str = ""


class ReportKind(StrEnum):
    FAILURE = "failure"
    RECOVERED = "recovered"
    CHECKPOINT_TRIGGERED = "checkpoint_triggered"
    CHECKPOINT_COMPLETED = "checkpoint_completed"
    CHECKPOINT_ABORTED = "checkpoint_aborted"


@dataclass(frozen=True, slots=True)
class Report:
    """Something a person or the control plane may want to know. Carries no obligation."""

    kind: ReportKind
    text: str
    checkpoint: CheckpointId | None = None
    generation: Generation | None = None
    pending: PendingCheckpoint | None = None
    value_ms: int | None = None


Effect: TypeAlias = Send | DropSlot | AppendLog | WriteManifest | Prepare | Commit | Finish | Report
