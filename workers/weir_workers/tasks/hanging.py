"""A driver that hangs: its process lives, and nothing comes of it."""

from __future__ import annotations

from datetime import UTC, datetime

import structlog

from weir.errors import CheckpointError, ConfigError, StorageError
from weir.storage.open import open_storage
from weir_backend.checkpoints.place import Place, place_of_run
from weir_backend.jobs import repository as jobs
from weir_backend.jobs.history import record
from weir_backend.jobs.spec import SpecBody, apart_s, seconds
from weir_backend.kit.clock import now
from weir_backend.kit.presence import there_since
from weir_backend.models import Run
from weir_backend.reconciling.decide import hangs, silent_before
from weir_workers.checkpoints.letting_go import see
from weir_workers.context import Context
from weir_workers.drivers import processes
from weir_workers.drivers.directory import ProcessName

log = structlog.get_logger(__name__)


def end_if_it_hangs(context: Context, run: Run, name: ProcessName) -> None:
    """``run``: on this machine, not over, and its process lives. What follows is as for any driver that is gone: another one goes on."""
    moment = now()
    if run.last_contact_at is None or run.running_at is None:
        return
    with context.database.session() as session:
        since = silent_before(moment, there_since(session, moment))
        if since is None or run.last_contact_at >= since:
            return  # nearly always: what follows reads the job's log
        spec = jobs.find_spec_by_id(session, run.spec_id)
        chosen = SpecBody.model_validate(spec.body).checkpointing
        place = place_of_run(session, run.id)
    apart, timeout = apart_s(chosen.interval, chosen.min_pause), seconds(chosen.timeout)
    progressed_at = _progressed_at(place) if place is not None and apart is not None else None
    if not hangs(run.last_contact_at, progressed_at, apart_s=apart, timeout_s=timeout, since=since, now=moment):
        return
    assert progressed_at is not None, "who hangs has not progressed since some moment"
    reason = f"nothing was heard of its driver since {_shown(run.last_contact_at)}, and its last checkpoint is of {_shown(progressed_at)}"
    log.warning("a driver hangs, and is killed", run=run.id, pid=name.pid, reason=reason)
    with context.database.session() as session:
        job = jobs.find(session, run.job_id, lock=True)
        if job is not None:
            record(session, job, "DriverHung", run_id=run.id, run=run.number, host=run.host, reason=reason)
    processes.kill(name)


def _progressed_at(place: Place) -> datetime | None:
    """When the job's log was last written to by who runs the job. None: it cannot be read, or says nothing."""
    try:
        view = see(open_storage(place.directory), place).view
    except (StorageError, ConfigError, CheckpointError):
        return None
    written = [one.timestamp_ms for one in (*view.kept, *view.retired[-1:])]
    written += [one.timestamp_ms for one in view.generations[-1:]]
    return datetime.fromtimestamp(max(written) / 1_000, UTC) if written else None


def _shown(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
