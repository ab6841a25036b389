"""Verify the files of checkpoints."""

from __future__ import annotations

import time

import structlog

from weir.storage.location import open_storage
from weir_backend.checkpoints import verification
from weir_backend.checkpoints.verification_rules import StorageUnavailable, VerificationProgress
from weir_workers.checkpoints.verification import BYTES_A_PART, OpenStorage, verify_part
from weir_workers.context import Context, current
from weir_workers.task import task

log = structlog.get_logger(__name__)
TIME_S = 40.0


@task("weir.verify", time_limit_s=115)
def verify(checkpoint_id: int, claim: int, files_done: int) -> None:
    """Verify a part of a checkpoint's files, and enqueue the next part, if any."""
    verify_checkpoint(current(), checkpoint_id, claim, files_done)


def verify_checkpoint(
    context: Context,
    checkpoint_id: int,
    claim: int,
    files_done: int,
    *,
    open_: OpenStorage = open_storage,
    bytes_max: int = BYTES_A_PART,
) -> None:
    with context.database.session() as session:
        part = verification.begin_part(session, checkpoint_id, claim, files_done)
    if part is None:
        return
    until = time.monotonic() + TIME_S
    outcome = verify_part(part, time_is_up=lambda: time.monotonic() >= until, open_=open_, bytes_max=bytes_max)
    if isinstance(outcome, StorageUnavailable):
        log.warning("cannot verify a checkpoint", checkpoint=part.number, job=part.place.name, reason=outcome.reason)
    elif not isinstance(outcome, VerificationProgress):
        log.info("checkpoint verified", checkpoint=part.number, job=part.place.name, outcome=type(outcome).__name__)
    with context.database.session() as session:
        verification.record_outcome(session, context.tasks, checkpoint_id, claim, files_done, outcome)
