"""The effects that the job master returns for the coordinator to execute.

"Answer with X or Y" means: after the effect, the coordinator calls the method X or Y of the job master.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from weir.kernel.checkpoints import CheckpointKind, CommitPermit, PendingCheckpoint
from weir.kernel.restore import RestorePoint
from weir.protocol.events import RecoveryStrategy
from weir.protocol.ids import CheckpointId, CommandId, Generation, OperatorUid, SlotIncarnation, SlotIndex
from weir.protocol.manifest import AssignerState
from weir.protocol.messages import ToSlot
from weir.protocol.profiles import SlotProfile
from weir.protocol.snapshots import Committable, JsonValue


@dataclass(frozen=True, slots=True)
class Send:
    to: SlotIncarnation
    message: ToSlot


@dataclass(frozen=True, slots=True)
class DropSlot:
    """Close the connection of a slot that is dead, hung or unresponsive, and have Spark replace the slot."""

    incarnation: SlotIncarnation
    reason: str


@dataclass(frozen=True, slots=True)
class StartGeneration:
    """Create the entry that fences all older generations."""

    generation: Generation
    restored_from: CheckpointId | None
    first_checkpoint: CheckpointId
    """The first checkpoint id of the generation, which is higher than every id that this process has triggered."""


@dataclass(frozen=True, slots=True)
class RecordCompleted:
    """Create the entry that completes the checkpoint. The manifest of the checkpoint is already written."""

    generation: Generation
    pending: PendingCheckpoint


LogRequest: TypeAlias = StartGeneration | RecordCompleted


@dataclass(frozen=True, slots=True)
class AppendLog:
    """Answer with on_log_created, on_log_superseded or on_log_failed. At most one append is open."""

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
    """Before the deployment, commit all output up to the restore point, and abort or revoke all later output.

    ``enumerate_sources``: the sources whose splits must be enumerated, because the restore point does not contain these sources.
    Answer with on_prepared or on_prepare_failed. The argument ``split_lists`` of on_prepared contains the split lists of these
    sources and of all sources in the restore point.
    """

    generation: Generation
    permit: CommitPermit | None
    point: RestorePoint | None
    enumerate_sources: tuple[OperatorUid, ...]
    delay_ms: int = 0


@dataclass(frozen=True, slots=True)
class Discover:
    """List the source again. Answer with on_discovered or on_discovery_failed.

    ``known``: what the source knew after its last discovery. ``first``: the index of the first split that is found. Before the
    answer, a split list with the found splits and the new value of ``known`` must be durable.
    """

    generation: Generation
    source: OperatorUid
    known: JsonValue
    first: int


@dataclass(frozen=True, slots=True)
class Commit:
    """Answer with on_committed or on_commit_failed. A commit waits for all earlier commits."""

    permit: CommitPermit
    committables: tuple[Committable, ...]
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class DiscardOutput:
    """Delete the output that earlier attempts of the slot ``slot`` have staged for checkpoints after ``checkpoint``. The job does not
    wait for the deletion. If it fails, the next generation deletes the output."""

    generation: Generation
    slot: SlotIndex
    attempt: int
    """The new attempt of the slot."""
    checkpoint: CheckpointId


class JobOutcome(StrEnum):
    FINISHED = "finished"
    SUSPENDED = "suspended"
    FAILED = "failed"
    CANCELED = "canceled"
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True)
class Finish:
    """The last effect, which ends the process. ``kind`` is the class name of a failure's first cause."""

    outcome: JobOutcome
    reason: str = ""
    kind: str = ""


class ReportKind(StrEnum):
    STARTING = "starting"
    FAILURE = "failure"
    REPLACING = "replacing"
    RECOVERED = "recovered"
    WAITING_FOR_SLOTS = "waiting_for_slots"
    RETRYING = "retrying"
    SLOW = "slow"
    WARNING = "warning"
    CHECKPOINT_TRIGGERED = "checkpoint_triggered"
    CHECKPOINT_COMPLETED = "checkpoint_completed"
    CHECKPOINT_ABORTED = "checkpoint_aborted"
    PROFILE_ENDED = "profile_ended"


@dataclass(frozen=True, slots=True)
class Report:
    """Information for users and the control plane. Nothing depends on it."""

    kind: ReportKind
    text: str
    checkpoint: CheckpointId | None = None
    generation: Generation | None = None
    pending: PendingCheckpoint | None = None
    value_ms: int | None = None
    """The downtime (RECOVERED), or the duration since the trigger (CHECKPOINT_COMPLETED)."""
    records: int = 0
    """The number of records that the sources had read up to the checkpoint that the generation restores (STARTING), or up to the
    completed checkpoint (CHECKPOINT_COMPLETED). REPLACING: the number of records that the failed slot had read between its
    deployment and the restored checkpoint."""
    slot: SlotIndex | None = None
    """The slot that is replaced (REPLACING)."""
    strategy: RecoveryStrategy = RecoveryStrategy.FULL
    """The way in which the job has recovered (RECOVERED)."""
    command: CommandId | None = None
    """The command that requested the profile (PROFILE_ENDED)."""
    profile: SlotProfile | None = None
    """The profile (PROFILE_ENDED). If ``profile`` is None, ``text`` says why there is no profile."""

    @classmethod
    def starting(cls, generation: Generation, *, records: int) -> Report:
        """The first report of a generation."""
        return cls(ReportKind.STARTING, "", generation=generation, records=records)

    @classmethod
    def failure(cls, generation: Generation, reason: str) -> Report:
        return cls(ReportKind.FAILURE, reason, generation=generation)

    @classmethod
    def replacing(cls, generation: Generation, slot: SlotIndex, checkpoint: CheckpointId, *, records: int) -> Report:
        """A slot is deployed again while the other slots continue. If the slot starts without state, ``checkpoint`` is 0."""
        restores = f"restores checkpoint {checkpoint}" if checkpoint else "starts without state"
        text = f"slot {slot} {restores}, and the other slots continue"
        return cls(ReportKind.REPLACING, text, checkpoint, generation, records=records, slot=slot)

    @classmethod
    def recovered(
        cls,
        generation: Generation,
        checkpoint: CheckpointId | None,
        *,
        took_ms: int,
        strategy: RecoveryStrategy = RecoveryStrategy.FULL,
    ) -> Report:
        text = f"running again from checkpoint {'none' if checkpoint is None else checkpoint}"
        return cls(ReportKind.RECOVERED, text, generation=generation, value_ms=took_ms, strategy=strategy)

    @classmethod
    def waiting_for_slots(cls, generation: Generation, reason: str) -> Report:
        return cls(ReportKind.WAITING_FOR_SLOTS, reason, generation=generation)

    @classmethod
    def retrying(cls, generation: Generation, reason: str) -> Report:
        """A request to storage or to a sink has failed and is sent again after a delay."""
        return cls(ReportKind.RETRYING, reason, generation=generation)

    @classmethod
    def slow(cls, generation: Generation, reason: str) -> Report:
        """A slot takes long to finish a step or a blocking call, or to cancel its subtasks. If ``reason`` is empty, the slot is
        not slow any more."""
        return cls(ReportKind.SLOW, reason, generation=generation)

    @classmethod
    def warning(cls, generation: Generation, text: str) -> Report:
        """A problem that the user must know about. The job continues."""
        return cls(ReportKind.WARNING, text, generation=generation)

    @classmethod
    def triggered(cls, checkpoint: CheckpointId, kind: CheckpointKind) -> Report:
        return cls(ReportKind.CHECKPOINT_TRIGGERED, kind, checkpoint=checkpoint)

    @classmethod
    def completed(cls, generation: Generation, pending: PendingCheckpoint, *, records: int, now_ms: int) -> Report:
        took_ms = now_ms - pending.triggered_ms
        return cls(ReportKind.CHECKPOINT_COMPLETED, pending.kind, pending.checkpoint, generation, pending, took_ms, records)

    @classmethod
    def aborted(cls, checkpoint: CheckpointId, reason: str) -> Report:
        return cls(ReportKind.CHECKPOINT_ABORTED, reason, checkpoint=checkpoint)

    @classmethod
    def profile_ended(cls, command: CommandId, profile: SlotProfile | None, problem: str) -> Report:
        return cls(ReportKind.PROFILE_ENDED, problem, command=command, profile=profile)


StorageEffect: TypeAlias = AppendLog | WriteManifest | Prepare | Discover | Commit | DiscardOutput
"""An effect on storage, a source or a sink."""
Effect: TypeAlias = Send | DropSlot | StorageEffect | Finish | Report
