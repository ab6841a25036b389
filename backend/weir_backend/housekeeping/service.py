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
"""Time limit of a round. The cleanups take turns, batch by batch, and the next round follows soon."""


@dataclass(frozen=True, slots=True)
class Cleanup:
    name: str
    do: Callable[[Session, Settings], int]
    """Return how many rows were deleted, at most BATCH_ROWS."""


def _after_event_retention(forget: Callable[[Session, datetime, int], int]) -> Callable[[Session, Settings], int]:
    """For rows that are kept as long as events."""
    return lambda session, settings: forget(session, _ago(timedelta(days=settings.events_kept_days)), BATCH_ROWS)


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
    Cleanup("commands that were answered", _after_event_retention(repository.delete_commands)),
    Cleanup("operations that are over", _after_event_retention(repository.delete_operations)),
    Cleanup("plans that nobody approved", _after_event_retention(repository.delete_unapplied_plans)),
    Cleanup("checkpoints whose files are gone", _discarded),
    Cleanup("runs that came to nothing", _after_event_retention(repository.delete_unreferenced_runs)),
    Cleanup("what was audited", _audit),
    Cleanup("checkpoints of deleted jobs", _of_deleted),
    Cleanup("deleted jobs", _deleted),
    Cleanup("alerts that are over", _after_event_retention(repository.delete_resolved_alerts)),
    Cleanup("messages to webhooks", _after_event_retention(repository.delete_deliveries)),
    Cleanup("answers to requests that could come again", _answers),
    Cleanup("tokens that have expired", _tokens),
    Cleanup("machines without drivers", _machines),
    Cleanup("files of user code that no job uses", _artifacts),
)


def run_round(
    session: Callable[[], AbstractContextManager[Session]], settings: Settings, clock_s: Callable[[], float]
) -> Mapping[str, int]:
    """Run all cleanups in turns, each batch in its own transaction, until nothing is left or the time is up. Return the deleted rows of each."""
    until = clock_s() + ROUND_S
    removed = dict.fromkeys((chore.name for chore in CLEANUPS), 0)
    left = list(CLEANUPS)
    while left and clock_s() < until:
        for chore in tuple(left):
            with session() as opened:
                rows = chore.do(opened, settings)
            removed[chore.name] += rows
            if rows < BATCH_ROWS:
                left.remove(chore)
    return removed
