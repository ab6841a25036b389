"""Looking after the drivers of this machine."""

from __future__ import annotations

import structlog
from celery.exceptions import SoftTimeLimitExceeded

from weir.protocol.ids import Generation
from weir_backend.checkpoints import repository as checkpoints
from weir_backend.checkpoints.place import place_of_run
from weir_backend.jobs import repository as jobs
from weir_backend.kit.clock import now
from weir_backend.kit.presence import say_machine
from weir_backend.link import service as link
from weir_backend.models import Run, RunState
from weir_backend.reconciling import repository
from weir_backend.reconciling.decide import FENCED_FOR, is_to_be_killed
from weir_backend.reconciling.service import driver_gone
from weir_workers.context import Context, current
from weir_workers.drivers import processes
from weir_workers.drivers.directory import ProcessName, RunDirectory
from weir_workers.drivers.leftover import batches
from weir_workers.drivers.untold import untold
from weir_workers.task import task
from weir_workers.tasks.hanging import end_if_it_hangs
from weir_workers.tasks.reconcile import look

log = structlog.get_logger(__name__)


@task("weir.watch", time_limit_s=60)
def watch() -> None:
    """Those that are gone are told of; those that were started by somebody who died since are taken in."""
    watch_here(current())


def watch_here(context: Context) -> None:
    with context.database.session() as session:
        say_machine(session, context.host, now())
        found = repository.live_on(session, context.host)
    for run in found:
        try:
            _watch(context, run)
        except SoftTimeLimitExceeded:
            raise
        except Exception:  # one that cannot be looked after must not hold up all others
            log.exception("a driver could not be looked after", run=run.id)
    with context.database.session() as session:
        fenced = repository.fenced_on(session, context.host, since=now() - FENCED_FOR)
    for run in fenced:
        _end_zombie(context, run)


def _watch(context: Context, run: Run) -> None:
    directory = RunDirectory.of(context.settings.data_dir, run.directory)
    known = ProcessName(run.pid, run.pid_started) if run.pid is not None and run.pid_started is not None else None
    if processes.lives(directory, known):
        processes.bound_log(directory)
        if known is None:
            _take_in(context, run, directory)
        else:
            _end_if_deaf(context, run, known)
            end_if_it_hangs(context, run, known)
        return
    if known is None and directory.process_name() is None:
        return  # nobody has come as far as starting it: that is asked for again
    _tell_the_rest(context, run, directory)
    _tell_the_untold(context, run)
    with context.database.session() as session:
        jobs.find(session, run.job_id, lock=True)
        if processes.lives(directory, known):
            return  # it was started meanwhile
        cancelled = repository.cancelled_at(session, run.id) is not None
        ended = driver_gone(session, run.job_id, run.id, _why(run, directory, cancelled=cancelled))
    if ended:
        log.info("a driver is gone", run=run.id)
    look(context, run.job_id)


def _end_zombie(context: Context, run: Run) -> None:
    """It can do no harm where another run has the job. Where none has, nothing but this stops it."""
    directory = RunDirectory.of(context.settings.data_dir, run.directory)
    name = directory.process_name()
    if name is not None and directory.path.is_dir() and directory.is_alive():
        log.warning("a driver whose job was taken from it goes on, and is killed", run=run.id, pid=name.pid)
        processes.kill(name)


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


def _tell_the_untold(context: Context, run: Run) -> None:
    """What it had completed, and not even begun to tell."""
    with context.database.session() as session:
        found = repository.find(session, run.id)
        place = place_of_run(session, run.id)
        if found is None or place is None or found.generation == 0:
            return
        generation, after = Generation(found.generation), found.stored_event
        known = checkpoints.completed_since(session, run.job_id, generation)
    events = untold(place, generation, known=known, after=after)
    if events:
        log.info("a driver has completed checkpoints that it did not tell of", run=run.id, checkpoints=len(events))
        with context.database.session() as session:
            link.store_leftover(session, context.tasks, run.id, events)


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
