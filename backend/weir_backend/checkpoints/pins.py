"""Pin and unpin checkpoints. The API sets a pin in the database, and a worker writes the pin to the job log. A running driver reads pins from the
job log."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from weir_backend.checkpoints import repository as checkpoints
from weir_backend.checkpoints.location import CheckpointLocation, location_of_run
from weir_backend.checkpoints.retention_rules import UNDO_PIN
from weir_backend.errors import Conflict
from weir_backend.jobs import repository as jobs
from weir_backend.jobs.event_log import record_event
from weir_backend.kit.access import Caller, Permission
from weir_backend.kit.clock import now
from weir_backend.kit.tasks import PIN, Tasks, enqueue_after_commit
from weir_backend.models import Checkpoint, CheckpointPin, Job, PinHolder, RecoveryPlan


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


def set_pin(session: Session, tasks: Tasks, found: Checkpoint, holder: PinHolder, plan: RecoveryPlan) -> None:
    """Pin the checkpoint for a plan. The caller holds the lock on the job."""
    if found.is_savepoint:
        return
    pins = _current_pins(session, found)
    if _of_plan(pins, holder, plan) is None:
        pins.append(
            CheckpointPin(
                checkpoint_id=found.id, holder=holder, plan_id=plan.id, reason=plan_reason(holder, plan.id), created_at=now()
            )
        )
        _store(session, found, pins)
    if not found.pin_in_force:
        enqueue_after_commit(session, tasks, PIN, found.id)


def release_pin(session: Session, found: Checkpoint, holder: PinHolder, plan: RecoveryPlan) -> None:
    """Release a pin that ``set_pin`` has set. Pins of other holders remain. A worker updates the job log later. The caller holds the lock on the
    job."""
    pins = _current_pins(session, found)
    released = _of_plan(pins, holder, plan)
    if released is not None:
        _store(session, found, [pin for pin in pins if pin is not released])


def pin_for_user(session: Session, found: Checkpoint, caller: Caller, reason: str) -> None:
    """Pin the checkpoint for the caller, or change the reason of the caller's pin. The caller of this function holds the lock on the job."""
    pins = _current_pins(session, found)
    own = next((pin for pin in pins if pin.holder is PinHolder.USER and pin.user_id == caller.user_id), None)
    if own is None:
        own = CheckpointPin(checkpoint_id=found.id, holder=PinHolder.USER, user_id=caller.user_id, created_at=now())
        pins.append(own)
    own.user_name, own.reason = caller.name, reason
    _store(session, found, pins)


def release_for_user(session: Session, found: Checkpoint, caller: Caller) -> None:
    """Release the pins that the caller may release, if any. Raises Conflict if only other holders have pinned the checkpoint. The caller of this
    function holds the lock on the job."""
    pins = _current_pins(session, found)
    released = releasable(pins, caller)
    if pins and not released:
        by_user = any(pin.holder is PinHolder.USER for pin in pins)
        raise Conflict(
            "pinned-by-others",
            f"Checkpoint {found.number} is pinned by {', '.join(map(holder_name, pins))}.",
            "Ask the user who has pinned it, or an administrator." if by_user else "Weir releases the pins of plans itself.",
        )
    _store(session, found, [pin for pin in pins if pin not in released])


def releasable(pins: Collection[CheckpointPin], caller: Caller) -> list[CheckpointPin]:
    """Return the pins that the caller may release. A caller who has pinned the checkpoint may release only this pin. Another caller may release the
    pins of unknown users. If there are no such pins, an administrator may release the pins of all users. Only Weir releases the pins of plans."""
    of_users = [pin for pin in pins if pin.holder is PinHolder.USER]
    own = [pin for pin in of_users if pin.user_id is not None and pin.user_id == caller.user_id]
    unknown = [pin for pin in of_users if pin.user_id is None]
    return own or unknown or (of_users if Permission.ADMINISTER in caller.permissions else [])


def holder_name(pin: CheckpointPin) -> str:
    match pin.holder:
        case PinHolder.USER:
            return pin.user_name or "an unknown user"
        case PinHolder.PLAN:
            return f"plan {pin.plan_id}"
        case PinHolder.UNDO:
            return f"the undo of plan {pin.plan_id}"


def plan_reason(holder: PinHolder, plan_id: int) -> str:
    return f"{UNDO_PIN}{plan_id} would return to it" if holder is PinHolder.UNDO else f"plan {plan_id} restores it"


def pins_of(checkpoint: Checkpoint, stored: Sequence[CheckpointPin]) -> list[CheckpointPin]:
    """Return the pins of the checkpoint. ``stored`` contains its rows in ``checkpoint_pins``. An older version of Weir changes only
    ``Checkpoint.pinned`` and ``Checkpoint.pinned_reason``, but no rows. If an older version has pinned the checkpoint, return one pin with the holder
    that the reason names. If an older version has unpinned the checkpoint, return no pins."""
    if not checkpoint.pinned:
        return []
    if stored:
        return list(stored)
    pin = CheckpointPin(checkpoint_id=checkpoint.id, holder=PinHolder.USER, user_name="", reason=checkpoint.pinned_reason)
    for holder in (PinHolder.PLAN, PinHolder.UNDO):
        number = re.search(r"[0-9]{1,18}", checkpoint.pinned_reason)
        if number is not None and checkpoint.pinned_reason == plan_reason(holder, int(number[0])):
            pin.holder, pin.plan_id = holder, int(number[0])
    return [pin]


def _current_pins(session: Session, found: Checkpoint) -> list[CheckpointPin]:
    return pins_of(found, checkpoints.pins(session, [found.id]).get(found.id, []))


def _of_plan(pins: Collection[CheckpointPin], holder: PinHolder, plan: RecoveryPlan) -> CheckpointPin | None:
    return next((pin for pin in pins if pin.holder is holder and pin.plan_id == plan.id), None)


def _store(session: Session, found: Checkpoint, pins: Sequence[CheckpointPin]) -> None:
    """Replace the pins of the checkpoint with ``pins``."""
    for stored in checkpoints.pins(session, [found.id]).get(found.id, []):
        if stored not in pins:
            session.delete(stored)
    session.add_all(pins)
    first = min(pins, key=lambda pin: pin.holder is not PinHolder.USER, default=None)
    found.pinned, found.pinned_reason = first is not None, first.reason if first is not None else ""
    found.version += 1
    session.flush()


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
        checkpoints.delete_pins(session, [row.id for row in fresh])
        record_event(session, job, "PinsRejected", checkpoints=lost)
