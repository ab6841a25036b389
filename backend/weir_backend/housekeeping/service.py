"""Delete rows that are older than their retention, in batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from weir_backend.artifacts import repository as artifacts
from weir_backend.housekeeping import repository
from weir_backend.housekeeping.batches import Batch
from weir_backend.housekeeping.history import thin_history
from weir_backend.kit.clock import now
from weir_backend.kit.heartbeats import delete_host_heartbeats
from weir_backend.settings import Settings

BATCH_ROWS = 5_000
ROUND_S = 25.0
"""The time limit of a round, in seconds. In a round, the cleanups take turns, and each cleanup deletes one batch per turn. The next round
deletes the rows that remain."""
HISTORY_BATCHES = 40
"""The maximum number of batches in which one round thins the checkpoint history. This is enough for more than a thousand jobs with a
checkpoint interval of ten seconds, and leaves most of the time to the other cleanups when Weir thins an old history for the first time."""


@dataclass(frozen=True, slots=True)
class Cleanup:
    name: str
    run: Callable[[Session, Settings], Batch]
    """A function that deletes one batch of rows."""
    batches_max: int | None = None
    """The maximum number of batches in a round, or None if only the time limit of the round applies."""


def _older(
    age: Callable[[Settings], timedelta], delete: Callable[[Session, datetime, int], int]
) -> Callable[[Session, Settings], Batch]:
    """Return a function that deletes a batch of BATCH_ROWS rows older than ``age``."""

    def run(session: Session, settings: Settings) -> Batch:
        rows = delete(session, now() - age(settings), BATCH_ROWS)
        return Batch(rows, more=rows >= BATCH_ROWS)

    return run


def _after_event_retention(delete: Callable[[Session, datetime, int], int]) -> Callable[[Session, Settings], Batch]:
    """Return a function that deletes rows older than the retention of events."""
    return _older(lambda settings: timedelta(days=settings.events_kept_days), delete)


def _with_checkpoints(delete: Callable[[Session, datetime, int], int]) -> Callable[[Session, Settings], Batch]:
    """Return a function that deletes rows older than the retention of checkpoints."""
    return _older(lambda settings: timedelta(days=settings.checkpoints_kept_days), delete)


def _month(_: Settings) -> timedelta:
    return timedelta(days=30)


CLEANUPS = (
    Cleanup("metric samples", _older(lambda settings: timedelta(hours=settings.samples_kept_hours), repository.delete_samples)),
    Cleanup("events", _after_event_retention(repository.delete_events)),
    Cleanup("failed checkpoints", _after_event_retention(repository.delete_failed_checkpoints)),
    Cleanup("failures", _after_event_retention(repository.delete_failures)),
    Cleanup("commands", _after_event_retention(repository.delete_commands)),
    Cleanup("ended operations", _after_event_retention(repository.delete_operations)),
    Cleanup("plans that were not applied", _after_event_retention(repository.delete_unapplied_plans)),
    Cleanup("old checkpoints of the same minute or hour", thin_history, HISTORY_BATCHES),
    Cleanup("checkpoints whose files are deleted", _with_checkpoints(repository.delete_discarded_checkpoints)),
    Cleanup("unreferenced runs", _after_event_retention(repository.delete_unreferenced_runs)),
    Cleanup("audit entries", _older(lambda settings: timedelta(days=settings.audit_kept_days), repository.delete_audit_entries)),
    Cleanup("checkpoints of deleted jobs", _with_checkpoints(repository.delete_checkpoints_of_deleted_jobs)),
    Cleanup("deleted jobs", _with_checkpoints(repository.purge_deleted_jobs)),
    Cleanup("resolved alerts", _after_event_retention(repository.delete_resolved_alerts)),
    Cleanup("webhook deliveries", _after_event_retention(repository.delete_deliveries)),
    Cleanup("idempotency keys", _older(lambda _: timedelta(days=1), repository.delete_idempotency_keys)),
    Cleanup("checks of specs", _older(lambda _: timedelta(hours=1), repository.delete_spec_checks)),
    Cleanup("expired tokens", _older(_month, repository.delete_tokens)),
    Cleanup(
        "heartbeats of hosts without drivers", _older(_month, lambda session, before, _: delete_host_heartbeats(session, before))
    ),
    Cleanup(
        "artifacts that no job uses",
        _older(lambda settings: timedelta(days=settings.artifacts_kept_days), artifacts.remove_unused),
    ),
)


def run_round(
    session: Callable[[], AbstractContextManager[Session]], settings: Settings, clock_s: Callable[[], float]
) -> Mapping[str, int]:
    """Run all cleanups in turns, each batch in its own transaction, until nothing is left or a limit is reached. Return the number of rows that
    each cleanup has deleted."""
    until = clock_s() + ROUND_S
    removed = dict.fromkeys((cleanup.name for cleanup in CLEANUPS), 0)
    left = list(CLEANUPS)
    turn = 0
    while left and clock_s() < until:
        turn += 1
        for cleanup in tuple(left):
            with session() as opened:
                batch = cleanup.run(opened, settings)
            removed[cleanup.name] += batch.deleted
            if not batch.more or turn == cleanup.batches_max:
                left.remove(cleanup)
    return removed
