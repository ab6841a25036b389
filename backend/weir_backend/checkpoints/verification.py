"""Enqueue verifications of checkpoints, assign parts of the files to workers, and record the outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from weir_backend.checkpoints import repository
from weir_backend.checkpoints.location import CheckpointLocation, location_of_run
from weir_backend.checkpoints.pins import lock_with_job, mark_discarded
from weir_backend.checkpoints.service import get_restorable
from weir_backend.checkpoints.verification_rules import (
    Damaged,
    Intact,
    Outcome,
    Retired,
    StorageUnavailable,
    VerificationProgress,
    retry_after,
    settle,
)
from weir_backend.jobs import repository as jobs
from weir_backend.jobs import service as job_service
from weir_backend.jobs.event_log import record_event
from weir_backend.kit.access import Caller
from weir_backend.kit.audit import audit
from weir_backend.kit.clock import now
from weir_backend.kit.jsonb import clean_text
from weir_backend.kit.tasks import VERIFY, Tasks, enqueue_after_commit
from weir_backend.models import Checkpoint, Job, Operation, OperationKind, Verification
from weir_backend.operations import repository as operation_rows
from weir_backend.operations import service as operations
from weir_backend.settings import Settings

RUNNING_MAX = 8
"""Maximum number of periodic verifications in progress."""


@dataclass(frozen=True, slots=True)
class VerificationPart:
    """The part of a checkpoint that a worker must verify. ``generation`` is the generation of the runtime that completed the checkpoint."""

    place: CheckpointLocation
    number: int
    generation: int
    files_done: int


def enqueue_due(session: Session, settings: Settings, tasks: Tasks, moment: datetime) -> int:
    """Enqueue verifications that are due. Return the number of checkpoints to verify."""
    room = RUNNING_MAX - repository.verifications_running(session, moment)
    if room <= 0:
        return 0
    cutoff = moment - timedelta(hours=settings.verify_after_hours)
    chosen = repository.due_for_verification(session, moment, cutoff=cutoff, limit=room)
    tries = repository.verification_tries(session, chosen)
    # Claim the verifications in the order of the checkpoint ids, so that concurrent calls do not deadlock.
    for checkpoint_id in sorted(chosen):
        until = moment + retry_after(tries.get(checkpoint_id, 0))
        claim = repository.claim_verification(session, checkpoint_id, moment, until, requested=False)
        if claim is not None:
            enqueue_after_commit(session, tasks, VERIFY, claim.checkpoint_id, claim.claim, claim.files_done)
    return len(chosen)


def verify(session: Session, tasks: Tasks, caller: Caller, job_id: int, number: int) -> Operation:
    """Request a verification of all files of a checkpoint. Raises NotFound, and Conflict if the files are deleted."""
    job = job_service.get(session, job_id, lock=True)
    found = get_restorable(session, job, number)
    operation = operations.begin(session, job, OperationKind.VERIFY, caller, {"checkpoint": number})
    operations.step(operation, "a worker is reading the files of the checkpoint")
    _restart(session, tasks, found.id)
    audit(session, caller, "verify", "checkpoint", found.id, after={"job": job.name, "number": number})
    return operation


def request_verification(session: Session, tasks: Tasks, job_id: int, number: int) -> None:
    """Request the verification for which a plan is waiting. A repeated call does not restart the verification."""
    job = jobs.find(session, job_id, lock=True)
    seen = jobs.completed(session, job_id, number)
    if job is None or seen is None or seen.discarded_at is not None or seen.deleting_since is not None:
        return
    row = repository.find_verification(session, seen.id)
    if row is None or not row.requested:
        _restart(session, tasks, seen.id)


def _restart(session: Session, tasks: Tasks, checkpoint_id: int) -> None:
    moment = now()
    claim = repository.claim_verification(session, checkpoint_id, moment, moment + retry_after(0), requested=True)
    assert claim is not None, "a request replaces the claim"
    enqueue_after_commit(session, tasks, VERIFY, claim.checkpoint_id, claim.claim, claim.files_done)


def begin_part(session: Session, checkpoint_id: int, claim: int, files_done: int) -> VerificationPart | None:
    """Return the part that the worker with ``claim`` must verify next. Return None if the verification has ended, if
    another worker has the claim, or if the location of the checkpoint is unknown."""
    row = repository.find_verification(session, checkpoint_id)
    found = session.get(Checkpoint, checkpoint_id)
    if row is None or found is None or not _holds_claim(row, claim, files_done):
        return None
    place = location_of_run(session, found.run_id)
    if place is None:
        return None
    return VerificationPart(place, found.number, found.generation, files_done)


def record_outcome(session: Session, tasks: Tasks, checkpoint_id: int, claim: int, files_done: int, what: Outcome) -> None:
    """Record what a worker has found in a part of the files. A repeated or outdated report changes nothing."""
    held = lock_with_job(session, checkpoint_id)
    row = repository.find_verification(session, checkpoint_id, lock=True)
    if held is None or row is None or not _holds_claim(row, claim, files_done):
        return
    job, checkpoint = held
    match what:
        case VerificationProgress(files, size):
            row.files_done, row.bytes_done, row.tries, row.problem = files_done + files, row.bytes_done + size, 0, None
            row.next_try_at = now() + retry_after(0)
            enqueue_after_commit(session, tasks, VERIFY, checkpoint_id, claim, row.files_done)
        case StorageUnavailable(reason):
            row.problem = clean_text(reason)
            for operation in _open_operations(session, checkpoint):
                operations.step(operation, f"a worker will retry, because storage did not answer: {row.problem}")
        case Intact(files, size):
            _settle(session, job, checkpoint, Intact(files_done + files, row.bytes_done + size))
        case Damaged(problems):
            _settle(session, job, checkpoint, Damaged(tuple(map(clean_text, problems))))
        case Retired():
            _settle(session, job, checkpoint, what)


def _open_operations(session: Session, checkpoint: Checkpoint) -> list[Operation]:
    """Return the open operations that verify this checkpoint."""
    found = operation_rows.open_of(session, checkpoint.job_id, OperationKind.VERIFY)
    return [operation for operation in found if operation.request["checkpoint"] == checkpoint.number]


def _holds_claim(row: Verification, claim: int, files_done: int) -> bool:
    return row.claim == claim and row.files_done == files_done


def _settle(session: Session, job: Job, checkpoint: Checkpoint, what: Intact | Damaged | Retired) -> None:
    settled = settle(checkpoint.number, what, damage_before=checkpoint.damage)
    moment = now()
    if settled.verified:
        checkpoint.verified_at, checkpoint.damage = moment, settled.damage
    if settled.retired and checkpoint.deleting_since is None:
        # If a checkpoint is being deleted, the garbage collection marks it as discarded.
        mark_discarded(session, job, [checkpoint], moment)
    if settled.event is not None:
        record_event(session, job, settled.event, checkpoint=checkpoint.number, damage=settled.damage)
    for operation in _open_operations(session, checkpoint):
        operations.end_and_record(session, job, operation, settled.over)
    repository.end_verification(session, checkpoint.id)
