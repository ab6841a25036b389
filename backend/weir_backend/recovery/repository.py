"""Plans in the database."""

from __future__ import annotations

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from weir_backend.kit.listing import Fields, equals
from weir_backend.models import PlanState, RecoveryPlan

FIELDS = Fields(
    sortable={"id": RecoveryPlan.id, "created_at": RecoveryPlan.created_at},
    filters={"id": equals(RecoveryPlan.id, int), "job_id": equals(RecoveryPlan.job_id, int)},
    default=("id", True),
    key=RecoveryPlan.id,
)


def listed() -> Select[RecoveryPlan]:
    return select(RecoveryPlan)


def find(session: Session, plan_id: int, *, lock: bool = False) -> RecoveryPlan | None:
    query = select(RecoveryPlan).where(RecoveryPlan.id == plan_id)
    return session.scalar(query.with_for_update().execution_options(populate_existing=True) if lock else query)


def applying(session: Session, job_id: int) -> RecoveryPlan | None:
    return session.scalar(select(RecoveryPlan).where(RecoveryPlan.job_id == job_id, RecoveryPlan.state == PlanState.APPLYING))
