"""Plans as the API accepts and returns them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from weir.protocol.events import RecoveryStrategy
from weir_backend.actions.schemas import ActionRead
from weir_backend.kit.listing import BIGINT_MAX
from weir_backend.kit.schemas import RequestModel, ResponseModel
from weir_backend.models import PlanKind, PlanPhase, PlanState
from weir_backend.recovery.external_path import CheckpointPath

RECENT_RECOVERIES = 20


class ExchangeRead(ResponseModel):
    """Slots send records of the operator `source` to the operator `target` in other slots."""

    source: str
    target: str


class CoverageRead(ResponseModel):
    """How the job would recover if one of its slots failed now. `strategy` is null if the job has no driver that has reported its graph. `sentence`
    says which slots restore which checkpoint, and why. `checkpoint` is the newest completed checkpoint, or null if the slots would start without
    state. If `strategy` is `full` because slots exchange records, `exchanges` lists the operators between which they do. `recoveries` is the number
    of recent recoveries with this strategy, at most 20, and `median_ms` and `max_ms` are their downtime in milliseconds."""

    strategy: RecoveryStrategy | None
    sentence: str
    checkpoint: int | None
    exchanges: list[ExchangeRead]
    recoveries: int
    median_ms: int | None
    max_ms: int | None


Number = Annotated[int, Field(ge=1, le=BIGINT_MAX)]


class RollbackRequest(RequestModel):
    """Restore a completed checkpoint or savepoint of this job. Revocable sinks revoke the output that was committed after this checkpoint."""

    kind: Literal["rollback"]
    checkpoint: Number


class RestoreRequest(RequestModel):
    """Restore a checkpoint of another job, or a copy of a checkpoint. The driver copies the files of the checkpoint and never changes the
    originals. Revocable sinks revoke the committed output of this job. `path` is a checkpoint directory that contains one job, or the directory
    of one job. The path must be below a directory that the installation allows. `checkpoint` is the number of a checkpoint in the directory
    `path`. If `checkpoint` is null, the newest checkpoint of the current branch is restored."""

    kind: Literal["restore"]
    path: CheckpointPath
    checkpoint: Number | None = None


class UndoRequest(RequestModel):
    """Undo the plan `plan`. The undo restores the safety savepoint of the plan, and the version of the spec that the job had before the plan."""

    kind: Literal["undo"]
    plan: Number


class UpgradeRequest(RequestModel):
    """Run a different version of the spec. With mode `savepoint`, the job stops with a last checkpoint and resumes from this checkpoint. With mode
    `last-state`, the job stops immediately and resumes from the newest completed checkpoint. With mode `stateless`, the job stops with a last
    checkpoint, which an undo can restore, and starts without state. After a start without state, revocable sinks revoke committed output, and all
    input is read again."""

    kind: Literal["upgrade"]
    spec: Number
    mode: Literal["savepoint", "last-state", "stateless"] = "savepoint"


class RescaleRequest(RequestModel):
    """Run the job with a different parallelism. The job stops with a last checkpoint and resumes from this checkpoint."""

    kind: Literal["rescale"]
    parallelism: Annotated[int, Field(ge=1, le=1_024)]


PlanRequest: TypeAlias = Annotated[
    RollbackRequest | RestoreRequest | UndoRequest | UpgradeRequest | RescaleRequest, Field(discriminator="kind")
]


class PlanCreate(RequestModel):
    """A plan to propose. If `dry_run` is true, the plan is returned but not saved."""

    request: PlanRequest
    dry_run: bool = False


class SourcePosition(ResponseModel):
    """The positions from which a source continues. `splits` contains the unfinished splits of the source. Each split contains its position, in the
    format of the source."""

    source: str
    splits: list[Any]


class SinkEffect(ResponseModel):
    """The effect of the plan on the output of a sink. If `revocable` is true, the sink revokes the output of abandoned checkpoints. If
    `revocable` is false, the readers of the sink see the records of abandoned checkpoints twice. If a sink is not revocable,
    `records` is the number of records that the checkpoints in `abandoned` and `recommitted` have committed. A worker counts the records when it
    inspects the plan. `records` is null if the number of records is unknown."""

    sink: str
    kind: str
    revocable: bool
    records: int | None = None


class ExternalCheckpointRead(ResponseModel):
    """A checkpoint of another job or directory. `job` is the name of the job in its job log. `checkpoint` is the number of the checkpoint in the
    same job log."""

    job: str
    checkpoint: int
    completed_at: datetime
    state_bytes: int
    is_savepoint: bool


class PlanInspection(ResponseModel):
    """The results of the inspection of checkpoint storage by a worker. The plan can be applied if the checkpoint is `intact` and `incompatibility` is
    null.

    `abandoned` contains the checkpoints that the plan abandons. The plan also abandons the checkpoints that the job completes until it is
    stopped. `reinstated` contains the checkpoints whose revoked output is published again. `recommitted` contains the checkpoints whose output is
    committed again, because this output may not be published yet. The readers of a sink that is not revocable can see the output of these
    checkpoints twice. `incompatibility` is the reason why the graph cannot restore the state. `external_checkpoint` is the checkpoint at the
    `path` of the plan."""

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
    """The changes that the plan would make.

    The job restores `checkpoint` or the external checkpoint at `path`, or starts without state (`without_state`). If the plan sets none of
    `checkpoint`, `path` and `without_state`, the job resumes from its newest checkpoint. A running job is stopped first. `age_s` is the age of
    `checkpoint` when the plan was proposed. `restarted_operators` contains all operators, because the driver is replaced.
    `sinks_with_duplicates` contains the sinks whose readers can see records twice. Readers can see the records of these checkpoints twice: the
    checkpoints in `inspection.abandoned` and `inspection.recommitted`, and the checkpoints that the job completes until it is stopped. If
    the job resumes from its newest checkpoint, all records that readers can see twice belong to this checkpoint."""

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
    """The results of the inspection, or null until a worker has inspected the checkpoint."""


class PlanApproval(RequestModel):
    """`digest` is the value of `PlanRead.digest` that belongs to the preview that the user has reviewed."""

    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class PlanRead(ResponseModel):
    """`digest` identifies the content of the plan. The digest changes if an inspection changes the preview."""

    id: int | None
    """The id of the plan, or null for a dry run, because a dry run does not save the plan."""
    job_id: int
    kind: PlanKind
    state: PlanState
    phase: PlanPhase | None
    job_version: int
    digest: str
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
