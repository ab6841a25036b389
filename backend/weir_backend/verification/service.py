"""Having checkpoints verified: who asks, who sets out, and what was found."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from weir_backend.checkpoints import repository as checkpoints
from weir_backend.checkpoints.discarding import discard
from weir_backend.checkpoints.place import Place, place_of_run
from weir_backend.checkpoints.service import completed_and_there
from weir_backend.jobs import repository as jobs
from weir_backend.jobs import service as job_service
from weir_backend.jobs.history import record
from weir_backend.kit.access import Caller
from weir_backend.kit.audit import audit
from weir_backend.kit.clock import now
from weir_backend.kit.json_form import clean_text
from weir_backend.kit.tasks import VERIFY, Tasks, ask
from weir_backend.models import Checkpoint, Job, Operation, OperationKind, Verification
from weir_backend.operations import service as operations
from weir_backend.settings import Settings
from weir_backend.verification import repository
from weir_backend.verification.decide import Damaged, Found, GotOn, Retired, Unclear, Whole, retry_after, settle

UNDER_WAY_MAX = 8
"""At once, of those that nobody waits for: storage and workers have other things to do."""


@dataclass(frozen=True, slots=True)
class Part:
    """What a worker is to read. ``generation``: the runtime's that has completed the checkpoint."""

    place: Place
    number: int
    generation: int
    files_done: int


def set_out(session: Session, settings: Settings, tasks: Tasks, moment: datetime) -> int:
    """Ask for what is due. How much that is."""
    room = UNDER_WAY_MAX - repository.under_way(session, moment)
    if room <= 0:
        return 0
    cutoff = moment - timedelta(hours=settings.verify_after_hours)
    chosen = repository.due(session, moment, cutoff=cutoff, limit=room)
    tries = repository.tries(session, chosen)
    # In one order everywhere, so that two who set out at once do not wait for each other in a ring.
    for checkpoint_id in sorted(chosen):
        until = moment + retry_after(tries.get(checkpoint_id, 0))
        claim = repository.claim(session, checkpoint_id, moment, until, wanted=False)
        if claim is not None:
            ask(session, tasks, VERIFY, claim.checkpoint_id, claim.claim, claim.files_done)
    return len(chosen)


def verify(session: Session, tasks: Tasks, caller: Caller, job_id: int, number: int) -> Operation:
    """Now, from the first file on. Raises NotFound, Conflict if there is nothing left to verify."""
    job = job_service.get(session, job_id, lock=True)
    found = completed_and_there(session, job, number)
    operation = operations.begin(session, job, OperationKind.VERIFY, caller, {"checkpoint": number})
    operations.step(operation, "a worker is asked to read its files")
    _begin_anew(session, tasks, found.id)
    audit(session, caller, "verify", "checkpoint", found.id, after={"job": job.name, "number": number})
    return operation


def want(session: Session, tasks: Tasks, job_id: int, number: int) -> None:
    """Something waits for what reading all its files will find, and asks again. Nothing is begun anew that is under way already."""
    job = jobs.find(session, job_id, lock=True)
    seen = jobs.completed(session, job_id, number)
    if job is None or seen is None or seen.discarded_at is not None or seen.leaving_at is not None:
        return
    row = repository.find(session, seen.id)
    if row is None or not row.wanted:
        _begin_anew(session, tasks, seen.id)


def _begin_anew(session: Session, tasks: Tasks, checkpoint_id: int) -> None:
    moment = now()
    claim = repository.claim(session, checkpoint_id, moment, moment + retry_after(0), wanted=True)
    assert claim is not None, "who asks replaces whoever is at it"
    ask(session, tasks, VERIFY, claim.checkpoint_id, claim.claim, claim.files_done)


def begin(session: Session, checkpoint_id: int, claim: int, files_done: int) -> Part | None:
    """None: there is nothing to do for who holds ``claim``, as it is done, or somebody else is at it."""
    row = repository.find(session, checkpoint_id)
    found = session.get(Checkpoint, checkpoint_id)
    if row is None or found is None or not _is_at(row, claim, files_done):
        return None
    place = place_of_run(session, found.run_id)
    if place is None:
        return None
    return Part(place, found.number, found.generation, files_done)


def found(session: Session, tasks: Tasks, checkpoint_id: int, claim: int, files_done: int, what: Found) -> None:
    """A worker has read a part of the files, or knows how it ends. Told twice, or by who was replaced: nothing changes."""
    held = _hold(session, checkpoint_id)
    row = repository.find(session, checkpoint_id, lock=True)
    if held is None or row is None or not _is_at(row, claim, files_done):
        return
    job, checkpoint = held
    match what:
        case GotOn(files, size):
            row.files_done, row.bytes_done, row.tries, row.problem = files_done + files, row.bytes_done + size, 0, None
            row.next_try_at = now() + retry_after(0)
            ask(session, tasks, VERIFY, checkpoint_id, claim, row.files_done)
        case Unclear(reason):
            row.problem = clean_text(reason)
            for operation in repository.waiting(session, job.id, checkpoint.number):
                operations.step(operation, f"it is tried again, as storage did not answer: {row.problem}")
        case Whole(files, size):
            _settle(session, job, checkpoint, Whole(files_done + files, row.bytes_done + size))
        case Damaged(problems):
            _settle(session, job, checkpoint, Damaged(tuple(map(clean_text, problems))))
        case Retired():
            _settle(session, job, checkpoint, what)


def _is_at(row: Verification, claim: int, files_done: int) -> bool:
    return row.claim == claim and row.files_done == files_done


def _hold(session: Session, checkpoint_id: int) -> tuple[Job, Checkpoint] | None:
    """The job's lock first, as everywhere."""
    seen = session.get(Checkpoint, checkpoint_id)
    job = jobs.find(session, seen.job_id, lock=True) if seen is not None else None
    checkpoint = checkpoints.locked(session, checkpoint_id)
    return (job, checkpoint) if job is not None and checkpoint is not None else None


def _settle(session: Session, job: Job, checkpoint: Checkpoint, what: Whole | Damaged | Retired) -> None:
    settled = settle(checkpoint.number, what, damage_before=checkpoint.damage)
    moment = now()
    if settled.verified:
        checkpoint.verified_at, checkpoint.damage = moment, settled.damage
    if settled.retired and checkpoint.leaving_at is None:
        # One that is leaving is finished by whoever lets go of it.
        discard(session, job, [checkpoint], moment)
    if settled.event is not None:
        record(session, job, settled.event, checkpoint=checkpoint.number, damage=settled.damage)
    for operation in repository.waiting(session, job.id, checkpoint.number):
        operations.end_and_tell(session, job, operation, settled.over)
    repository.end(session, checkpoint.id)
