"""Operations in the database."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from weir_backend.kit.listing import Fields, equals
from weir_backend.models import Operation, OperationKind

FIELDS = Fields(
    sortable={"id": Operation.id, "created_at": Operation.created_at},
    filters={"id": equals(Operation.id, int), "job_id": equals(Operation.job_id, int)},
    default=("id", True),
    key=Operation.id,
)


def open_of(session: Session, job_id: int, *kinds: OperationKind) -> Sequence[Operation]:
    """Return the open operations of a job, oldest first. With ``kinds``, return only operations of these kinds."""
    query = select(Operation).where(Operation.job_id == job_id, Operation.ended_at.is_(None)).order_by(Operation.id)
    return session.scalars(query.where(Operation.kind.in_(kinds)) if kinds else query).all()
