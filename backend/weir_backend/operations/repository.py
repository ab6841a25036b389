"""Operations in the database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from weir_backend.kit.listing import Fields, equals
from weir_backend.models import Operation, OperationKind

FIELDS = Fields(
    sortable={"id": Operation.id, "created_at": Operation.created_at},
    filters={"id": equals(Operation.id, int), "job_id": equals(Operation.job_id, int), "kind": equals(Operation.kind, str)},
    default=("id", True),
    key=Operation.id,
)


def open_of(session: Session, job_id: int, *kinds: OperationKind) -> Sequence[Operation]:
    """Return the open operations of a job, oldest first. With ``kinds``, return only operations of these kinds."""
    query = select(Operation).where(Operation.job_id == job_id, Operation.ended_at.is_(None)).order_by(Operation.id)
    return session.scalars(query.where(Operation.kind.in_(kinds)) if kinds else query).all()


def stored_profile(session: Session, operation_id: int) -> dict[str, Any] | None:
    found: dict[str, Any] | None = session.scalars(select(Operation.profile).where(Operation.id == operation_id)).one()
    return found


def delete_old_profiles(session: Session, job_id: int, *, kept_max: int) -> None:
    """Delete the profiles of a job, except those of its ``kept_max`` newest operations of this kind."""
    of_job = (Operation.job_id == job_id, Operation.kind == OperationKind.PROFILE)
    kept = select(Operation.id).where(*of_job).order_by(Operation.id.desc()).limit(kept_max)
    session.execute(
        update(Operation)
        .where(*of_job, Operation.profile.is_not(None), Operation.id.not_in(kept.scalar_subquery()))
        .values(profile=None)
    )
