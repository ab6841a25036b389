"""Load the reasons why checkpoints are kept, and the actions that each checkpoint allows. The number of queries does not depend on
the number of jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from weir_backend.actions.rules import CheckpointActionFacts, Refusal, checkpoint_actions
from weir_backend.checkpoints import repository
from weir_backend.checkpoints.lineage import newest_of_jobs
from weir_backend.checkpoints.location import CheckpointLocation, locations_of_runs
from weir_backend.checkpoints.pins import holder_name, pins_of, releasable
from weir_backend.checkpoints.retention_rules import (
    Branches,
    GcJobFacts,
    branches_of,
    deletion_refusal,
    gc_obstacle,
    kept_because,
    plan_references,
)
from weir_backend.checkpoints.schemas import CheckpointRead, PinRead
from weir_backend.kit.access import Caller
from weir_backend.models import Checkpoint, CheckpointPin, CheckpointState, Job
from weir_backend.recovery import repository as plans
from weir_backend.recovery.external_path import is_within
from weir_backend.runs import repository as runs
from weir_backend.runs.start import RequestedStart, next_start
from weir_backend.settings import Settings


@dataclass(frozen=True, slots=True)
class JobRetention:
    """The facts about a job that decide which of its checkpoints are kept. ``references`` contains the reasons that
    ``plan_references`` returns. ``newest`` is the newest checkpoint of the current branch. ``newest_undamaged`` is the newest
    checkpoint of the current branch that has no known damage. While the job is running, ``newest_undamaged`` is None, because the driver
    retires checkpoints and does not know the results of verifications. ``obstacle`` is the reason why no checkpoint can be deleted
    now, or None. ``location`` is the location of the newest run's checkpoints, or None if the location is unknown."""

    job_name: str
    applying: int | None
    references: Mapping[int, Sequence[Refusal]]
    newest: int | None
    newest_undamaged: int | None
    branches: Branches
    retained: int
    obstacle: Refusal | None
    location: CheckpointLocation | None


def load(session: Session, settings: Settings, jobs: Sequence[Job], moment: datetime) -> dict[int, JobRetention]:
    ids = [job.id for job in jobs]
    newest_runs = runs.newest_runs(session, ids)
    locations = locations_of_runs(session, [run.id for run in newest_runs.values()])
    references = repository.plan_references(session, ids)
    applying = plans.applying_by_job(session, ids)
    newest = newest_of_jobs(session, ids)
    ran = runs.newest_that_ran(session, [job.id for job in jobs if job.next_start is not None])
    restores = runs.restores(session, ids)
    restored = {number for by_run in restores.values() for number in by_run.values() if number is not None}
    kept = repository.kept_of_jobs(session, ids, restored)
    retained = repository.retained_of_jobs(session, ids)
    found = {}
    for job in jobs:
        run = newest_runs.get(job.id)
        location = locations.get(run.id) if run is not None else None
        requested = RequestedStart(**job.next_start) if job.next_start is not None else None
        start = next_start(requested, is_done=requested is not None and ran.get(job.id, 0) > requested.after_run)
        facts = GcJobFacts.of(job, run, applying.get(job.id), _job_sharing_log(session, settings, job, location))
        rows = kept.get(job.id, {})
        branches = branches_of({number: row.run for number, row in rows.items()}, restores.get(job.id, {}))
        undamaged = [] if facts.live_run is not None else [number for number in branches.current if rows[number].undamaged]
        found[job.id] = JobRetention(
            job_name=job.name,
            applying=applying.get(job.id),
            references=plan_references(
                references.get(job.id, ()), start.checkpoint, moment, undo_kept=timedelta(days=settings.undo_kept_days)
            ),
            newest=newest.get(job.id),
            newest_undamaged=max(undamaged, default=None),
            branches=branches,
            retained=retained[job.id],
            obstacle=gc_obstacle(facts),
            location=location,
        )
    return found


def _job_sharing_log(session: Session, settings: Settings, job: Job, location: CheckpointLocation | None) -> str | None:
    """Return the name of another job with the same job log, or None. If the platform has chosen the checkpoint directory, this function makes no
    query, because jobs never share such directories."""
    if location is None or is_within(location.directory, str(settings.data_dir / "checkpoints" / f"{job.id}-{job.name}")):
        return None
    return repository.job_sharing_log(session, job.id, location)


def facts_of(
    checkpoint: Checkpoint, retention: JobRetention | None, location: CheckpointLocation | None
) -> CheckpointActionFacts:
    """Return the facts that decide which actions a checkpoint allows. ``location`` is the location of the checkpoint, or None if the location is
    unknown. ``unpinnable`` is always False in the result, because this function does not know the caller. ``retention`` is None if the job is deleted
    or the caller does not need to know whether the checkpoint can be deleted."""
    return CheckpointActionFacts(
        number=checkpoint.number,
        state=checkpoint.state,
        discarded_at=checkpoint.discarded_at,
        deleting_since=checkpoint.deleting_since,
        damage=checkpoint.damage,
        failure=checkpoint.failure,
        unpinnable=False,
        is_savepoint=checkpoint.is_savepoint,
        applying=retention.applying if retention is not None else None,
        deletion=_deletion(checkpoint, retention, location) if retention is not None else None,
    )


def _deletion(checkpoint: Checkpoint, retention: JobRetention, location: CheckpointLocation | None) -> Refusal | None:
    if location is None or location != retention.location:
        reason = (
            f"Job '{retention.job_name}' now has another checkpoint directory, so Weir cannot tell whether checkpoint {checkpoint.number} "
            "is still needed."
        )
        return Refusal("directory-changed", reason, "If no job needs this checkpoint, delete its files by hand.")
    return retention.obstacle or deletion_refusal(
        checkpoint.number,
        pinned=checkpoint.pinned,
        references=retention.references,
        newest=retention.newest,
        newest_undamaged=retention.newest_undamaged,
    )


def read(
    session: Session, settings: Settings, caller: Caller, rows: Sequence[Checkpoint], moment: datetime
) -> list[CheckpointRead]:
    """Return the checkpoints with their actions and the reasons why they are kept."""
    ids = {row.job_id for row in rows}
    found = load(session, settings, repository.jobs_by_id(session, ids), moment) if ids else {}
    locations = locations_of_runs(session, {row.run_id for row in rows if row.state is CheckpointState.COMPLETED})
    stored = repository.pins(session, [row.id for row in rows if row.pinned])
    return [
        _read(row, pins_of(row, stored.get(row.id, ())), found.get(row.job_id), locations.get(row.run_id), caller) for row in rows
    ]


def _read(
    row: Checkpoint,
    pins: Sequence[CheckpointPin],
    retention: JobRetention | None,
    location: CheckpointLocation | None,
    caller: Caller,
) -> CheckpointRead:
    is_kept = row.state is CheckpointState.COMPLETED and row.discarded_at is None and row.deleting_since is None
    return CheckpointRead.read(
        row,
        pins=[PinRead.read(pin, name=holder_name(pin), since=pin.created_at) for pin in pins],
        actions=checkpoint_actions(
            replace(facts_of(row, retention, location), unpinnable=bool(releasable(pins, caller))), caller.permissions
        )
        if retention is not None
        else [],
        kept_because=kept_because(
            row.number,
            pins=[(pin.holder, pin.user_name, pin.reason) for pin in pins],
            pin_in_force=row.pin_in_force,
            is_savepoint=row.is_savepoint,
            references=retention.references,
            newest=retention.newest,
            newest_undamaged=retention.newest_undamaged,
            branches=retention.branches,
            retained=retention.retained,
        )
        if is_kept and retention is not None
        else [],
    )
