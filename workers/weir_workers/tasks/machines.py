"""Looking after machines that cannot look after their drivers any more."""

from __future__ import annotations

from datetime import datetime

import structlog
from celery.exceptions import SoftTimeLimitExceeded

from weir.errors import CheckpointError, ConfigError, StorageError
from weir.storage.joblog import JobLog
from weir.storage.layout import JobLayout
from weir.storage.open import open_storage
from weir_backend.checkpoints.presence import Presence, presence
from weir_backend.kit.clock import now
from weir_backend.kit.presence import there_since
from weir_backend.kit.tasks import WATCH, host_queue
from weir_backend.models import Run
from weir_backend.reconciling import repository
from weir_backend.reconciling.decide import FENCED_FOR, silent_before
from weir_backend.reconciling.taking_over import Known, known_checkpoint, take_over
from weir_workers.context import Context, current
from weir_workers.task import task
from weir_workers.tasks.reconcile import look

log = structlog.get_logger(__name__)
FENCED_EXPIRES_S = 60


@task("weir.look_after_machines", time_limit_s=115)
def look_after_machines() -> None:
    """Jobs of machines that are gone are gone on with by others; what goes on when they are back is ended."""
    context = current()
    ask_fenced(context, now())
    go_round(context, now())


def ask_fenced(context: Context, moment: datetime) -> None:
    """Machines from which all their runs were taken look whether drivers go on there. Rarely: most of them are away for long."""
    with context.database.session() as session:
        hosts = repository.hosts_fenced(session, since=moment - FENCED_FOR)
    for host in hosts:
        context.tasks.enqueue(WATCH, queue=host_queue(host), expires_s=FENCED_EXPIRES_S)


def go_round(context: Context, moment: datetime) -> None:
    with context.database.session() as session:
        since = silent_before(moment, there_since(session, moment))
        if since is None:
            return
        repository.heard_again(session, since)
        found = [
            (run, known_checkpoint(session, run)) for run in repository.on_silent_machines(session, since, host=context.host)
        ]
    for run, known in found:
        try:
            _take_over(context, run, known, since)
        except SoftTimeLimitExceeded:
            raise
        except Exception:  # one that cannot be taken over must not hold up all others
            log.exception("a job of a silent machine could not be taken over", run=run.id)


def _take_over(context: Context, run: Run, known: Known | None, since: datetime) -> None:
    """Whatever its driver may still be doing where nobody hears it: the next one takes the job's log from it."""
    obstacle = obstacle_to(known) if known is not None else None
    with context.database.session() as session:
        taken = take_over(session, run, obstacle, since=since)
    if taken:
        log.warning("a machine is silent, and its job is taken from it", run=run.id, host=run.host)
        look(context, run.job_id)


def obstacle_to(known: Known) -> str | None:
    """Going on with the job from here. None: there is none."""
    place = known.place
    try:
        storage = open_storage(place.directory)
        view = JobLog(storage, JobLayout(place.name)).read()[0]
    except (StorageError, ConfigError, CheckpointError) as error:
        return f"its checkpoints cannot be read from other machines: {error}"
    if presence(view, known.number, known.generation) is Presence.UNKNOWN:
        return f"other machines do not find its checkpoint {known.number} in {storage.url}: for that it has to be a directory that they share"
    return None
