"""Delete rows that are older than their retention, in batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from weir_backend.artifacts import repository as artifacts
from weir_backend.housekeeping import repository
from weir_backend.kit.clock import now
from weir_backend.kit.heartbeats import delete_host_heartbeats
from weir_backend.settings import Settings

BATCH_ROWS = 5_000
ROUND_S = 25.0
"""The time limit of a round. The cleanups take turns, one batch each, and the next round follows soon."""


@dataclass(frozen=True, slots=True)
class Cleanup:
    name: str
    run: Callable[[Session, Settings], int]
    """Delete at most BATCH_ROWS rows, and return how many."""


def _after_event_retention(delete: Callable[[Session, datetime, int], int]) -> Callable[[Session, Settings], int]:
    """Return a cleanup of rows that are kept as long as events."""
    return lambda session, settings: delete(session, _ago(timedelta(days=settings.events_kept_days)), BATCH_ROWS)


def _samples(session: Session, settings: Settings) -> int:
    return repository.delete_samples(session, _ago(timedelta(hours=settings.samples_kept_hours)), BATCH_ROWS)


def _audit(session: Session, settings: Settings) -> int:
    return repository.delete_audit_entries(session, _ago(timedelta(days=settings.audit_kept_days)), BATCH_ROWS)


def _discarded(session: Session, settings: Settings) -> int:
    before = _ago(timedelta(days=settings.checkpoints_kept_days))
    return repository.delete_discarded_checkpoints(session, before, BATCH_ROWS)


def _of_deleted(session: Session, settings: Settings) -> int:
    before = _ago(timedelta(days=settings.checkpoints_kept_days))
    return repository.delete_checkpoints_of_deleted_jobs(session, before, BATCH_ROWS)


def _deleted(session: Session, settings: Settings) -> int:
    return repository.purge_deleted_jobs(session, _ago(timedelta(days=settings.checkpoints_kept_days)), BATCH_ROWS)


def _answers(session: Session, settings: Settings) -> int:
    return repository.delete_idempotency_keys(session, _ago(timedelta(days=1)), BATCH_ROWS)


def _tokens(session: Session, settings: Settings) -> int:
    return repository.delete_tokens(session, _ago(timedelta(days=30)), BATCH_ROWS)


def _machines(session: Session, settings: Settings) -> int:
    return delete_host_heartbeats(session, _ago(timedelta(days=30)))


def _artifacts(session: Session, settings: Settings) -> int:
    return artifacts.remove_unused(session, _ago(timedelta(days=settings.artifacts_kept_days)), now(), BATCH_ROWS)


def _ago(span: timedelta) -> datetime:
    return now() - span


CLEANUPS = (
    Cleanup("metric samples", _samples),
    Cleanup("events", _after_event_retention(repository.delete_events)),
    Cleanup("failed checkpoints", _after_event_retention(repository.delete_failed_checkpoints)),
    Cleanup("failures", _after_event_retention(repository.delete_failures)),
    Cleanup("commands", _after_event_retention(repository.delete_commands)),
    Cleanup("ended operations", _after_event_retention(repository.delete_operations)),
    Cleanup("plans that were not applied", _after_event_retention(repository.delete_unapplied_plans)),
    Cleanup("checkpoints whose files are deleted", _discarded),
    Cleanup("unreferenced runs", _after_event_retention(repository.delete_unreferenced_runs)),
    Cleanup("audit entries", _audit),
    Cleanup("checkpoints of deleted jobs", _of_deleted),
    Cleanup("deleted jobs", _deleted),
    Cleanup("resolved alerts", _after_event_retention(repository.delete_resolved_alerts)),
    Cleanup("webhook deliveries", _after_event_retention(repository.delete_deliveries)),
    Cleanup("idempotency keys", _answers),
    Cleanup("expired tokens", _tokens),
    Cleanup("heartbeats of hosts without drivers", _machines),
    Cleanup("artifacts that no job uses", _artifacts),
)


def run_round(
    session: Callable[[], AbstractContextManager[Session]], settings: Settings, clock_s: Callable[[], float]
) -> Mapping[str, int]:
    """Run all cleanups in turns, each batch in its own transaction, until nothing is left or the time is up. Return how many rows each has
    deleted."""
    until = clock_s() + ROUND_S
    removed = dict.fromkeys((cleanup.name for cleanup in CLEANUPS), 0)
    left = list(CLEANUPS)
    while left and clock_s() < until:
        for cleanup in tuple(left):
            with session() as opened:
                rows = cleanup.run(opened, settings)
            removed[cleanup.name] += rows
            if rows < BATCH_ROWS:
                left.remove(cleanup)
    return removed
