"""Queries on plans."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import BigInteger, select
from sqlalchemy.orm import Session

from weir_backend.kit.database import pairs
from weir_backend.kit.listing import Fields, equals, one_of
from weir_backend.models import PlanKind, PlanState, RecoveryPlan

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


def find(session: Session, plan_id: int, *, lock: bool = False) -> RecoveryPlan | None:
    query = select(RecoveryPlan).where(RecoveryPlan.id == plan_id)
    return session.scalar(query.with_for_update().execution_options(populate_existing=True) if lock else query)


def applying(session: Session, job_id: int) -> RecoveryPlan | None:
    return session.scalar(select(RecoveryPlan).where(RecoveryPlan.job_id == job_id, RecoveryPlan.state == PlanState.APPLYING))


def applying_by_job(session: Session, job_ids: Collection[int]) -> dict[int, int]:
    """Return, for each job with a plan that is being applied, the id of this plan."""
    applying = (RecoveryPlan.job_id.in_(job_ids), RecoveryPlan.state == PlanState.APPLYING)
    return pairs(session, select(RecoveryPlan.job_id, RecoveryPlan.id).where(*applying))


def undone(session: Session, plan_ids: Collection[int]) -> frozenset[int]:
    """Return the ids of the plans that an applied undo has reversed."""
    query = select(RecoveryPlan.undo_of).where(
        RecoveryPlan.undo_of.in_(plan_ids), RecoveryPlan.kind == PlanKind.UNDO, RecoveryPlan.state == PlanState.APPLIED
    )
    return frozenset(plan_id for plan_id in session.scalars(query) if plan_id is not None)


def waiting_for_spec(session: Session, job_id: int, number: int) -> Sequence[RecoveryPlan]:
    """Return the plans whose inspection waits until version ``number`` of the spec is compiled."""
    return session.scalars(
        select(RecoveryPlan)
        .where(RecoveryPlan.job_id == job_id, RecoveryPlan.state == PlanState.PROPOSED)
        .where(
            RecoveryPlan.request["spec"].astext.cast(BigInteger) == number, RecoveryPlan.preview["inspection"].astext.is_(None)
        )
        .order_by(RecoveryPlan.id)
    ).all()


def applied_before(session: Session, plan: RecoveryPlan, *, skipped: int) -> Sequence[RecoveryPlan]:
    """Return the other applied plans of the same job that have a safety savepoint, newest first. Omit the ``skipped`` newest plans."""
    return session.scalars(
        select(RecoveryPlan)
        .where(RecoveryPlan.job_id == plan.job_id, RecoveryPlan.state == PlanState.APPLIED, RecoveryPlan.id != plan.id)
        .where(RecoveryPlan.safety_checkpoint.is_not(None))
        .order_by(RecoveryPlan.ended_at.desc())
        .offset(skipped)
    ).all()
