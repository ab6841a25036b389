"""Pin and unpin checkpoints. The API sets a pin in the database, and a worker writes the pin to the job log. A running driver reads pins from the
job log."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from weir_backend.checkpoints import repository as checkpoints
from weir_backend.checkpoints.location import CheckpointLocation, location_of_run
from weir_backend.jobs import repository as jobs
from weir_backend.jobs.event_log import record_event
from weir_backend.kit.clock import now
from weir_backend.kit.tasks import PIN, Tasks, enqueue_after_commit
from weir_backend.models import Checkpoint, Job


@dataclass(frozen=True, slots=True)
class PinRequest:
    """A pin that a worker must write to the job log. If ``pinned`` is False, the worker must remove the pin from the job log. A
    savepoint stays pinned in the job log until the savepoint is deleted."""

    place: CheckpointLocation
    number: int
    generation: int
    pinned: bool


def pin_request(session: Session, checkpoint_id: int) -> PinRequest | None:
    """Return the pin that a worker must write to the job log or remove from it. Return None if the checkpoint is deleted or is being deleted, or
    if its location is unknown."""
    found = session.get(Checkpoint, checkpoint_id)
    if found is None or found.discarded_at is not None or found.deleting_since is not None:
        return None
    place = location_of_run(session, found.run_id)
    if place is None:
        return None
    return PinRequest(place, found.number, found.generation, found.pinned or found.is_savepoint)


def set_pin(session: Session, tasks: Tasks, found: Checkpoint, reason: str) -> None:
    """Pin the checkpoint for a plan, unless a user has pinned it. The caller holds the lock on the job."""
    if not found.pinned and not found.is_savepoint:
        found.pinned, found.pinned_reason = True, reason
        found.version += 1
        enqueue_after_commit(session, tasks, PIN, found.id)


def release_pin(found: Checkpoint, reason: str) -> None:
    """Release a pin that ``set_pin`` has set. A worker updates the job log later. The caller holds the lock on the job."""
    if found.pinned and found.pinned_reason == reason:
        found.pinned, found.pinned_reason = False, ""
        found.version += 1


def lock_with_job(session: Session, checkpoint_id: int) -> tuple[Job, Checkpoint] | None:
    """Lock the job, then the checkpoint. Return the job and the checkpoint, or None if one of them does not exist."""
    seen = session.get(Checkpoint, checkpoint_id)
    job = jobs.find(session, seen.job_id, lock=True) if seen is not None else None
    checkpoint = checkpoints.locked(session, checkpoint_id)
    return (job, checkpoint) if job is not None and checkpoint is not None else None


def confirm_pin(session: Session, checkpoint_id: int, written: PinRequest) -> int | None:
    """Record that a worker has written a pin to the job log. If the pin in the database now differs from ``written``, record
    nothing, because a worker will write the changed pin later. Return the id of the job if a plan may be waiting for the
    pin."""
    held = lock_with_job(session, checkpoint_id)
    if held is None:
        return None
    job, found = held
    if found.pin_in_force == found.pinned or written.pinned != (found.pinned or found.is_savepoint):
        return None
    found.pin_in_force = found.pinned
    job.next_reconcile_at = now()  # a plan may be waiting for the pin
    record_event(session, job, "CheckpointPinned" if found.pinned else "CheckpointUnpinned", checkpoint=found.number)
    return job.id


def reject_pin(session: Session, checkpoint_id: int) -> None:
    """Record that the checkpoint was retired before a worker could write its pin to the job log."""
    held = lock_with_job(session, checkpoint_id)
    if held is not None and held[1].deleting_since is None:
        mark_discarded(session, held[0], [held[1]], now())
        held[0].next_reconcile_at = now()


def mark_discarded(session: Session, job: Job, rows: Collection[Checkpoint], moment: datetime) -> None:
    """Mark ``rows`` as discarded, because these checkpoints are retired in the job log. Remove the pins of ``rows``, because these pins were set
    too late. Record an event that lists the checkpoints that lost a pin. The caller holds the lock on the job."""
    fresh = [row for row in rows if row.discarded_at is None]
    lost = sorted(row.number for row in fresh if row.pinned)
    for row in fresh:
        row.discarded_at, row.deleting_since = moment, None
        row.pinned = row.pin_in_force = False
    if lost:
        record_event(session, job, "PinsRejected", checkpoints=lost)
