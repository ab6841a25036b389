"""Kill hung drivers: drivers whose process is alive but makes no progress."""

from __future__ import annotations

from datetime import UTC, datetime

import structlog

from weir.errors import CheckpointError, ConfigError, StorageError
from weir.storage.location import open_storage
from weir_backend.checkpoints.location import CheckpointLocation, location_of_run
from weir_backend.jobs import repository as jobs
from weir_backend.jobs.event_log import record_event
from weir_backend.jobs.spec import JobSpec, min_distance_s, seconds
from weir_backend.kit.clock import now
from weir_backend.kit.heartbeats import alive_since
from weir_backend.models import Run
from weir_backend.reconciler.decisions import is_hanging, unreachable_since
from weir_workers.checkpoints.retention_gc import open_job_storage
from weir_workers.context import Context
from weir_workers.drivers import processes
from weir_workers.drivers.run_directory import ProcessIdentity

log = structlog.get_logger(__name__)


def kill_if_hung(context: Context, run: Run, process: ProcessIdentity) -> None:
    """Kill the driver of ``run`` if it hangs. The caller has checked that the run has not ended and that ``process``, the driver, is alive
    on this host. The next round of ``weir.watch`` handles the killed driver like any other dead driver."""
    moment = now()
    if run.last_contact_at is None or run.running_at is None:
        return
    with context.database.session() as session:
        since = unreachable_since(moment, alive_since(session, moment))
        if since is None or run.last_contact_at >= since:
            return  # the usual case: return without reading the job log
        spec = jobs.find_spec_by_id(session, run.spec_id)
        chosen = JobSpec.model_validate(spec.body).checkpointing
        place = location_of_run(session, run.id)
    apart, timeout = min_distance_s(chosen.interval, chosen.min_pause), seconds(chosen.timeout)
    progressed_at = _progressed_at(place) if place is not None and apart is not None else None
    if not is_hanging(run.last_contact_at, progressed_at, min_distance_s=apart, timeout_s=timeout, since=since, now=moment):
        return
    assert progressed_at is not None, "a hung driver has a time of last progress"
    reason = f"the driver has sent nothing since {_shown(run.last_contact_at)}, and has completed no checkpoint since {_shown(progressed_at)}"
    log.warning("a driver hangs; killing it", run=run.id, pid=process.pid, reason=reason)
    with context.database.session() as session:
        job = jobs.find(session, run.job_id, lock=True)
        if job is not None:
            record_event(session, job, "DriverHung", run_id=run.id, run=run.number, host=run.host, reason=reason)
    processes.kill(process)


def _progressed_at(place: CheckpointLocation) -> datetime | None:
    """Return the time of the last completed checkpoint or started generation. Return None if the log cannot be read or is empty."""
    try:
        view = open_job_storage(open_storage(place.directory), place).view
    except (StorageError, ConfigError, CheckpointError):
        return None
    written = [one.timestamp_ms for one in (*view.kept, *view.retired[-1:])]
    written += [one.timestamp_ms for one in view.generations[-1:]]
    return datetime.fromtimestamp(max(written) / 1_000, UTC) if written else None


def _shown(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
