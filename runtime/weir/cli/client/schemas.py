"""Types of API responses, with only the fields that commands use. The JSON output of a command contains all fields."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict


class OperationRead(TypedDict):
    """An operation, which has ended if ``ended_at`` is set."""

    id: int
    job_id: int
    kind: str
    state: str
    request: dict[str, Any]
    result: dict[str, Any] | None
    problem: str | None
    steps: list[dict[str, str]]
    created_at: str
    deadline_at: str
    ended_at: str | None


class RunRead(TypedDict):
    id: int
    number: int
    state: str
    reason: str
    cause: str
    generation: int
    created_at: str
    running_at: str | None
    ended_at: str | None


class RunOfJobRead(RunRead):
    job_id: int


class LastCheckpointRead(TypedDict):
    number: int
    completed_at: str
    is_savepoint: bool
    end_to_end_ms: int | None
    state_bytes: int | None


class HealthReasonRead(TypedDict):
    code: str
    text: str


class BottleneckRead(TypedDict):
    sentence: str


class JobRead(TypedDict):
    id: int
    name: str
    description: str
    labels: dict[str, str]
    desired_state: str
    state: str
    health: str
    health_reason: str
    health_reasons: list[HealthReasonRead]
    bottleneck: BottleneckRead | None
    spec_number: int
    spec_state: str
    version: int
    restarts: int
    run: RunRead | None
    last_checkpoint: LastCheckpointRead | None
    operation: OperationRead | None


class SpecRead(TypedDict):
    id: int
    number: int
    body: dict[str, Any]
    state: str
    problem: str | None
    comment: str


class ArtifactRead(TypedDict):
    id: int
    digest: str
    name: str
    size: int


class SinkEffect(TypedDict):
    sink: str
    kind: str
    revocable: bool
    records: int | None


class SourcePosition(TypedDict):
    source: str
    splits: list[Any]


class ExternalCheckpointRead(TypedDict):
    job: str
    checkpoint: int
    completed_at: str
    state_bytes: int
    is_savepoint: bool


class PlanInspection(TypedDict):
    intact: bool
    damage: str | None
    files: int
    bytes: int
    abandoned: list[int]
    reinstated: list[int]
    recommitted: list[int]
    sources: list[SourcePosition]
    sinks: list[SinkEffect]
    notes: list[str]
    incompatibility: str | None
    external_checkpoint: ExternalCheckpointRead | None


class PlanPreview(TypedDict):
    checkpoint: int | None
    completed_at: str | None
    age_s: float | None
    state_bytes: int | None
    is_savepoint: bool
    path: str | None
    without_state: bool
    stop_with: str
    steps: list[str]
    restarted_operators: list[str]
    warnings: list[str]
    sinks_with_duplicates: list[str]
    inspection: PlanInspection | None


class PlanRead(TypedDict):
    id: int
    job_id: int
    kind: str
    state: str
    phase: str | None
    digest: str
    request: dict[str, Any]
    preview: PlanPreview
    safety_checkpoint: int | None
    problem: str | None
    operation_id: int | None
    created_at: str
    ended_at: str | None


class FieldChange(TypedDict):
    path: str
    before: Any
    after: Any


class SpecDiffRead(TypedDict):
    before: int
    after: int
    changes: list[FieldChange]
    code: str | None
    operators_added: list[str]
    operators_removed: list[str]
    operators_changed: list[str]


class ManifestResultRead(TypedDict):
    name: str
    dry_run: bool
    actions: list[str]
    changes: list[FieldChange]
    spec: int
    spec_before: int | None
    diff: SpecDiffRead | None
    plan: PlanRead | None
    operation: OperationRead | None
    job: JobRead | None


class SecretRead(TypedDict):
    """A secret of the platform, without its value."""

    id: int
    name: str
    description: str
    version: int
    created_at: str
    value_changed_at: str


class TokenRead(TypedDict):
    id: int
    name: str
    kind: str
    role: str
    rollback: bool
    created_at: str
    expires_at: str
    last_used_at: str | None
    revoked_at: str | None


class TokenCreatedRead(TokenRead):
    token: str


class SessionRead(TypedDict):
    name: str
    role: str
    permissions: list[str]
    expires_at: str


class SessionCreatedRead(SessionRead):
    token: str


class CheckpointRead(TypedDict):
    id: int
    number: int
    state: str
    trigger: str
    is_savepoint: bool
    completed_at: str | None
    triggered_at: str
    end_to_end_ms: int | None
    state_bytes: int | None
    pinned: bool
    discarded_at: str | None
    damage: str | None
    failure: str | None


class CheckpointDetailRead(CheckpointRead):
    """``statistics`` contains the statistics of the checkpoint and, for each chain, of its subtasks."""

    generation: int
    parent: int | None
    subtasks: int
    acknowledged: int
    statistics: dict[str, Any]


class FailureRead(TypedDict):
    id: int
    run_id: int
    kind: str
    reason: str
    at: str
    recovery: str | None
    recovered_at: str | None
    downtime_ms: int | None


class CoverageRead(TypedDict):
    """How a job would recover if one of its slots failed now."""

    sentence: str
    strategy: str | None
    checkpoint: int | None
    recoveries: int
    median_ms: int | None
    max_ms: int | None


class ComponentHealthRead(TypedDict):
    component: str
    status: str
    detail: str
    next_step: str
    up_at: str | None


class PlatformHealthRead(TypedDict):
    """The health of Postgres, Redis, the workers, beat, the data directory and the connections of drivers."""

    components: list[ComponentHealthRead]


class AlertRead(TypedDict):
    id: int
    job_id: int
    kind: str
    rule_name: str
    state: str
    message: str
    since: str
    resolved_at: str | None


class EventRead(TypedDict):
    number: int
    kind: str
    fields: dict[str, Any]
    at: str


class OperatorNameRead(TypedDict):
    uid: str


class SubtaskSeriesRead(TypedDict):
    """Time series of one subtask. Each list of values has as many elements as ``at``, the list of times."""

    chain: int
    index: int
    operators: list[OperatorNameRead]
    at: list[str]
    records_in_per_s: list[float]
    records_out_per_s: list[float]
    busy_ms_per_s: list[float]
    backpressure: list[str]


class OperatorStatus(TypedDict):
    """An operator of a job, with the newest rates of its subtasks."""

    uid: str
    kind: str
    name: str
    parallelism: int
    records_in_per_s: NotRequired[float]
    records_out_per_s: NotRequired[float]
    busy_ms_per_s: NotRequired[float]
    backpressure: NotRequired[str]
