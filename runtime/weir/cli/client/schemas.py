"""Types of API responses: the fields that commands use. JSON output contains all fields of the response."""

from __future__ import annotations

from typing import Any, TypedDict


class Operation(TypedDict):
    """It has ended if ``ended_at`` is set."""

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


class Run(TypedDict):
    id: int
    number: int
    state: str
    reason: str
    cause: str
    generation: int
    created_at: str
    running_at: str | None
    ended_at: str | None


class LastCheckpoint(TypedDict):
    number: int
    completed_at: str
    is_savepoint: bool
    end_to_end_ms: int | None
    state_bytes: int | None


class Job(TypedDict):
    id: int
    name: str
    description: str
    desired_state: str
    state: str
    health: str
    health_reason: str
    spec_number: int
    spec_state: str
    version: int
    restarts: int
    run: Run | None
    last_checkpoint: LastCheckpoint | None
    operation: Operation | None


class Spec(TypedDict):
    id: int
    number: int
    body: dict[str, Any]
    state: str
    problem: str | None
    comment: str


class Artifact(TypedDict):
    id: int
    digest: str
    name: str
    size: int


class SinkEffect(TypedDict):
    sink: str
    kind: str
    revocable: bool
    records: int | None


class Source(TypedDict):
    source: str
    splits: list[Any]


class Origin(TypedDict):
    job: str
    checkpoint: int
    completed_at: str
    state_bytes: int
    is_savepoint: bool


class Inspection(TypedDict):
    whole: bool
    damage: str | None
    files: int
    bytes: int
    abandoned: list[int]
    returning: list[int]
    again: list[int]
    sources: list[Source]
    sinks: list[SinkEffect]
    notes: list[str]
    misfit: str | None
    origin: Origin | None


class Preview(TypedDict):
    checkpoint: int | None
    completed_at: str | None
    age_s: float | None
    state_bytes: int | None
    is_savepoint: bool
    origin: str | None
    anew: bool
    stop_with: str
    steps: list[str]
    restarts: list[str]
    warnings: list[str]
    duplicates: list[str]
    inspection: Inspection | None


class Plan(TypedDict):
    id: int
    job_id: int
    kind: str
    state: str
    phase: str | None
    request: dict[str, Any]
    preview: Preview
    safety_checkpoint: int | None
    problem: str | None
    operation_id: int | None
    created_at: str
    ended_at: str | None


class Change(TypedDict):
    path: str
    before: Any
    after: Any


class Diff(TypedDict):
    before: int
    after: int
    changes: list[Change]
    code: str | None
    operators_added: list[str]
    operators_removed: list[str]
    operators_changed: list[str]


class Token(TypedDict):
    id: int
    name: str
    kind: str
    role: str
    rollback: bool
    created_at: str
    expires_at: str
    last_used_at: str | None
    revoked_at: str | None


class TokenCreate(Token):
    token: str


class Session(TypedDict):
    name: str
    role: str
    permissions: list[str]
    expires_at: str


class NewSession(Session):
    token: str


class Checkpoint(TypedDict):
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


class Event(TypedDict):
    number: int
    kind: str
    fields: dict[str, Any]
    at: str


class OperatorName(TypedDict):
    uid: str


class Subtask(TypedDict):
    """Time series of one subtask; all lists have the length of ``at``."""

    chain: int
    index: int
    operators: list[OperatorName]
    at: list[str]
    records_in_per_s: list[float]
    records_out_per_s: list[float]
    busy_ms_per_s: list[float]
    backpressure: list[str]
