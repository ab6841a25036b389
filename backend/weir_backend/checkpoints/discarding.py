"""Checkpoints that were found retired in the job's log. Under the lock on the job."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from sqlalchemy.orm import Session

from weir_backend.jobs.history import record
from weir_backend.models import Checkpoint, Job


def discard(session: Session, job: Job, rows: Collection[Checkpoint], moment: datetime) -> None:
    """A pin that the log did not know of in time is told of, and is none any more."""
    fresh = [row for row in rows if row.discarded_at is None]
    lost = sorted(row.number for row in fresh if row.pinned)
    for row in fresh:
        row.discarded_at, row.leaving_at = moment, None
        row.pinned = row.pin_in_force = False
    if lost:
        record(session, job, "PinsCameTooLate", checkpoints=lost)
