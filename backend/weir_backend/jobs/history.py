"""What the control plane itself has to say in a job's event log. Under the lock on the job, so that numbers have no holes."""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

from weir_backend.kit.clock import now
from weir_backend.kit.wakeups import job_key, wake
from weir_backend.models import Event, Job


def record(session: Session, job: Job, kind: str, *, run_id: int | None = None, **fields: Any) -> None:
    """``kind``: a past participle with a noun, as those of drivers are (``PlanApplied``)."""
    job.event_number += 1
    session.add(Event(job_id=job.id, number=job.event_number, run_id=run_id, kind=kind, fields=fields, at=now()))
    wake(session, job_key(job.id))
