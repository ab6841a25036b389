"""Plans as the API accepts and returns them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from weir_backend.actions.schemas import ActionRead
from weir_backend.kit.listing import BIGINT_MAX
from weir_backend.kit.schemas import RequestModel, ResponseModel
from weir_backend.models import PlanKind, PlanPhase, PlanState
from weir_backend.recovery.external_path import CheckpointPath

Number = Annotated[int, Field(ge=1, le=BIGINT_MAX)]


class RollbackRequest(RequestModel):
    """Restore a completed checkpoint or savepoint of this job. Sinks revoke the output committed after it, where they can."""

    kind: Literal["rollback"]
    checkpoint: Number


class RestoreRequest(RequestModel):
    """Restore a checkpoint of another job, or a copy. It is copied; the original is never changed. Sinks revoke the committed output of this job,
    where they can. `path`: a checkpoint directory with one job, or the directory of one job, below a directory that the installation allows.
    `checkpoint`: its number there; without it, the newest."""

    kind: Literal["restore"]
    path: CheckpointPath
    checkpoint: Number | None = None


class UndoRequest(RequestModel):
    """Return to where the job was when plan `plan` stopped it."""

    kind: Literal["undo"]
    plan: Number


class UpgradeRequest(RequestModel):
    """Run another version of the spec. `savepoint`: stop with a last checkpoint and resume from it. `last-state`: stop at once and resume from the
    newest completed checkpoint. `stateless`: stop with a last checkpoint, which an undo can return to, and start without state; sinks revoke
    committed output where they can, and all input is read again."""

    kind: Literal["upgrade"]
    spec: Number
    mode: Literal["savepoint", "last-state", "stateless"] = "savepoint"


class RescaleRequest(RequestModel):
    """Run with another parallelism, from a last checkpoint."""

    kind: Literal["rescale"]
    parallelism: Annotated[int, Field(ge=1, le=1_024)]


PlanRequest: TypeAlias = Annotated[
    RollbackRequest | RestoreRequest | UndoRequest | UpgradeRequest | RescaleRequest, Field(discriminator="kind")
]


class PlanCreate(RequestModel):
    """`dry_run`: return the plan without saving it."""

    request: PlanRequest
    dry_run: bool = False


class SourcePosition(ResponseModel):
    """`splits`: the unfinished ones, which are read again from their position; `position` as the source writes it."""

    source: str
    splits: list[Any]


class SinkEffect(ResponseModel):
    """`revocable`: abandoned output is revoked. Otherwise readers see these records twice. `records`: for a sink that is not revocable, how many
    records were committed with `abandoned` and `recommitted` at the time of the inspection; null: unknown."""

    sink: str
    kind: str
    revocable: bool
    records: int | None = None


class ExternalCheckpointRead(ResponseModel):
    """A checkpoint of another job or directory: number `checkpoint` of the job that its log calls `job`."""

    job: str
    checkpoint: int
    completed_at: datetime
    state_bytes: int
    is_savepoint: bool


class PlanInspection(ResponseModel):
    """What a worker found in checkpoint storage. The plan can be applied if the checkpoint is `intact` and `incompatibility` is null.

    `abandoned`: the checkpoints that the plan abandons; those that the job completes before it is stopped are added. `reinstated`: the
    checkpoints whose revoked output is published again. `recommitted`: the checkpoints whose output may not have been published and is
    committed again; readers of a sink that is not revocable may see it twice. `incompatibility`: why the graph cannot restore the state.
    `external_checkpoint`: the checkpoint found at the plan's `path`."""

    intact: bool
    damage: str | None
    files: int
    bytes: int
    abandoned: list[int]
    reinstated: list[int]
    recommitted: list[int] = []
    sources: list[SourcePosition]
    sinks: list[SinkEffect]
    notes: list[str]
    incompatibility: str | None = None
    external_checkpoint: ExternalCheckpointRead | None = None


class PlanPreview(ResponseModel):
    """What the job restores: `checkpoint`, an external checkpoint at `path`, or nothing (`without_state`); otherwise the checkpoint that it is
    stopped with. `age_s`: age of `checkpoint` when the plan was made. `restarted_operators`: all, because the driver is replaced.
    `sinks_with_duplicates`: sinks whose readers see records twice: those committed with `inspection.abandoned` (and until the job is stopped)
    and `inspection.recommitted`; for a plan without a checkpoint, those committed with the one that the job is stopped with."""

    checkpoint: int | None
    completed_at: datetime | None
    age_s: float | None
    state_bytes: int | None
    is_savepoint: bool
    path: str | None = None
    without_state: bool = False
    stop_with: str
    steps: list[str]
    restarted_operators: list[str]
    warnings: list[str]
    sinks_with_duplicates: list[str]
    inspection: PlanInspection | None
    """Null: a worker is still inspecting the checkpoint."""


class PlanRead(ResponseModel):
    id: int | None
    """Null: a dry run, which is not saved."""
    job_id: int
    kind: PlanKind
    state: PlanState
    phase: PlanPhase | None
    job_version: int
    request: dict[str, Any]
    preview: PlanPreview
    undo_of: int | None
    safety_checkpoint: int | None
    problem: str | None
    operation_id: int | None
    created_by: int | None
    approved_by: int | None
    created_at: datetime | None
    approved_at: datetime | None
    ended_at: datetime | None
    actions: list[ActionRead]
