"""Failures as they are read."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict


class FailureBody(BaseModel):
    """``recovery``: full, restart (another driver took over) or none (the run ended); null: not known yet."""

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
