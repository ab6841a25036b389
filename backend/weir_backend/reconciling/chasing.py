"""Work that was asked for and that nobody has done: asked for once more. A queue may lose what it was told last, if it is killed."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import func, or_, select, update
from sqlalchemy.orm import Session

from weir_backend.kit.tasks import COMPILE, INSPECT, Tasks, ask
from weir_backend.models import Job, PlanPhase, PlanState, RecoveryPlan, Spec, SpecState

AGAIN = timedelta(seconds=20)
"""Doing it twice does no harm, only costs a worker's time."""
AT_ONCE = 50


def chase(session: Session, tasks: Tasks, moment: datetime) -> int:
    """How much was asked for again: versions to be compiled, plans to be looked into."""
    late = moment - AGAIN
    specs = (
        select(Spec.id)
        .join(Job, Job.id == Spec.job_id)
        .where(Job.deleted_at.is_(None))
        .where(Spec.state == SpecState.COMPILING, func.coalesce(Spec.asked_at, Spec.created_at) < late)
        .order_by(Spec.id)
        .limit(AT_ONCE)
        .with_for_update(skip_locked=True, of=Spec)
    )
    waiting = or_(
        (RecoveryPlan.state == PlanState.PROPOSED) & (RecoveryPlan.preview["inspection"].astext.is_(None)),
        (RecoveryPlan.phase == PlanPhase.VERIFYING) & RecoveryPlan.target_whole.is_(None),
    )
    plans = (
        select(RecoveryPlan.id)
        .join(Job, Job.id == RecoveryPlan.job_id)
        .where(Job.deleted_at.is_(None))
        .where(waiting, func.coalesce(RecoveryPlan.asked_at, RecoveryPlan.created_at) < late)
        .order_by(RecoveryPlan.id)
        .limit(AT_ONCE)
        .with_for_update(skip_locked=True, of=RecoveryPlan)
    )
    found = 0
    for name, table, chosen in ((COMPILE, Spec, specs), (INSPECT, RecoveryPlan, plans)):
        ids = session.scalars(chosen).all()
        if ids:
            session.execute(update(table).where(table.id.in_(ids)).values(asked_at=moment))
        for one in ids:
            ask(session, tasks, name, one)
        found += len(ids)
    return found
