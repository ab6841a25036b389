"""Looking into checkpoint storage: what is due, what may go, what is pinned."""

from __future__ import annotations

import structlog

from weir.errors import CheckpointError, ConfigError, StorageError, Superseded
from weir.storage.open import open_storage
from weir_backend.kit.clock import now
from weir_backend.kit.tasks import RECONCILE
from weir_backend.retention import pins
from weir_backend.retention import service as retention
from weir_backend.verification import service as verification
from weir_workers.checkpoints.examining import Open
from weir_workers.checkpoints.letting_go import LetGo, Seen, facts, let_go, see
from weir_workers.checkpoints.pinning import Pinned
from weir_workers.checkpoints.pinning import pin as pin_in_log
from weir_workers.context import Context, current
from weir_workers.task import task

log = structlog.get_logger(__name__)


@task("weir.look_after_checkpoints")
def look_after_checkpoints() -> None:
    """From time to time: each look into storage that is due is asked for, as a task of its own."""
    context = current()
    with context.database.session() as session:
        retention.forget_old_ways_back(session, context.settings, now())
    with context.database.session() as session:
        retention.set_out(session, context.tasks, now())
    with context.database.session() as session:
        verification.set_out(session, context.settings, context.tasks, now())


@task("weir.tidy", time_limit_s=60)
def tidy(job_id: int) -> None:
    """Take in what its log says, and let go of what is not kept if it does not run."""
    tidy_job(current(), job_id)


def tidy_job(context: Context, job_id: int, open_: Open = open_storage) -> None:
    with context.database.session() as session:
        at = retention.storage_of(session, job_id)
    if at is None:
        return
    try:
        seen = see(open_(at.place.directory), at.place)
        found = facts(seen, retained=at.retained, asked=at.asked)
    except (CheckpointError, StorageError, ConfigError) as error:
        log.warning("checkpoint storage could not be looked into", job_id=job_id, reason=str(error))
        return
    with context.database.session() as session:
        going = retention.looked(session, context.settings, context.tasks, job_id, at.place, found)
    if going is None:
        return
    result = _let_go(context, job_id, seen, going)
    with context.database.session() as session:
        retention.done(session, context.tasks, job_id, at.place, going, gone=result.gone, left=result.left)


def _let_go(context: Context, job_id: int, seen: Seen, going: retention.Going) -> LetGo:
    def may_go_on() -> bool:
        with context.database.session() as session:
            return retention.still_held(session, job_id, going)

    try:
        return let_go(seen, going.decided, may_go_on=may_go_on)
    except (CheckpointError, StorageError, Superseded) as error:
        # What is retired by now, and what is not, the next look finds.
        log.warning("checkpoints could not be let go of", job_id=job_id, reason=str(error))
        return LetGo(frozenset())


@task("weir.pin", time_limit_s=60)
def pin(checkpoint_id: int) -> None:
    """Have the job's log say what was asked for."""
    pin_checkpoint(current(), checkpoint_id)


def pin_checkpoint(context: Context, checkpoint_id: int, open_: Open = open_storage) -> None:
    with context.database.session() as session:
        wanted = pins.wanted(session, checkpoint_id)
    if wanted is None:
        return
    try:
        said = pin_in_log(open_(wanted.place.directory), wanted)
    except (CheckpointError, StorageError, ConfigError) as error:
        log.warning("a pin could not be written", checkpoint=wanted.number, job=wanted.place.name, reason=str(error))
        return
    waiting: int | None = None
    with context.database.session() as session:
        if said is Pinned.IN_LOG:
            waiting = pins.in_log(session, checkpoint_id, wanted)
        elif said is Pinned.TOO_LATE:
            pins.too_late(session, checkpoint_id)
    if waiting is not None:
        # A job that was stopped for a plan does not run before its way back is safe: that must not take longer than it has to.
        context.tasks.enqueue(RECONCILE, waiting)
