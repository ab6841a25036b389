"""Bringing jobs to where they are wanted."""

from __future__ import annotations

import structlog
from celery.exceptions import SoftTimeLimitExceeded

from weir_backend.kit.clock import now
from weir_backend.kit.tasks import WATCH, host_queue
from weir_backend.reconciling import repository
from weir_backend.reconciling.chasing import chase
from weir_backend.reconciling.service import Reconciler
from weir_workers.context import Context, current
from weir_workers.task import task

log = structlog.get_logger(__name__)
JOBS_A_ROUND = 200
WATCH_EXPIRES_S = 10
"""Of a machine that is away nothing is to pile up."""


def look(context: Context, job_id: int) -> None:
    """At one job, in a transaction of its own."""
    with context.database.session() as session:
        Reconciler(context.settings, context.tasks).look(session, job_id)


@task("weir.reconcile")
def reconcile(job_id: int) -> None:
    """Something has happened to this job."""
    look(current(), job_id)


@task("weir.reconcile_all")
def reconcile_all() -> None:
    """Every few seconds: jobs with something to do, whoever has been told of it or not; work that got lost is asked for again; and
    each machine looks after its drivers."""
    context = current()
    with context.database.session() as session:
        due = repository.due(session, now(), limit=JOBS_A_ROUND)
        hosts = repository.hosts(session)
        chase(session, context.tasks, now())
    for host in hosts:
        context.tasks.enqueue(WATCH, queue=host_queue(host), expires_s=WATCH_EXPIRES_S)
    for job_id in due:
        try:
            look(context, job_id)
        except SoftTimeLimitExceeded:
            raise
        except Exception:  # one job that cannot be looked at must not hold up all others
            log.exception("a job could not be looked at", job_id=job_id)
