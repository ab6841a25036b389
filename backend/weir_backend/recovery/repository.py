"""Plans in the database."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import BigInteger, Select, select
from sqlalchemy.orm import Session

from weir_backend.kit.listing import Fields, equals, one_of
from weir_backend.models import PlanState, RecoveryPlan

FIELDS = Fields(
    sortable={"id": RecoveryPlan.id, "created_at": RecoveryPlan.created_at},
    filters={
        "id": equals(RecoveryPlan.id, int),
        "job_id": equals(RecoveryPlan.job_id, int),
        "state": one_of(RecoveryPlan.state, PlanState),
    },
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


def waiting_for_spec(session: Session, job_id: int, number: int) -> Sequence[RecoveryPlan]:
    """That nobody could look into before this version was compiled."""
    return session.scalars(
        select(RecoveryPlan)
        .where(RecoveryPlan.job_id == job_id, RecoveryPlan.state == PlanState.PROPOSED)
        .where(
            RecoveryPlan.request["spec"].astext.cast(BigInteger) == number, RecoveryPlan.preview["inspection"].astext.is_(None)
        )
        .order_by(RecoveryPlan.id)
    ).all()


def applied_before(session: Session, plan: RecoveryPlan, *, skipped: int) -> Sequence[RecoveryPlan]:
    """Of the same job, but for the newest ``skipped`` of them."""
    return session.scalars(
        select(RecoveryPlan)
        .where(RecoveryPlan.job_id == plan.job_id, RecoveryPlan.state == PlanState.APPLIED, RecoveryPlan.id != plan.id)
        .where(RecoveryPlan.safety_checkpoint.is_not(None))
        .order_by(RecoveryPlan.ended_at.desc())
        .offset(skipped)
    ).all()
