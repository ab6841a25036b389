"""Garbage-collect checkpoints of jobs that are not running.

A garbage collection has several steps. Each step in this module is a transaction that locks the job. Between two transactions, a
worker changes checkpoint storage. No run of the job starts until the worker has finished or ``Job.retention_until`` has passed.
If a run started during a garbage collection, the garbage collection could fence the driver of this run. The correctness of the garbage
collection depends on the job log alone."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.orm import Session

from weir_backend.actions.rules import Refusal, checkpoint_permission, checkpoint_refusal, enforce
from weir_backend.actions.schemas import Verb
from weir_backend.checkpoints import kept, repository
from weir_backend.checkpoints.location import CheckpointLocation, location_of_run
from weir_backend.checkpoints.pins import mark_discarded
from weir_backend.checkpoints.retention_rules import (
    CheckpointFacts,
    GcDecision,
    GcJobFacts,
    LogFacts,
    decide,
    gc_obstacle,
    plan_references,
)
from weir_backend.checkpoints.service import get_restorable
from weir_backend.jobs import repository as jobs
from weir_backend.jobs import service as job_service
from weir_backend.jobs.event_log import record_event
from weir_backend.kit.access import Caller
from weir_backend.kit.audit import audit
from weir_backend.kit.clock import now
from weir_backend.kit.tasks import COLLECT_GARBAGE, PIN, Tasks, enqueue_after_commit
from weir_backend.models import Checkpoint, Job, Operation, OperationKind, OperationState
from weir_backend.operations import repository as operation_rows
from weir_backend.operations import service as operations
from weir_backend.operations.lifecycle import OperationOutcome
from weir_backend.reconciler.service import next_start_of
from weir_backend.recovery import repository as plan_rows
from weir_backend.recovery.execution import release_undo_pin
from weir_backend.runs import repository as runs
from weir_backend.settings import Settings

GC_INTERVAL = timedelta(minutes=10)
GC_RETRY = timedelta(minutes=1)
"""The delay before the retry of a garbage collection whose outcome is unknown."""
GC_LEASE = timedelta(seconds=90)
"""The maximum time for which a garbage collection delays the next run of the job, even if the worker crashes. A garbage collection
takes less time than ``GC_LEASE``."""
JOBS_PER_ROUND = 20
PINS_PER_ROUND = 20


@dataclass(frozen=True, slots=True)
class GcTarget:
    """The parameters with which a worker reads the storage of a job. ``asked`` is True if a user has requested a deletion."""

    place: CheckpointLocation
    retained: int
    asked: bool


@dataclass(frozen=True, slots=True)
class GcWork:
    """The changes that a worker must make in the storage of a job. No run of the job starts before ``until``, unless the worker
    finishes earlier."""

    decided: GcDecision
    until: datetime


def release_expired_undo_pins(session: Session, settings: Settings, moment: datetime) -> None:
    """Release the pins of safety savepoints whose plans ended more than ``undo_kept_days`` days ago, even if the job is running."""
    before = moment - timedelta(days=settings.undo_kept_days)
    for plan in repository.plans_with_expired_undo_pin(session, before, limit=PINS_PER_ROUND):
        if jobs.find(session, plan.job_id, lock=True) is not None:
            release_undo_pin(session, plan)


def enqueue_due(session: Session, tasks: Tasks, moment: datetime) -> int:
    """Enqueue the garbage collections that are due, and a task for each checkpoint whose pin in the database differs from its pin in the job log.
    Return the number of enqueued tasks."""
    chosen = repository.jobs_due_for_gc(session, moment, limit=JOBS_PER_ROUND)
    if chosen:
        # If a Celery task is lost, its job is enqueued again after ``GC_INTERVAL``.
        repository.postpone_gc(session, chosen, moment + GC_INTERVAL)
    for job_id in chosen:
        enqueue_after_commit(session, tasks, COLLECT_GARBAGE, job_id)
    pins = repository.unconfirmed_pins(session, limit=PINS_PER_ROUND)
    for checkpoint_id in pins:
        enqueue_after_commit(session, tasks, PIN, checkpoint_id)
    return len(chosen) + len(pins)


def delete(session: Session, settings: Settings, tasks: Tasks, caller: Caller, job_id: int, number: int) -> Operation:
    """Request the deletion of a checkpoint. A worker deletes the checkpoint, unless the job log contains a reason to keep it. Raises NotFound,
    Forbidden, Conflict."""
    job = job_service.get(session, job_id, lock=True)
    row = repository.by_number(session, job.id, number)
    if row is not None:
        caller.require(checkpoint_permission(Verb.DELETE, kept.facts_of(row, None, None)))
    requested = _open_deletions(session, job).get(number)
    if requested is not None:
        return requested  # this request repeats an earlier request
    found = get_restorable(session, job, number)
    moment = now()
    retention = kept.load(session, settings, [job], moment)[job.id]
    enforce(checkpoint_refusal(Verb.DELETE, kept.facts_of(found, retention, location_of_run(session, found.run_id))))
    operation = operations.begin(session, job, OperationKind.DELETE, caller, {"checkpoint": number})
    operations.step(operation, "a worker is deleting the checkpoint")
    found.deleting_since = moment
    job.next_retention_at = moment + GC_RETRY
    enqueue_after_commit(session, tasks, COLLECT_GARBAGE, job.id)
    record_event(session, job, "CheckpointDeletionRequested", checkpoint=number, by=caller.name)
    audit(session, caller, "delete", "checkpoint", found.id, before={"job": job.name, "number": number})
    return operation


def gc_target(session: Session, job_id: int) -> GcTarget | None:
    """Return the parameters of a garbage collection, which include the location of the newest run's checkpoints. Return None if the job has no
    run or the location is unknown."""
    job = jobs.find(session, job_id)
    run = runs.newest_run(session, job) if job is not None else None
    place = location_of_run(session, run.id) if run is not None else None
    if job is None or place is None:
        return None
    return GcTarget(place, repository.retained_of_jobs(session, [job.id])[job.id], bool(_open_deletions(session, job)))


def plan_gc(
    session: Session, settings: Settings, tasks: Tasks, job_id: int, place: CheckpointLocation, log: LogFacts
) -> GcWork | None:
    """Update the rows of the checkpoints from the job log that a worker has read. Return what the worker must do in storage, or None if there is
    nothing to do."""
    job = jobs.find(session, job_id, lock=True)
    if job is None:
        return None
    moment = now()
    if job.retention_until is not None and moment < job.retention_until:
        job.next_retention_at = job.retention_until
        return None
    wanted = _open_deletions(session, job)
    rows = {row.number: row for row in repository.kept_at(session, job.id, place)}
    obstacle = gc_obstacle(_facts(session, job, place), log_generation=log.run_generation)
    decided = decide(
        log,
        [_row(row, wanted.keys()) for row in rows.values()],
        _references(session, settings, job),
        obstacle=obstacle.sentence if obstacle is not None else None,
    )
    mark_discarded(session, job, [rows[number] for number in decided.retired], moment)
    _fail_refused(session, job, wanted, decided)
    _complete_deletions(session, job, wanted, repository.discarded_among(session, job.id, wanted.keys()), {})
    for number, row in rows.items():
        if number in decided.to_delete:
            row.deleting_since = row.deleting_since or moment
        elif number not in decided.finish:
            row.deleting_since = None
    for number in decided.repin:
        enqueue_after_commit(session, tasks, PIN, rows[number].id)
    job.next_retention_at = moment + (GC_RETRY if decided.touches_storage else GC_INTERVAL)
    if not decided.touches_storage:
        return None
    job.retention_until = moment + GC_LEASE
    return GcWork(decided, job.retention_until)


def may_continue(session: Session, job_id: int, work: GcWork) -> bool:
    """Return whether the worker may continue the garbage collection. The worker calls this function before it writes an entry to the job log."""
    job = jobs.find(session, job_id, lock=True)
    return (
        job is not None
        and job.retention_until == work.until
        and now() < work.until
        and runs.live_run(session, job.id) is None
        and plan_rows.applying(session, job.id) is None
    )


def finish_gc(
    session: Session,
    tasks: Tasks,
    job_id: int,
    place: CheckpointLocation,
    work: GcWork,
    *,
    retired: Collection[int],
    deletion_problem: str | None,
) -> None:
    """Record the outcome of a garbage collection. ``retired`` contains the checkpoints that are now retired. ``deletion_problem`` is the reason
    why some files of the retired checkpoints remain, or None if all these files are deleted. The outcome is recorded even if the worker
    reports it after ``work.until``, because retired checkpoints stay retired."""
    job = jobs.find(session, job_id, lock=True)
    if job is None:
        return
    moment = now()
    rows = {row.number: row for row in repository.kept_at(session, job.id, place)}
    wanted = _open_deletions(session, job)
    over = [row for number, row in rows.items() if number in retired]
    mark_discarded(session, job, over, moment)
    if over:
        deleted = [row.number for row in over]
        requested = [number for number in deleted if number in wanted]
        outcome: dict[str, Any] = {"checkpoints": deleted, "requested": requested, "deletion_problem": deletion_problem}
        record_event(session, job, "CheckpointsDeleted", **outcome)
    _complete_deletions(session, job, wanted, set(retired), {"deletion_problem": deletion_problem} if deletion_problem else {})
    if job.retention_until == work.until:
        job.retention_until = None
        # A run may be waiting for the end of the garbage collection.
        job_service.reconcile_soon(session, tasks, job)
    if set(work.decided.to_delete) <= set(retired):
        job.next_retention_at = moment + GC_INTERVAL


def _facts(session: Session, job: Job, place: CheckpointLocation) -> GcJobFacts:
    run = runs.newest_run(session, job)
    applying = plan_rows.applying(session, job.id)
    neighbour = repository.job_sharing_log(session, job.id, place)
    known_generation = repository.known_generation(session, job.id, place)
    return GcJobFacts.of(job, run, applying.id if applying is not None else None, neighbour, known_generation)


def _open_deletions(session: Session, job: Job) -> dict[int, Operation]:
    """Return the open operations that delete a checkpoint, by the number of the checkpoint."""
    found = operation_rows.open_of(session, job.id, OperationKind.DELETE)
    return {operation.request["checkpoint"]: operation for operation in found}


def _references(session: Session, settings: Settings, job: Job) -> dict[int, list[Refusal]]:
    return plan_references(
        repository.plan_references(session, [job.id]).get(job.id, ()),
        next_start_of(session, job).checkpoint,
        now(),
        undo_kept=timedelta(days=settings.undo_kept_days),
    )


def _row(checkpoint: Checkpoint, asked: Collection[int]) -> CheckpointFacts:
    return CheckpointFacts(
        number=checkpoint.number,
        generation=checkpoint.generation,
        is_savepoint=checkpoint.is_savepoint,
        pinned=checkpoint.pinned,
        damaged=checkpoint.damage is not None,
        asked=checkpoint.number in asked,
        deleting=checkpoint.deleting_since is not None,
    )


def _fail_refused(session: Session, job: Job, wanted: dict[Any, Operation], decided: GcDecision) -> None:
    for number, why in (decided.refused or {}).items():
        operations.end_and_record(session, job, wanted[number], OperationOutcome(OperationState.FAILED, problem=why))


def _complete_deletions(
    session: Session, job: Job, wanted: dict[Any, Operation], retired: Collection[int], more: dict[str, Any]
) -> None:
    for number, operation in wanted.items():
        if number in retired:
            result = {"checkpoint": number, **more}
            operations.end_and_record(session, job, operation, OperationOutcome(OperationState.SUCCEEDED, result=result))
