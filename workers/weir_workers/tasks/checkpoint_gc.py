"""Work in checkpoint storage: reading job logs, garbage collection, pins."""

from __future__ import annotations

import structlog

from weir.errors import CheckpointError, ConfigError, StorageError, Superseded
from weir.storage.location import open_storage
from weir_backend.checkpoints import pins, verification
from weir_backend.checkpoints import retention_gc as retention
from weir_backend.kit.clock import now
from weir_backend.kit.tasks import RECONCILE
from weir_workers.checkpoints.pins import Pinned
from weir_workers.checkpoints.pins import pin as pin_in_log
from weir_workers.checkpoints.retention_gc import GcResult, JobStorage, collect, facts, open_job_storage
from weir_workers.checkpoints.verification import OpenStorage
from weir_workers.context import Context, current
from weir_workers.task import task

log = structlog.get_logger(__name__)


@task("weir.look_after_checkpoints")
def look_after_checkpoints() -> None:
    """Periodically enqueue one task for each job or checkpoint that is due."""
    context = current()
    with context.database.session() as session:
        retention.release_expired_undo_pins(session, context.settings, now())
    with context.database.session() as session:
        retention.enqueue_due(session, context.tasks, now())
    with context.database.session() as session:
        verification.enqueue_due(session, context.settings, context.tasks, now())


@task("weir.collect_garbage", time_limit_s=60)
def tidy(job_id: int) -> None:
    """Read the job's log; if the job does not run, garbage-collect its expired checkpoints."""
    tidy_job(current(), job_id)


def tidy_job(context: Context, job_id: int, open_: OpenStorage = open_storage) -> None:
    with context.database.session() as session:
        at = retention.gc_target(session, job_id)
    if at is None:
        return
    try:
        seen = open_job_storage(open_(at.place.directory), at.place)
        found = facts(seen, retained=at.retained, asked=at.asked)
    except (CheckpointError, StorageError, ConfigError) as error:
        log.warning("checkpoint storage cannot be read", job_id=job_id, reason=str(error))
        return
    with context.database.session() as session:
        going = retention.plan_gc(session, context.settings, context.tasks, job_id, at.place, found)
    if going is None:
        return
    result = _collect(context, job_id, seen, going)
    with context.database.session() as session:
        retention.finish_gc(session, context.tasks, job_id, at.place, going, gone=result.gone, left=result.left)


def _collect(context: Context, job_id: int, seen: JobStorage, going: retention.GcWork) -> GcResult:
    def may_continue() -> bool:
        with context.database.session() as session:
            return retention.may_continue(session, job_id, going)

    try:
        return collect(seen, going.decided, may_continue=may_continue)
    except (CheckpointError, StorageError, Superseded) as error:
        # The next pass reads from the log what is retired by now.
        log.warning("checkpoints could not be garbage-collected", job_id=job_id, reason=str(error))
        return GcResult(frozenset())


@task("weir.pin", time_limit_s=60)
def pin(checkpoint_id: int) -> None:
    """Write a requested pin to the job's log."""
    pin_checkpoint(current(), checkpoint_id)


def pin_checkpoint(context: Context, checkpoint_id: int, open_: OpenStorage = open_storage) -> None:
    with context.database.session() as session:
        wanted = pins.pin_request(session, checkpoint_id)
    if wanted is None:
        return
    try:
        said = pin_in_log(open_(wanted.place.directory), wanted)
    except (CheckpointError, StorageError, ConfigError) as error:
        log.warning("cannot write a pin to the job log", checkpoint=wanted.number, job=wanted.place.name, reason=str(error))
        return
    waiting: int | None = None
    with context.database.session() as session:
        if said is Pinned.IN_LOG:
            waiting = pins.confirm_pin(session, checkpoint_id, wanted)
        elif said is Pinned.TOO_LATE:
            pins.reject_pin(session, checkpoint_id)
    if waiting is not None:
        # A job that was stopped for a plan starts only after the checkpoint for the undo is pinned, so it must not wait longer
        # than necessary.
        context.tasks.enqueue(RECONCILE, waiting)
