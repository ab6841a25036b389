"""Failures in the database."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from weir_backend.kit.listing import Fields, equals
from weir_backend.models import Failure, Job

FIELDS = Fields(
    sortable={"id": Failure.id, "at": Failure.at, "downtime_ms": Failure.downtime_ms},
    filters={
        "id": equals(Failure.id, int),
        "run_id": equals(Failure.run_id, int),
        "kind": equals(Failure.kind, str),
        "recovery": equals(Failure.recovery, str),
    },
    default=("at", True),
    key=Failure.id,
)


def job_exists(session: Session, job_id: int) -> bool:
    return session.scalar(select(Job.id).where(Job.id == job_id, Job.deleted_at.is_(None))) is not None
