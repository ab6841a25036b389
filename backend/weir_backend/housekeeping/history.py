"""Thin the checkpoint history: delete the rows of old checkpoints in batches, according to ``history_rules``."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy.orm import Session

from weir_backend.housekeeping import repository
from weir_backend.housekeeping.batches import Batch
from weir_backend.housekeeping.history_rules import HistoryLevel, HistoryReferences, HistoryRow, steps_of, thin
from weir_backend.kit.advisory_lock import LockKind, try_transaction_lock
from weir_backend.kit.clock import now
from weir_backend.settings import Settings

HISTORY_ROWS = 2_000
"""The number of rows that one batch judges per level."""


def levels(settings: Settings) -> tuple[HistoryLevel, ...]:
    full = timedelta(days=settings.checkpoints_full_days)
    per_minute = timedelta(days=settings.checkpoints_per_minute_days)
    return (
        HistoryLevel(1, full, timedelta(minutes=1)),
        HistoryLevel(2, full + per_minute, timedelta(hours=1)),
    )


def thin_history(session: Session, settings: Settings) -> Batch:
    """Judge one batch of rows per level. Do nothing if another process thins the history at the same time, because two processes that judge
    different rows of a step would keep two rows."""
    deleted, more = 0, False
    if try_transaction_lock(session, LockKind.THIN_HISTORY):
        for level in levels(settings):
            rows = _thin_level(session, level)
            deleted += rows.deleted
            more |= rows.more
    return Batch(deleted, more)


def _thin_level(session: Session, level: HistoryLevel) -> Batch:
    moment = now()
    rows = repository.history_to_judge(session, level.number - 1, level.end(moment), HISTORY_ROWS)
    if not rows:
        return Batch(0, more=False)
    judged = repository.history_in_steps(session, level.number, steps_of(rows, level), level.step)
    by_job: dict[int, list[HistoryRow]] = {}
    for row in (*rows, *judged):
        by_job.setdefault(row.job_id, []).append(row)
    named = repository.named_among(session, by_job.keys(), [row.id for row in (*rows, *judged)])
    newest = repository.newest_numbers(session, by_job.keys())
    decisions = [
        thin(own, HistoryReferences(frozenset(named.get(job_id, ())), newest.get(job_id, 0)), level, moment)
        for job_id, own in by_job.items()
    ]
    repository.set_history_level(session, [row for one in decisions for row in one.kept], level.number)
    deleted = repository.delete_history(session, [row for one in decisions for row in one.deleted])
    return Batch(deleted, more=len(rows) == HISTORY_ROWS)
