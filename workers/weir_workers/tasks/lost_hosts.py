"""Reassign the jobs of lost hosts. The host of a run is lost if neither the workers of the host nor the driver of the run have contacted the
control plane for ``HOST_UNREACHABLE_AFTER``. No worker watches the drivers of a lost host."""

from __future__ import annotations

from datetime import datetime

import structlog
from celery.exceptions import SoftTimeLimitExceeded

from weir.errors import CheckpointError, ConfigError, StorageError
from weir.storage.job_log import JobLog
from weir.storage.layout import JobLayout
from weir.storage.location import open_storage
from weir_backend.checkpoints.retention_rules import LogPresence, presence_in_log
from weir_backend.kit.clock import now
from weir_backend.kit.heartbeats import alive_since
from weir_backend.kit.tasks import WATCH_DRIVERS, host_queue
from weir_backend.models import Run
from weir_backend.reconciler.decisions import FENCED_FOR, unreachable_since
from weir_backend.reconciler.reassignment import KnownCheckpoint, newest_known_checkpoint, reassign
from weir_backend.runs import repository
from weir_workers.context import Context, current
from weir_workers.task import task
from weir_workers.tasks.reconciliation import reconcile_job

log = structlog.get_logger(__name__)
FENCED_EXPIRES_S = 60


@task("weir.reassign_jobs", time_limit_s=115)
def reassign_jobs() -> None:
    """Reassign jobs from lost hosts, and kill the fenced drivers of hosts that return."""
    context = current()
    watch_fenced_hosts(context, now())
    reassign_from_lost_hosts(context, now())


def watch_fenced_hosts(context: Context, moment: datetime) -> None:
    """For each host whose runs were all reassigned, enqueue a check of its drivers. If a worker of the host is running again, the
    check kills the drivers that still run. The reconciler enqueues checks of drivers only for hosts with live runs."""
    with context.database.session() as session:
        hosts = repository.hosts_with_only_fenced_runs(session, since=moment - FENCED_FOR)
    for host in hosts:
        context.tasks.enqueue(WATCH_DRIVERS, queue=host_queue(host), expires_s=FENCED_EXPIRES_S)


def reassign_from_lost_hosts(context: Context, moment: datetime) -> None:
    with context.database.session() as session:
        since = unreachable_since(moment, alive_since(session, moment))
        if since is None:
            return
        repository.clear_reassignment_problems(session, since)
        found = [
            (run, newest_known_checkpoint(session, run))
            for run in repository.on_unreachable_hosts(session, since, host=context.host)
        ]
    for run, known in found:
        try:
            _reassign(context, run, known, since)
        except SoftTimeLimitExceeded:
            raise
        except Exception:  # one job that cannot be reassigned must not block the others
            log.exception("cannot reassign a job of an unreachable host", run=run.id)


def _reassign(context: Context, run: Run, known: KnownCheckpoint | None, since: datetime) -> None:
    """Reassign one job. The job's next driver fences the old driver through the job log."""
    obstacle = reassignment_obstacle(known) if known is not None else None
    with context.database.session() as session:
        reassigned = reassign(session, run, obstacle, since=since)
    if reassigned:
        log.warning("a host is unreachable; reassigning its job", run=run.id, host=run.host)
        reconcile_job(context, run.job_id)


def reassignment_obstacle(known: KnownCheckpoint) -> str | None:
    """Return the reason why the job cannot continue on this host, or None if it can continue."""
    place = known.place
    try:
        storage = open_storage(place.directory)
        view = JobLog(storage, JobLayout(place.name)).read()[0]
    except (StorageError, ConfigError, CheckpointError) as error:
        return f"the job's checkpoints cannot be read from another host: {error}"
    if presence_in_log(view, known.number, known.generation) is LogPresence.UNKNOWN:
        return (
            f"checkpoint {known.number} is not in {storage.url} on other hosts: use a checkpoint directory that all hosts share"
        )
    return None
