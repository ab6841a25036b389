"""Looking after the drivers of this machine."""

from __future__ import annotations

from datetime import timedelta

import structlog
from sqlalchemy.exc import DBAPIError

from weir_backend.jobs import repository as jobs
from weir_backend.kit.clock import now
from weir_backend.link import service as link
from weir_backend.models import Run, RunState
from weir_backend.reconciling import repository
from weir_backend.reconciling.decide import is_to_be_killed
from weir_backend.reconciling.service import driver_gone
from weir_workers.context import Context, current
from weir_workers.drivers import processes
from weir_workers.drivers.directory import ProcessName, RunDirectory
from weir_workers.drivers.leftover import batches
from weir_workers.task import task
from weir_workers.tasks.reconcile import look

log = structlog.get_logger(__name__)
COMES_UP = timedelta(seconds=15)
"""A driver that was submitted so long ago and is nowhere has not come up, or has died at once."""


@task("weir.watch", time_limit_s=60)
def watch() -> None:
    """Those that are gone are told of; those that were started by somebody who died since are taken in."""
    context = current()
    with context.database.session() as session:
        found = repository.live_on(session, context.host)
    for run in found:
        try:
            _watch(context, run)
        except (OSError, DBAPIError):
            log.exception("a driver could not be looked after", run=run.id)


def _watch(context: Context, run: Run) -> None:
    directory = RunDirectory.of(context.settings.data_dir, run.id)
    known = ProcessName(run.pid, run.pid_started) if run.pid is not None and run.pid_started is not None else None
    if processes.lives(directory, known):
        processes.bound_log(directory)
        if known is None:
            _take_in(context, run, directory)
        else:
            _end_if_deaf(context, run, known)
        return
    if run.submitted_at is None or (known is None and now() < run.submitted_at + COMES_UP):
        return
    _tell_the_rest(context, run, directory)
    with context.database.session() as session:
        cancelled = repository.cancelled_at(session, run.id) is not None
        ended = driver_gone(session, run.job_id, run.id, _why(run, directory, cancelled=cancelled))
    if ended:
        log.info("a driver is gone", run=run.id)
    look(context, run.job_id)


def _end_if_deaf(context: Context, run: Run, name: ProcessName) -> None:
    with context.database.session() as session:
        cancelled_at = repository.cancelled_at(session, run.id)
    if is_to_be_killed(cancelled_at, now()):
        log.warning("a driver that was told to cancel goes on, and is killed", run=run.id, pid=name.pid)
        processes.kill(name)


def _take_in(context: Context, run: Run, directory: RunDirectory) -> None:
    name = directory.process_name()
    if name is None:
        return
    with context.database.session() as session:
        jobs.find(session, run.job_id, lock=True)
        found = repository.find(session, run.id)
        if found is not None and found.ended_at is None:
            found.pid, found.pid_started = name.pid, name.started


def _tell_the_rest(context: Context, run: Run, directory: RunDirectory) -> None:
    """What it had no time to tell."""
    for batch in batches(directory.spool, after=run.stored_event):
        with context.database.session() as session:
            link.store_leftover(session, context.tasks, run.id, batch)


def _why(run: Run, directory: RunDirectory, *, cancelled: bool) -> str:
    if cancelled:
        return "it was told to cancel, and its driver's process is gone"
    if run.state is RunState.CREATED:
        try:
            said = directory.log.read_bytes()[-2_000:].decode(errors="replace").strip()
        except OSError:
            said = ""
        return f"its driver ended before it began: {said.splitlines()[-1]}" if said else "its driver ended before it began"
    return "its driver's process is gone"
