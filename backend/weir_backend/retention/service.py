"""Letting go of checkpoints of jobs at rest. Each step holds the lock on the job; what is done in storage between them is a worker's.

While a worker is at it no run is begun (``Job.tidied_until``), which spares a driver the meeting with a generation that it does not know.
Nothing rests on that: the job's log fences whichever of the two comes too late.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.orm import Session

from weir_backend.checkpoints.discarding import discard
from weir_backend.checkpoints.place import Place, place_of_run
from weir_backend.checkpoints.service import completed_and_there
from weir_backend.errors import Conflict
from weir_backend.jobs import repository as jobs
from weir_backend.jobs import service as job_service
from weir_backend.jobs.history import record
from weir_backend.kit.access import Caller
from weir_backend.kit.audit import audit
from weir_backend.kit.clock import now
from weir_backend.kit.tasks import PIN, TIDY, Tasks, ask
from weir_backend.models import Checkpoint, Job, Operation, OperationKind, OperationState
from weir_backend.operations import service as operations
from weir_backend.operations.lifecycle import Over
from weir_backend.reconciling import repository as runs
from weir_backend.reconciling.service import start_of
from weir_backend.recovery import repository as plan_rows
from weir_backend.recovery.carrying_out import let_go_of_the_way_back
from weir_backend.recovery.service import VALID_FOR
from weir_backend.retention import repository
from weir_backend.retention.decide import Decided, JobFacts, LogFacts, Obstacle, Row, decide, held_by, obstacle, referred
from weir_backend.settings import Settings

LOOK_EVERY = timedelta(minutes=10)
LOOK_AGAIN = timedelta(minutes=1)
"""When something was begun and is not known to be done."""
HELD_FOR = timedelta(seconds=90)
"""Longer than a worker may take. Should it die, a run of the job is begun this much later at most."""
JOBS_A_ROUND = 20
PINS_A_ROUND = 20


@dataclass(frozen=True, slots=True)
class Storage:
    """What a worker has to know to look. ``asked``: somebody wants something deleted."""

    place: Place
    retained: int
    asked: bool


@dataclass(frozen=True, slots=True)
class Going:
    """What a worker is to do in storage, and until when nobody else does anything there."""

    decided: Decided
    until: datetime


def forget_old_ways_back(session: Session, settings: Settings, moment: datetime) -> None:
    """What an undo would return to is kept no longer than ``undo_kept_days``, by jobs that run either."""
    before = moment - timedelta(days=settings.undo_kept_days)
    for plan in repository.old_ways_back(session, before, limit=PINS_A_ROUND):
        if jobs.find(session, plan.job_id, lock=True) is not None:
            let_go_of_the_way_back(session, plan)


def set_out(session: Session, tasks: Tasks, moment: datetime) -> int:
    """Ask for looks into storage that are due, and for pins that no log knows of yet. How much that is."""
    chosen = repository.due(session, moment, limit=JOBS_A_ROUND)
    if chosen:
        # Whoever dies on the way, or never hears of it, is followed by the next.
        repository.look_later(session, chosen, moment + LOOK_EVERY)
    for job_id in chosen:
        ask(session, tasks, TIDY, job_id)
    pins = repository.unsettled_pins(session, limit=PINS_A_ROUND)
    for checkpoint_id in pins:
        ask(session, tasks, PIN, checkpoint_id)
    return len(chosen) + len(pins)


def delete(session: Session, settings: Settings, tasks: Tasks, caller: Caller, job_id: int, number: int) -> Operation:
    """A worker deletes it, unless its log says why not. Raises NotFound, Conflict naming what it is kept for."""
    job = job_service.get(session, job_id, lock=True)
    for operation in repository.asked(session, job.id):
        if operation.request["checkpoint"] == number:
            return operation  # asked for twice
    found = completed_and_there(session, job, number)
    place = place_of_run(session, found.run_id)
    now_at = storage_of(session, job.id)
    if place is None or now_at is None or now_at.place != place:
        raise Conflict(
            "elsewhere",
            f"checkpoint {number} is not where job '{job.name}' has its checkpoints now, so nobody can say what still needs it",
            "delete it there by hand, if you know",
        )
    in_the_way = obstacle(_facts(session, job, place))
    if in_the_way is not None:
        raise Conflict(in_the_way.code, in_the_way.why, in_the_way.next_step)
    held = held_by(_row(found, frozenset()), _references(session, settings, job), newest=runs.newest_checkpoint(session, job.id))
    if held is not None:
        raise Conflict(held[0], held[1], "choose another one")
    moment = now()
    operation = operations.begin(session, job, OperationKind.DELETE, caller, {"checkpoint": number})
    operations.step(operation, "nothing may refer to it any more; a worker is asked to delete it")
    found.leaving_at = moment
    job.storage_look_at = moment + LOOK_AGAIN
    ask(session, tasks, TIDY, job.id)
    record(session, job, "CheckpointDeletionAsked", checkpoint=number, by=caller.name)
    audit(session, caller, "delete", "checkpoint", found.id, before={"job": job.name, "number": number})
    return operation


def storage_of(session: Session, job_id: int) -> Storage | None:
    """Of its newest run. None: there is none, or nobody knows where its checkpoints are."""
    job = jobs.find(session, job_id)
    run = runs.newest(session, job) if job is not None else None
    place = place_of_run(session, run.id) if run is not None else None
    spec = jobs.find_spec(session, job.id, job.spec_number) if job is not None else None
    if job is None or place is None or spec is None:
        return None
    retained: int = spec.body.get("checkpointing", {}).get("retained", 3)
    return Storage(place, retained, bool(repository.asked(session, job.id)))


def looked(session: Session, settings: Settings, tasks: Tasks, job_id: int, place: Place, log: LogFacts) -> Going | None:
    """A worker has read the job's log. What it is to do now; None: nothing. What is known of rows is brought up to it."""
    job = jobs.find(session, job_id, lock=True)
    if job is None:
        return None
    moment = now()
    if job.tidied_until is not None and moment < job.tidied_until:
        job.storage_look_at = job.tidied_until
        return None
    wanted = {operation.request["checkpoint"]: operation for operation in repository.asked(session, job.id)}
    rows = {row.number: row for row in repository.rows(session, job.id, place)}
    in_the_way = obstacle(_facts(session, job, place), log_generation=log.run_generation)
    decided = decide(
        log,
        [_row(row, wanted.keys()) for row in rows.values()],
        _references(session, settings, job),
        in_the_way=_sentence(in_the_way),
    )
    discard(session, job, [rows[number] for number in decided.retired], moment)
    _refuse(session, job, wanted, decided)
    _end(session, job, wanted, repository.discarded(session, job.id, wanted.keys()), {})
    for number, row in rows.items():
        if number in decided.going:
            row.leaving_at = row.leaving_at or moment
        elif number not in decided.finish:
            row.leaving_at = None
    for number in decided.repin:
        ask(session, tasks, PIN, rows[number].id)
    job.storage_look_at = moment + (LOOK_AGAIN if decided.touches_storage else LOOK_EVERY)
    if not decided.touches_storage:
        return None
    job.tidied_until = moment + HELD_FOR
    return Going(decided, job.tidied_until)


def still_held(session: Session, job_id: int, going: Going) -> bool:
    """Whether a worker may go on. To be asked before each entry in the job's log."""
    job = jobs.find(session, job_id, lock=True)
    return (
        job is not None
        and job.tidied_until == going.until
        and now() < going.until
        and runs.live(session, job.id) is None
        and plan_rows.applying(session, job.id) is None
    )


def done(
    session: Session, tasks: Tasks, job_id: int, place: Place, going: Going, *, gone: Collection[int], left: str | None
) -> None:
    """``gone``: what is retired now. ``left``: why files of theirs are there still; None: none are. Who comes too late says so all the same:
    what is retired stays so."""
    job = jobs.find(session, job_id, lock=True)
    if job is None:
        return
    moment = now()
    rows = {row.number: row for row in repository.rows(session, job.id, place)}
    wanted = {operation.request["checkpoint"]: operation for operation in repository.asked(session, job.id)}
    over = [row for number, row in rows.items() if number in gone]
    discard(session, job, over, moment)
    if over:
        told = [row.number for row in over]
        record(session, job, "CheckpointsDeleted", checkpoints=told, asked_for=[one for one in told if one in wanted], left=left)
    _end(session, job, wanted, set(gone), {"left": left} if left else {})
    if job.tidied_until == going.until:
        job.tidied_until = None
        # Whoever has waited to begin a run waits no longer.
        job_service.look_soon(session, tasks, job)
    if set(going.decided.going) <= set(gone):
        job.storage_look_at = moment + LOOK_EVERY


def _facts(session: Session, job: Job, place: Place | None) -> JobFacts:
    run = runs.newest(session, job)
    applying = plan_rows.applying(session, job.id)
    return JobFacts(
        desired=job.desired_state,
        live_run=run.number if run is not None and run.ended_at is None else None,
        last_state=run.state if run is not None else None,
        gave_up=job.gave_up is not None,
        applying=applying.id if applying is not None else None,
        neighbour=repository.neighbour(session, job.id, place) if place is not None else None,
        known_generation=repository.known_generation(session, job.id, place) if place is not None else 0,
    )


def _references(session: Session, settings: Settings, job: Job) -> dict[int, str]:
    return referred(
        repository.plans(session, job.id),
        start_of(session, job).checkpoint,
        now(),
        undo_kept=timedelta(days=settings.undo_kept_days),
        valid_for=VALID_FOR,
    )


def _row(checkpoint: Checkpoint, asked: Collection[int]) -> Row:
    return Row(
        number=checkpoint.number,
        generation=checkpoint.generation,
        is_savepoint=checkpoint.is_savepoint,
        pinned=checkpoint.pinned,
        damaged=checkpoint.damage is not None,
        asked=checkpoint.number in asked,
        leaving=checkpoint.leaving_at is not None,
    )


def _sentence(found: Obstacle | None) -> str | None:
    return f"{found.why}: {found.next_step}" if found is not None else None


def _refuse(session: Session, job: Job, wanted: dict[Any, Operation], decided: Decided) -> None:
    for number, why in (decided.refused or {}).items():
        operations.end_and_tell(session, job, wanted[number], Over(OperationState.FAILED, problem=why))


def _end(session: Session, job: Job, wanted: dict[Any, Operation], gone: Collection[int], more: dict[str, Any]) -> None:
    for number, operation in wanted.items():
        if number in gone:
            result = {"checkpoint": number, **more}
            operations.end_and_tell(session, job, operation, Over(OperationState.SUCCEEDED, result=result))
