"""Runs, graphs and failures as the API returns them. The API never returns the tokens of runs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel

from weir_backend.kit.schemas import ResponseModel
from weir_backend.models import RunState


class RunRead(ResponseModel):
    """One driver of a job. `number` is the number of the run; the runs of a job have consecutive numbers. `generation` is the newest generation
    that the driver has reported. `fenced_at` is the time at which the control plane ended the run, although the driver had not reported the end.
    `missing_events` is the number of events that the driver could not send. `directory` is the name of the run's directory, which is in the
    directory `runs` on `host`. `files_cleared_at` is the time at which `directory` and the log in it were deleted. `reassignment_problem`
    is the reason why the job is not reassigned although `host` is unreachable."""

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
    """`digest` is the SHA-256 of the graph as canonical JSON. `graph` is the physical graph, which contains the logical graph."""

    id: int
    digest: str
    graph: dict[str, Any]


class FailureRead(ResponseModel):
    """A failure of a job. `recovery` is the way in which the job recovered: `full` (all slots restored the checkpoint), `regional` (only the
    failed slots restored it), `restart` (with another driver) or `none` (the run ended). `recovery` is null if the outcome is not known yet."""

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
