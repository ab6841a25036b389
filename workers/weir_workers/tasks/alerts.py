"""Evaluation of alert rules."""

from __future__ import annotations

from datetime import datetime

import structlog
from sqlalchemy.exc import IntegrityError

from weir_backend.alerts import evaluation
from weir_backend.kit import heartbeats
from weir_backend.kit.clock import now
from weir_workers.context import Context, current
from weir_workers.task import task

log = structlog.get_logger(__name__)


@task("weir.evaluate_alerts")
def evaluate_alerts() -> None:
    """Raise new alerts, and resolve alerts whose rule no longer holds."""
    evaluate(current(), now())


def evaluate(context: Context, moment: datetime) -> None:
    with context.database.session() as session:
        heartbeats.record_heartbeat(session, heartbeats.Component.ALERTS, moment)
    with context.database.session() as session:
        jobs = evaluation.find_changed_jobs(session, moment)
    for first in range(0, len(jobs), evaluation.JOBS_PER_TRANSACTION):
        try:
            with context.database.session() as session:
                evaluation.apply_changes(session, context.tasks, moment, jobs[first : first + evaluation.JOBS_PER_TRANSACTION])
        except IntegrityError:
            log.info("a rule or webhook was deleted during the evaluation; the next evaluation skips it")
