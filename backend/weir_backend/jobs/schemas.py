"""Requests and responses about jobs."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, Field, StringConstraints

from weir.protocol.profiles import PROFILE_SECONDS_DEFAULT, PROFILE_SECONDS_MAX
from weir_backend.actions.schemas import ActionRead
from weir_backend.jobs.spec import JobSpec, with_defaults
from weir_backend.kit.schemas import LongText, Name, RequestModel, ResponseModel
from weir_backend.metrics.schemas import BottleneckRead
from weir_backend.models import DesiredState, OperationKind, OperationState, RunState, SpecState

_WORD = r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
_DOMAIN_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
LabelKey = Annotated[str, StringConstraints(pattern=rf"^({_DOMAIN_LABEL}(\.{_DOMAIN_LABEL})*/)?{_WORD}$", max_length=317)]
LabelValue = Annotated[str, StringConstraints(pattern=rf"^({_WORD})?$", max_length=63)]
Labels = Annotated[dict[LabelKey, LabelValue], Field(max_length=50)]
"""Labels have the same syntax as in Kubernetes: a key such as ``team`` or ``example.com/team``, and a value of at most 63 characters."""


class Health(StrEnum):
    HEALTHY = "healthy"
    DEGRADED = "degraded"
    """The job is not in its desired state, and Weir is working on it; or the job is running, but not well."""
    NEEDS_ATTENTION = "needs_attention"
    """The job is not in its desired state, and only a user can change that."""


class ReasonCode(StrEnum):
    """Why a job is unhealthy."""

    NO_CHECKPOINT = "no-checkpoint"
    """The job is running, but no checkpoint has completed for three checkpoint intervals (at least one minute)."""
    FAILED_CHECKPOINTS = "failed-checkpoints"
    """The job is running, but at least two checkpoints in a row have failed."""
    SLOW_CHECKPOINTS = "slow-checkpoints"
    """The job is running, but its newest checkpoint took longer than two checkpoint intervals (and longer than 10 seconds)."""
    NO_THROUGHPUT = "no-throughput"
    """The job is running, but a chain has processed no records for a minute, although records wait in its input."""
    BOTTLENECK = "bottleneck"
    """The job is running, but has had a bottleneck for two minutes, and its lag grows or its checkpoints are late."""
    RESTARTS = "restarts"
    """The job is running, but was restarted at least twice within ten minutes."""
    DRIVER_UNREACHABLE = "driver-unreachable"
    NOT_RUNNING = "not-running"
    RESTART_SCHEDULED = "restart-scheduled"
    COMPILING = "compiling"
    STOPPING = "stopping"
    RESTARTS_STOPPED = "restarts-stopped"
    INVALID_CODE = "invalid-code"


class JobCreate(RequestModel):
    """A job to create. If `start` is false, the job is created in the desired state SUSPENDED."""

    name: Name
    description: LongText = ""
    labels: Labels = {}
    spec: JobSpec
    comment: LongText = ""
    start: bool = True


class JobUpdate(RequestModel):
    """Changes to a job. Omitted fields keep their values."""

    description: LongText | None = None
    labels: Labels | None = None


class JobStart(RequestModel):
    """Options of a start. The options apply only to the next run of the job, not to later restarts.

    With `revoke_unknown_output`, the job starts even if its checkpoint directory is an older backup. The run revokes published output that the
    job log does not contain. The option `revoke_unknown_output` needs the permission `rollback`.
    """

    revoke_unknown_output: bool = False


class ProfileCreate(RequestModel):
    """A profile of a slot. `slot` is the number of the slot: slot N runs the subtasks with the index N."""

    slot: Annotated[int, Field(ge=0, le=(1 << 15) - 1)]
    seconds: Annotated[int, Field(ge=1, le=PROFILE_SECONDS_MAX)] = PROFILE_SECONDS_DEFAULT


class SpecCreate(RequestModel):
    """A version to add to the spec of a job. To run the new version, apply an upgrade plan."""

    spec: JobSpec
    comment: LongText = ""


class OperationRead(ResponseModel):
    """An asynchronous request and its outcome. `steps` are the steps so far. `problem` says why the operation failed."""

    id: int
    job_id: int
    kind: OperationKind
    state: OperationState
    request: dict[str, Any]
    result: dict[str, Any] | None
    problem: str | None
    steps: list[Any]
    created_by: int | None
    created_at: datetime
    deadline_at: datetime
    ended_at: datetime | None


class CheckpointSummaryRead(ResponseModel):
    id: int
    number: int
    completed_at: datetime
    is_savepoint: bool
    end_to_end_ms: int | None
    state_bytes: int | None


class RunSummaryRead(ResponseModel):
    """`graph_id` is null if the driver has not reported its graph yet."""

    id: int
    number: int
    state: RunState
    reason: str
    cause: str
    generation: int
    graph_id: int | None
    created_at: datetime
    running_at: datetime | None
    ended_at: datetime | None
    last_contact_at: datetime | None


class HealthReasonRead(ResponseModel):
    """Why a job is unhealthy. `text` is one or more sentences."""

    code: ReasonCode
    text: str


class JobRead(ResponseModel):
    """A job. `state` is the state of the newest run, or CREATED if the job has no run. `version` is the version for If-Match."""

    id: int
    name: str
    description: str
    labels: dict[str, str]
    desired_state: DesiredState
    state: RunState
    health: Health
    health_reason: str
    """The text of all `health_reasons`, or why the newest run of a stopped job failed; otherwise ''."""
    health_reasons: list[HealthReasonRead]
    """Why the job is unhealthy. The list is empty if the job is healthy."""
    bottleneck: BottleneckRead | None
    """The bottleneck of a running job. A job with a bottleneck can be healthy: it then processes records as fast as it can."""
    spec_number: int
    spec_state: SpecState
    version: int
    restarts: int
    restart_at: datetime | None
    run: RunSummaryRead | None
    last_checkpoint: CheckpointSummaryRead | None
    operation: OperationRead | None
    """The newest open operation."""
    actions: list[ActionRead]
    created_at: datetime
    updated_at: datetime


class SpecRead(ResponseModel):
    id: int
    job_id: int
    number: int
    artifact_id: int
    body: Annotated[dict[str, Any], AfterValidator(with_defaults)]
    state: SpecState
    problem: str | None
    graph_id: int | None
    comment: str
    created_by: int | None
    created_at: datetime


class FieldChange(ResponseModel):
    """`path` is the path of the field, separated by dots. `before` is null if the field was added, and `after` is null if the field was
    removed."""

    path: str
    before: Any
    after: Any


class SpecDiffRead(ResponseModel):
    """The changes from one version to another. `code` is a unified diff of the file of the job, or null if the file
    is not text or the files are too large to compare."""

    before: int
    after: int
    changes: list[FieldChange]
    code: str | None
    operators_added: list[str]
    operators_removed: list[str]
    operators_changed: list[str]


class SpecGraphRead(ResponseModel):
    """`body` is the physical graph, including the logical graph, in the format of `weir graph --json`."""

    id: int
    body: dict[str, Any]
