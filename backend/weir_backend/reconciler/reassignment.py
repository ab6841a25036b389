"""Reassign the jobs of unreachable hosts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from weir_backend.checkpoints.lineage import newest_completed
from weir_backend.checkpoints.location import CheckpointLocation, location_of_run
from weir_backend.jobs import repository as jobs
from weir_backend.jobs.event_log import record_event
from weir_backend.kit.jsonb import clean_text
from weir_backend.models import Run
from weir_backend.reconciler.service import mark_driver_lost
from weir_backend.runs import repository


@dataclass(frozen=True, slots=True)
class KnownCheckpoint:
    """The newest restorable checkpoint of a job, according to the database. ``generation`` is the generation that completed the checkpoint."""

    place: CheckpointLocation
    number: int
    generation: int


def newest_known_checkpoint(session: Session, run: Run) -> KnownCheckpoint | None:
    """Return the newest completed checkpoint on the branch of ``run``. Return None if no checkpoint is completed. Also return None if the
    newest completed checkpoint is discarded or is not in the job log of ``run``."""
    number = newest_completed(session, run.job_id, run.id)
    found = jobs.completed(session, run.job_id, number)
    if found is None or found.discarded_at is not None:
        return None
    place = location_of_run(session, found.run_id)
    return (
        KnownCheckpoint(place, found.number, found.generation)
        if place is not None and place == location_of_run(session, run.id)
        else None
    )


def reassign(session: Session, run: Run, obstacle: str | None, *, since: datetime) -> bool:
    """End a run whose host has been unreachable since ``since``, so that the next run starts on another host. Return whether ``reassign`` has
    ended the run.

    ``obstacle`` is the reason why no other host can restore the checkpoint of the job, for example because only the lost host has its files.
    ``obstacle`` is None if another host can restore the checkpoint. If ``obstacle`` is set, ``reassign`` records the obstacle and does not end
    the run. If the command to cancel was sent to the driver, ``reassign`` ends the run even if ``obstacle`` is set."""
    job = jobs.find(session, run.job_id, lock=True)
    found = session.get(Run, run.id)
    if job is None or found is None:
        return False
    session.refresh(found, with_for_update=True)
    if not repository.is_unreachable(session, found.id, since):
        return False  # the host or the driver has reported in the meantime
    if obstacle is None or repository.cancelled_at(session, found.id) is not None:
        heard = found.last_contact_at
        what = f"since {heard:%Y-%m-%d %H:%M:%S} UTC" if heard is not None else "and never reported"
        return mark_driver_lost(session, job.id, found.id, f"the driver and its host {found.host} are unreachable {what}")
    obstacle = clean_text(obstacle)
    if found.reassignment_problem != obstacle:
        found.reassignment_problem = obstacle
        record_event(session, job, "ReassignmentBlocked", run_id=found.id, run=found.number, host=found.host, reason=obstacle)
    return False
