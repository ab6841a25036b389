"""Events and the messages of event streams."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import BaseModel

from weir_backend.kit.schemas import ResponseModel
from weir_backend.models import DesiredState, RunState


class EventRead(ResponseModel):
    """An event of a job. `number` is consecutive within the job. `run_event` is the number of the event in its run, or null if the control plane
    wrote the event."""

    id: int
    job_id: int
    number: int
    run_id: int | None
    run_event: int | None
    kind: str
    fields: dict[str, Any]
    at: datetime
    received_at: datetime


class CheckpointProgressRead(ResponseModel):
    """The checkpoint in progress. `progress` contains `[chain, index, after_ms]` for each acknowledgement so far."""

    checkpoint: int
    checkpoint_id: int
    run_id: int
    trigger: str
    triggered_at: datetime
    subtasks: int
    acknowledged: int
    progress: list[list[int]]


class RunStatusRead(ResponseModel):
    """The changing fields of the newest run of a job."""

    id: int
    number: int
    state: RunState
    reason: str
    generation: int
    running_at: datetime | None
    ended_at: datetime | None


class LastCheckpointRead(ResponseModel):
    id: int
    number: int
    completed_at: datetime
    end_to_end_ms: int | None
    state_bytes: int | None


class JobStatusRead(ResponseModel):
    """A summary of a job. `state` is the state of the newest run, or null if the job has no run. `deleted` is true if the job has been deleted."""

    id: int
    name: str
    desired_state: DesiredState
    state: RunState | None
    run_id: int | None
    last_checkpoint: LastCheckpointRead | None
    deleted: bool


STREAM_MESSAGES: Sequence[type[BaseModel]] = (EventRead, CheckpointProgressRead, RunStatusRead, JobStatusRead)
"""The data of the stream messages `event`, `progress`, `run` and `job`."""
