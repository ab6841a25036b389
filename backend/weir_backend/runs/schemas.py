"""Runs as they are read. Their tokens are nobody's to read."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict

from weir_backend.models import RunState


class RunBody(BaseModel):
    """``number``: the generation of the control plane. ``generation``: of the runtime within the run. ``fenced_at``: when the job was
    taken from this run. ``missing_events``: that its driver could not send any more. ``directory``: name of its own below ``runs`` in the
    data directory of its host; ``files_cleared_at``: since when that is gone, with its log. ``stranded``: why no other machine goes on with
    the job though nothing is heard of ``host``."""

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
    stranded: str | None
    files_cleared_at: datetime | None


class GraphBody(BaseModel):
    """``digest``: SHA-256 of the graph as canonical JSON. ``graph``: physical, with the logical one in it."""

    id: int
    digest: str
    graph: dict[str, Any]
