"""Enqueue lost tasks again. If the broker is killed, it can lose its newest tasks."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import func, or_, select, update
from sqlalchemy.orm import Session

from weir_backend.kit.tasks import COMPILE, INSPECT, Tasks, enqueue_after_commit
from weir_backend.models import Job, PlanPhase, PlanState, RecoveryPlan, Spec, SpecState

REQUEUE_AFTER = timedelta(seconds=20)
"""How long to wait for the execution of a task before the task is enqueued again. Executing a task twice is harmless."""
BATCH_MAX = 50


def requeue_lost_tasks(session: Session, tasks: Tasks, moment: datetime) -> int:
    """Enqueue again the compilations and plan inspections that have waited longer than ``REQUEUE_AFTER``. Return the number of enqueued tasks."""
    late = moment - REQUEUE_AFTER
    specs = (
        select(Spec.id)
        .join(Job, Job.id == Spec.job_id)
        .where(Job.deleted_at.is_(None))
        .where(Spec.state == SpecState.COMPILING, func.coalesce(Spec.enqueued_at, Spec.created_at) < late)
        .order_by(Spec.id)
        .limit(BATCH_MAX)
        .with_for_update(skip_locked=True, of=Spec)
    )
    waiting = or_(
        (RecoveryPlan.state == PlanState.PROPOSED) & (RecoveryPlan.preview["inspection"].astext.is_(None)),
        (RecoveryPlan.phase == PlanPhase.VERIFYING) & RecoveryPlan.target_intact.is_(None),
    )
    plans = (
        select(RecoveryPlan.id)
        .join(Job, Job.id == RecoveryPlan.job_id)
        .where(Job.deleted_at.is_(None))
        .where(waiting, func.coalesce(RecoveryPlan.enqueued_at, RecoveryPlan.created_at) < late)
        .order_by(RecoveryPlan.id)
        .limit(BATCH_MAX)
        .with_for_update(skip_locked=True, of=RecoveryPlan)
    )
    enqueued = 0
    for name, table, chosen in ((COMPILE, Spec, specs), (INSPECT, RecoveryPlan, plans)):
        ids = session.scalars(chosen).all()
        if ids:
            session.execute(update(table).where(table.id.in_(ids)).values(enqueued_at=moment))
        for one in ids:
            enqueue_after_commit(session, tasks, name, one)
        enqueued += len(ids)
    return enqueued
