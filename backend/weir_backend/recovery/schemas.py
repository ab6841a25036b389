"""What is said of plans."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from weir_backend.kit.forms import Form, Shown
from weir_backend.kit.listing import BIGINT_MAX
from weir_backend.models import PlanKind, PlanPhase, PlanState
from weir_backend.recovery.elsewhere import PathElsewhere

Number = Annotated[int, Field(ge=1, le=BIGINT_MAX)]


class RollbackRequest(Form):
    """Go back to a completed checkpoint or savepoint of this job. What was committed after it is taken back where the sink can."""

    kind: Literal["rollback"]
    checkpoint: Number


class RestoreRequest(Form):
    """Go on from a checkpoint that is somewhere else: of another job, or a copy. It is copied, and what is there is never changed. What
    this job has committed is taken back where the sink can. `path`: a directory of checkpoints with one job in it, or the one of a
    job, at a place that the installation allows. `checkpoint`: its number there; without it the newest."""

    kind: Literal["restore"]
    path: PathElsewhere
    checkpoint: Number | None = None


class UndoRequest(Form):
    """Return to where the job was when plan `plan` stopped it."""

    kind: Literal["undo"]
    plan: Number


class UpgradeRequest(Form):
    """Run another version of the spec. `savepoint`: stop with a last checkpoint and go on from it. `last-state`: stop at once and go
    on from the last completed one. `stateless`: stop with a last checkpoint, so that it can be undone, and begin anew without any
    state; what was committed is taken back where the sink can, and all input is read again."""

    kind: Literal["upgrade"]
    spec: Number
    mode: Literal["savepoint", "last-state", "stateless"] = "savepoint"


class RescaleRequest(Form):
    """Run with another parallelism, from a last checkpoint."""

    kind: Literal["rescale"]
    parallelism: Annotated[int, Field(ge=1, le=1_024)]


PlanRequest: TypeAlias = Annotated[
    RollbackRequest | RestoreRequest | UndoRequest | UpgradeRequest | RescaleRequest, Field(discriminator="kind")
]


class PlanDraft(Form):
    """`dry_run`: show what would happen, and keep nothing."""

    request: PlanRequest
    dry_run: bool = False


class SourcePosition(Shown):
    """`splits`: unfinished ones, which are read again from their position; `position` as the source writes it."""

    source: str
    splits: list[Any]


class SinkEffect(Shown):
    """`revocable`: what is abandoned is taken back from readers. If not, they will see these records twice. `records`: of one that is not
    revocable, how many were committed with `abandoned` and `again` when this was looked into; null: that is not known."""

    sink: str
    kind: str
    revocable: bool
    records: int | None = None


class Origin(Shown):
    """A checkpoint elsewhere: number `checkpoint` of the job that its log calls `job`."""

    job: str
    checkpoint: int
    completed_at: datetime
    state_bytes: int
    is_savepoint: bool


class Inspection(Shown):
    """What a worker found in checkpoint storage. `abandoned`: checkpoints that are left behind, and with them those that the job completes
    until it is stopped; `returning`: those that are shown again. `again`: those that the job goes on from without anybody knowing that what
    was committed with them was handed on, so it is, once more: a sink that is not revocable shows it twice.
    `misfit`: why the graph that is to run cannot go on with that state, by the name of an operator. `origin`: of a restore, what was
    found there. The plan would work if `whole` and no `misfit`."""

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
    origin: Origin | None = None


class Preview(Shown):
    """`checkpoint`: the one that the job will go on from; None: the one that it is stopped with, unless `origin`, the path of one that is
    elsewhere, or `anew` (without any state) says otherwise. `age_s`: how old it was when this was
    computed. `restarts`: operators that begin anew: all of them, as a driver is replaced. `duplicates`: sinks whose readers will
    see records twice: those that were committed with `inspection.abandoned` (and until the job is stopped) and `inspection.again`; without
    a checkpoint to go back to, those that were committed with the one that it is stopped with."""

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
    inspection: Inspection | None
    """None: a worker is still looking."""


class PlanShown(Shown):
    id: int | None
    """None: a dry run, not kept."""
    job_id: int
    kind: PlanKind
    state: PlanState
    phase: PlanPhase | None
    job_version: int
    request: dict[str, Any]
    preview: Preview
    undo_of: int | None
    safety_checkpoint: int | None
    problem: str | None
    operation_id: int | None
    created_by: int | None
    approved_by: int | None
    created_at: datetime | None
    approved_at: datetime | None
    ended_at: datetime | None
