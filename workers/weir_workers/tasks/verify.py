"""Reading the files of checkpoints."""

from __future__ import annotations

import time

import structlog

from weir.storage.open import open_storage
from weir_backend.verification import service
from weir_backend.verification.decide import GotOn, Unclear
from weir_workers.checkpoints.examining import BYTES_A_PART, Open, examine
from weir_workers.context import Context, current
from weir_workers.task import task

log = structlog.get_logger(__name__)
TIME_S = 40.0


@task("weir.verify", time_limit_s=115)
def verify(checkpoint_id: int, claim: int, files_done: int) -> None:
    """A part of the files of a checkpoint; the next part is asked for if there is one."""
    verify_part(current(), checkpoint_id, claim, files_done)


def verify_part(
    context: Context,
    checkpoint_id: int,
    claim: int,
    files_done: int,
    *,
    open_: Open = open_storage,
    bytes_max: int = BYTES_A_PART,
) -> None:
    with context.database.session() as session:
        part = service.begin(session, checkpoint_id, claim, files_done)
    if part is None:
        return
    until = time.monotonic() + TIME_S
    found = examine(part, time_is_up=lambda: time.monotonic() >= until, open_=open_, bytes_max=bytes_max)
    if isinstance(found, Unclear):
        log.warning("a checkpoint could not be verified", checkpoint=part.number, job=part.place.name, reason=found.reason)
    elif not isinstance(found, GotOn):
        log.info("checkpoint verified", checkpoint=part.number, job=part.place.name, found=type(found).__name__)
    with context.database.session() as session:
        service.found(session, context.tasks, checkpoint_id, claim, files_done, found)
