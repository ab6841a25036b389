"""The log of a job as it is read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict

from weir_backend.models import DesiredState, RunState


class EventBody(BaseModel):
    """``number``: of the job, without holes. ``run_event`` null: the control plane itself says so."""

    model_config = ConfigDict(from_attributes=True)

    id: int
    job_id: int
    number: int
    run_id: int | None
    run_event: int | None
    kind: str
    fields: dict[str, Any]
    at: datetime
    received_at: datetime


class ProgressBody(BaseModel):
    """Of the checkpoint that is in progress. ``progress``: `[chain, index, after_ms]` of each acknowledgement so far."""

    checkpoint: int
    checkpoint_id: int
    run_id: int
    trigger: str
    triggered_at: datetime
    subtasks: int
    acknowledged: int
    progress: list[list[int]]


class RunNewsBody(BaseModel):
    """The newest run of the job, as far as it can change."""

    id: int
    number: int
    state: RunState
    reason: str
    generation: int
    running_at: datetime | None
    ended_at: datetime | None


class LastCheckpointBody(BaseModel):
    id: int
    number: int
    completed_at: datetime
    end_to_end_ms: int | None
    state_bytes: int | None


class JobNewsBody(BaseModel):
    """``state``: of its newest run; null without one. ``deleted``: there is no such job any more."""

    id: int
    name: str
    desired_state: DesiredState
    state: RunState | None
    run_id: int | None
    last_checkpoint: LastCheckpointBody | None
    deleted: bool


NEWS: Sequence[type[BaseModel]] = (EventBody, ProgressBody, RunNewsBody, JobNewsBody)
"""What messages of streams have as their data, by kind: event, progress, run; job."""
