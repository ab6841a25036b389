"""Reconcile jobs: move each job towards its desired state."""

from __future__ import annotations

import structlog
from celery.exceptions import SoftTimeLimitExceeded

from weir_backend.kit.clock import now
from weir_backend.kit.tasks import WATCH_DRIVERS, host_queue
from weir_backend.reconciler.lost_tasks import requeue_lost_tasks
from weir_backend.reconciler.service import Reconciler
from weir_backend.runs import repository
from weir_workers.context import Context, current
from weir_workers.task import task

log = structlog.get_logger(__name__)
JOBS_A_ROUND = 200
WATCH_EXPIRES_S = 10
"""The expiry is short, so that messages for an unreachable host do not accumulate."""


def reconcile_job(context: Context, job_id: int) -> None:
    """Reconcile one job in its own transaction."""
    with context.database.session() as session:
        Reconciler(context.settings, context.tasks).reconcile(session, job_id)


@task("weir.reconcile")
def reconcile(job_id: int) -> None:
    """Reconcile one job now, without waiting for the next round."""
    reconcile_job(current(), job_id)


@task("weir.reconcile_all")
def reconcile_all() -> None:
    """Reconcile all jobs that are due, enqueue lost tasks again, and enqueue a check of the drivers of each host."""
    context = current()
    with context.database.session() as session:
        due = repository.jobs_to_reconcile(session, now(), limit=JOBS_A_ROUND)
        hosts = repository.hosts_with_live_runs(session)
        requeue_lost_tasks(session, context.tasks, now())
    for host in hosts:
        context.tasks.enqueue(WATCH_DRIVERS, queue=host_queue(host), expires_s=WATCH_EXPIRES_S)
    for job_id in due:
        try:
            reconcile_job(context, job_id)
        except SoftTimeLimitExceeded:
            raise
        except Exception:  # one faulty job must not block the others
            log.exception("cannot reconcile a job", job_id=job_id)
