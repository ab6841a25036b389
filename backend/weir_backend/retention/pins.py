"""Pins between the database, where people set them, and the job's log, where they hold: also of a job that runs."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from weir_backend.checkpoints import repository as checkpoints
from weir_backend.checkpoints.discarding import discard
from weir_backend.checkpoints.place import Place, place_of_run
from weir_backend.jobs import repository as jobs
from weir_backend.jobs.history import record
from weir_backend.kit.clock import now
from weir_backend.kit.tasks import PIN, Tasks, ask
from weir_backend.models import Checkpoint

UNDO_PIN = "an undo of plan "
"""Reasons begin so of pins that keep what a plan was applied over."""


@dataclass(frozen=True, slots=True)
class WantedPin:
    """``pinned``: what the log is to say. A savepoint stays pinned there until it is deleted."""

    place: Place
    number: int
    generation: int
    pinned: bool


def wanted(session: Session, checkpoint_id: int) -> WantedPin | None:
    """None: there is nothing left to pin."""
    found = session.get(Checkpoint, checkpoint_id)
    if found is None or found.discarded_at is not None or found.leaving_at is not None:
        return None
    place = place_of_run(session, found.run_id)
    if place is None:
        return None
    return WantedPin(place, found.number, found.generation, found.pinned or found.is_savepoint)


def hold(session: Session, tasks: Tasks, found: Checkpoint, reason: str) -> None:
    """For as long as something is done with it; whoever has pinned it himself keeps his pin. Under the lock on the job."""
    if not found.pinned and not found.is_savepoint:
        found.pinned, found.pinned_reason = True, reason
        found.version += 1
        ask(session, tasks, PIN, found.id)


def release(found: Checkpoint, reason: str) -> None:
    """What ``hold`` has done. A worker finds that the log is to say so. Under the lock on the job."""
    if found.pinned and found.pinned_reason == reason:
        found.pinned, found.pinned_reason = False, ""
        found.version += 1


def in_log(session: Session, checkpoint_id: int, said: WantedPin) -> int | None:
    """The log says so. If somebody has changed his mind since, the next round finds that. The id of the job if a plan may wait for it."""
    seen = session.get(Checkpoint, checkpoint_id)
    job = jobs.find(session, seen.job_id, lock=True) if seen is not None else None
    found = checkpoints.locked(session, checkpoint_id)
    if job is None or found is None or found.pin_in_force == found.pinned:
        return None
    if said.pinned == (found.pinned or found.is_savepoint):
        found.pin_in_force = found.pinned
        job.next_look_at = now()  # a plan may wait for it
        record(session, job, "CheckpointPinned" if found.pinned else "CheckpointUnpinned", checkpoint=found.number)
        return job.id
    return None


def too_late(session: Session, checkpoint_id: int) -> None:
    """It was retired before the log could say so."""
    seen = session.get(Checkpoint, checkpoint_id)
    job = jobs.find(session, seen.job_id, lock=True) if seen is not None else None
    found = checkpoints.locked(session, checkpoint_id)
    if job is not None and found is not None and found.leaving_at is None:
        discard(session, job, [found], now())
        job.next_look_at = now()
