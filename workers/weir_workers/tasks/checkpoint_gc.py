"""Tasks that read and write checkpoint storage: garbage collection and pins."""

from __future__ import annotations

import structlog

from weir.errors import CheckpointError, ConfigError, StorageError, Superseded
from weir.storage.location import open_storage
from weir_backend.checkpoints import pins, verification
from weir_backend.checkpoints import retention_gc as retention
from weir_backend.kit.clock import now
from weir_backend.kit.tasks import RECONCILE
from weir_workers.checkpoints.pins import PinResult
from weir_workers.checkpoints.pins import pin as pin_in_log
from weir_workers.checkpoints.retention_gc import GcResult, JobStorage, collect, facts, open_job_storage
from weir_workers.checkpoints.verification import OpenStorage
from weir_workers.context import Context, current
from weir_workers.task import task

log = structlog.get_logger(__name__)


@task("weir.maintain_checkpoints")
def maintain_checkpoints() -> None:
    """Release expired pins, then enqueue garbage collection for each job that is due and verification for each checkpoint that is due."""
    context = current()
    with context.database.session() as session:
        retention.release_expired_undo_pins(session, context.settings, now())
    with context.database.session() as session:
        retention.enqueue_due(session, context.tasks, now())
    with context.database.session() as session:
        verification.enqueue_due(session, context.settings, context.tasks, now())


@task("weir.collect_garbage", time_limit_s=60)
def collect_garbage(job_id: int) -> None:
    """Read the log of the job. If the job is not running, garbage-collect its expired checkpoints."""
    collect_job_garbage(current(), job_id)


def collect_job_garbage(context: Context, job_id: int, open_: OpenStorage = open_storage) -> None:
    with context.database.session() as session:
        target = retention.gc_target(session, job_id)
    if target is None:
        return
    try:
        storage = open_job_storage(open_(target.place.directory), target.place)
        log_facts = facts(storage, retained=target.retained, asked=target.asked)
    except (CheckpointError, StorageError, ConfigError) as error:
        log.warning("checkpoint storage cannot be read", job_id=job_id, reason=str(error))
        return
    with context.database.session() as session:
        work = retention.plan_gc(session, context.settings, context.tasks, job_id, target.place, log_facts)
    if work is None:
        return
    result = _collect(context, job_id, storage, work)
    with context.database.session() as session:
        retention.finish_gc(
            session, context.tasks, job_id, target.place, work, retired=result.retired, deletion_problem=result.deletion_problem
        )


def _collect(context: Context, job_id: int, storage: JobStorage, work: retention.GcWork) -> GcResult:
    def may_continue() -> bool:
        with context.database.session() as session:
            return retention.may_continue(session, job_id, work)

    try:
        return collect(storage, work.decided, may_continue=may_continue)
    except (CheckpointError, StorageError, Superseded) as error:
        # Some checkpoints are possibly retired already. The next collection reads the retired checkpoints from the log.
        log.warning("checkpoints could not be garbage-collected", job_id=job_id, reason=str(error))
        return GcResult(frozenset())


@task("weir.pin", time_limit_s=60)
def pin(checkpoint_id: int) -> None:
    """Write a requested pin to the job log."""
    pin_checkpoint(current(), checkpoint_id)


def pin_checkpoint(context: Context, checkpoint_id: int, open_: OpenStorage = open_storage) -> None:
    with context.database.session() as session:
        wanted = pins.pin_request(session, checkpoint_id)
    if wanted is None:
        return
    try:
        outcome = pin_in_log(open_(wanted.place.directory), wanted)
    except (CheckpointError, StorageError, ConfigError) as error:
        log.warning("cannot write a pin to the job log", checkpoint=wanted.number, job=wanted.place.name, reason=str(error))
        return
    waiting_job: int | None = None
    with context.database.session() as session:
        if outcome is PinResult.IN_LOG:
            waiting_job = pins.confirm_pin(session, checkpoint_id, wanted)
        elif outcome is PinResult.TOO_LATE:
            pins.reject_pin(session, checkpoint_id)
    if waiting_job is not None:
        # A plan has stopped the job, and waits until the checkpoint for the undo is pinned. Reconcile the job now, so that it starts
        # again without delay.
        context.tasks.enqueue(RECONCILE, waiting_job)
