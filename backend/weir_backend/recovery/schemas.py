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
    records were committed with `abandoned` and `again` at the time of the inspection; null: unknown."""

    sink: str
    kind: str
    revocable: bool
    records: int | None = None


class RestoreOrigin(ResponseModel):
    """A checkpoint elsewhere: number `checkpoint` of the job that its log calls `job`."""

    job: str
    checkpoint: int
    completed_at: datetime
    state_bytes: int
    is_savepoint: bool


class PlanInspection(ResponseModel):
    """What a worker found in checkpoint storage. `abandoned`: checkpoints that the plan abandons; until the job is stopped, those that it
    completes are added. `returning`: those whose output is reinstated. `again`: those whose output may not have been published and is committed
    again: a sink that is not revocable shows it twice. `misfit`: why the graph that is to run is incompatible with the state. `origin`: for a
    restore by path, the checkpoint that was found. The plan can be applied if `whole` and no `misfit`."""

    whole: bool
    damage: str | None
    files: int
    bytes: int
    abandoned: list[int]
    returning: list[int]
    again: list[int] = []
    sources: list[SourcePosition]
    sinks: list[SinkEffect]
    notes: list[str]
    misfit: str | None = None
    origin: RestoreOrigin | None = None


class PlanPreview(ResponseModel):
    """`checkpoint`: the one that the job will restore; null: the one that it is stopped with, unless `origin` (the path of another one) or `anew`
    (no state) says otherwise. `age_s`: its age when this was computed. `restarts`: the operators that restart: all, as the driver is replaced.
    `duplicates`: sinks whose readers see records twice: those committed with `inspection.abandoned` (and until the job is stopped) and
    `inspection.again`; for a plan without a checkpoint, those committed with the one that the job is stopped with."""

    checkpoint: int | None
    completed_at: datetime | None
    age_s: float | None
    state_bytes: int | None
    is_savepoint: bool
    origin: str | None = None
    anew: bool = False
    stop_with: str
    steps: list[str]
    restarts: list[str]
    warnings: list[str]
    duplicates: list[str]
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
