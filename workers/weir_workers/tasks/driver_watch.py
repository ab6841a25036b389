"""Watch the drivers of this host."""

from __future__ import annotations

import structlog
from celery.exceptions import SoftTimeLimitExceeded

from weir.protocol.ids import Generation
from weir_backend.checkpoints import repository as checkpoints
from weir_backend.checkpoints.location import location_of_run
from weir_backend.jobs import repository as jobs
from weir_backend.kit.clock import now
from weir_backend.kit.heartbeats import record_host_heartbeat
from weir_backend.link import service as link
from weir_backend.models import Run, RunState
from weir_backend.reconciler.decisions import FENCED_FOR, must_be_killed
from weir_backend.reconciler.service import mark_driver_lost
from weir_backend.runs import repository
from weir_workers.context import Context, current
from weir_workers.drivers import processes
from weir_workers.drivers.log_import import unreported_checkpoints
from weir_workers.drivers.run_directory import ProcessIdentity, RunDirectory
from weir_workers.drivers.spool_import import batches
from weir_workers.task import task
from weir_workers.tasks.hung_drivers import kill_if_hung
from weir_workers.tasks.reconciliation import reconcile_job

log = structlog.get_logger(__name__)


@task("weir.watch", time_limit_s=60)
def watch() -> None:
    """Record the death of drivers that have died. Register living drivers whose worker died before it could register them."""
    watch_here(current())


def watch_here(context: Context) -> None:
    with context.database.session() as session:
        record_host_heartbeat(session, context.host, now())
        found = repository.live_on(session, context.host)
    for run in found:
        try:
            _watch(context, run)
        except SoftTimeLimitExceeded:
            raise
        except Exception:  # one faulty driver must not block the others
            log.exception("cannot check a driver", run=run.id)
    with context.database.session() as session:
        fenced = repository.fenced_on(session, context.host, since=now() - FENCED_FOR)
    for run in fenced:
        _end_zombie(context, run)


def _watch(context: Context, run: Run) -> None:
    directory = RunDirectory.of(context.settings.data_dir, run.directory)
    known = ProcessIdentity(run.pid, run.pid_started) if run.pid is not None and run.pid_started is not None else None
    if processes.is_alive(directory, known):
        processes.bound_log(directory)
        if known is None:
            _register(context, run, directory)
        else:
            _kill_if_cancelled(context, run, known)
            kill_if_hung(context, run, known)
        return
    if known is None and directory.process_identity() is None:
        return  # the driver has not started yet; if it does not start in time, the reconciler submits the run again
    _import_spool(context, run, directory)
    _import_unreported_checkpoints(context, run)
    with context.database.session() as session:
        jobs.find(session, run.job_id, lock=True)
        if processes.is_alive(directory, known):
            return  # started in the meantime
        cancelled = repository.cancelled_at(session, run.id) is not None
        ended = mark_driver_lost(session, run.job_id, run.id, _why(run, directory, cancelled=cancelled))
    if ended:
        log.info("a driver has died", run=run.id)
    reconcile_job(context, run.job_id)


def _end_zombie(context: Context, run: Run) -> None:
    """Kill a fenced driver. If the job has another run, the fenced driver can do no harm, because it cannot append to the job log any more.
    If the job has no other run, only this function stops the driver."""
    directory = RunDirectory.of(context.settings.data_dir, run.directory)
    process = directory.process_identity()
    if process is not None and directory.path.is_dir() and directory.is_alive():
        log.warning("a fenced driver is still running; killing it", run=run.id, pid=process.pid)
        processes.kill(process)


def _kill_if_cancelled(context: Context, run: Run, process: ProcessIdentity) -> None:
    with context.database.session() as session:
        cancelled_at = repository.cancelled_at(session, run.id)
    if must_be_killed(cancelled_at, now()):
        log.warning("a canceled driver is still running; killing it", run=run.id, pid=process.pid)
        processes.kill(process)


def _register(context: Context, run: Run, directory: RunDirectory) -> None:
    """Store the identity of the driver's process with its run."""
    process = directory.process_identity()
    if process is None:
        return
    with context.database.session() as session:
        jobs.find(session, run.job_id, lock=True)
        found = session.get(Run, run.id)
        if found is not None and found.ended_at is None:
            found.pid, found.pid_started = process.pid, process.started


def _import_spool(context: Context, run: Run, directory: RunDirectory) -> None:
    """Import the events that the driver left in its spool."""
    for batch in batches(directory.spool, after=run.stored_event):
        with context.database.session() as session:
            link.store_unsent(session, context.tasks, run.id, batch)


def _import_unreported_checkpoints(context: Context, run: Run) -> None:
    """Import the checkpoints that the driver completed but did not report."""
    with context.database.session() as session:
        found = session.get(Run, run.id)
        place = location_of_run(session, run.id)
        if found is None or place is None or found.generation == 0:
            return
        generation, after = Generation(found.generation), found.stored_event
        known = checkpoints.completed_since(session, run.job_id, generation)
    events = unreported_checkpoints(place, generation, known=known, after=after)
    if events:
        log.info("imported checkpoints that a driver completed but did not report", run=run.id, checkpoints=len(events))
        with context.database.session() as session:
            link.store_unsent(session, context.tasks, run.id, events)


def _why(run: Run, directory: RunDirectory, *, cancelled: bool) -> str:
    if cancelled:
        return "canceled; the driver process has exited"
    if run.state is RunState.CREATED:
        try:
            output = directory.log.read_bytes()[-2_000:].decode(errors="replace").strip()
        except OSError:
            output = ""
        return (
            f"the driver exited before the job started: {output.splitlines()[-1]}"
            if output
            else "the driver exited before the job started"
        )
    return "the driver process has died"
