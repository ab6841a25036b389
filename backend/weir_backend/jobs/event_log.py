"""Write events of the control plane to the event log of a job."""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

from weir_backend.kit.clock import now
from weir_backend.kit.notifications import job_key, publish
from weir_backend.models import Event, Job


def record_event(session: Session, job: Job, kind: str, *, run_id: int | None = None, **fields: Any) -> None:
    """Add an event. The caller holds the lock on the job, so that event numbers have no gaps. ``kind`` consists of a noun and a past participle,
    such as ``PlanApplied``."""
    job.event_number += 1
    session.add(Event(job_id=job.id, number=job.event_number, run_id=run_id, kind=kind, fields=fields, at=now()))
    publish(session, job_key(job.id))
