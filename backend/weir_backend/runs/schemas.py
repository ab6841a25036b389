"""Runs, graphs and failures as the API returns them. Tokens of runs are left out."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict

from weir_backend.kit.schemas import ResponseModel
from weir_backend.models import RunState


class RunRead(BaseModel):
    """`number`: the generation of the control plane. `generation`: of the runtime within the run. `fenced_at`: when the job was reassigned from
    this run. `missing_events`: how many its driver could not send. `directory`: its name below `runs` in the data directory of its host;
    `files_cleared_at`: when it was deleted, with the log. `reassignment_problem`: why the job is not reassigned although `host` is unreachable."""

    model_config = ConfigDict(from_attributes=True)

    id: int
    job_id: int
    number: int
    directory: str
    spec_id: int
    graph_id: int | None
    state: RunState
    reason: str
    cause: str
    start: dict[str, Any]
    generation: int
    stored_event: int
    missing_events: int
    host: str | None
    pid: int | None
    last_contact_at: datetime | None
    created_at: datetime
    submitted_at: datetime | None
    running_at: datetime | None
    ended_at: datetime | None
    fenced_at: datetime | None
    reassignment_problem: str | None
    files_cleared_at: datetime | None


class OperatorNameRead(ResponseModel):
    """An operator of the graph: its uid and its display name."""

    uid: str
    name: str


class GraphRead(BaseModel):
    """``digest``: SHA-256 of the graph as canonical JSON. ``graph``: physical, with the logical one in it."""

    id: int
    digest: str
    graph: dict[str, Any]


class FailureRead(BaseModel):
    """`recovery`: full, restart (another driver took over) or none (the run ended); null: not known yet."""

    model_config = ConfigDict(from_attributes=True)

    id: int
    job_id: int
    run_id: int
    generation: int
    kind: str
    reason: str
    at: datetime
    recovered_at: datetime | None
    downtime_ms: int | None
    recovery: str | None
