"""Chores: each removes a bite of what is older than it is kept for, so that tables do not grow for ever."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from weir_backend.artifacts import repository as artifacts
from weir_backend.housekeeping import repository
from weir_backend.kit.clock import now
from weir_backend.kit.presence import forget_machines
from weir_backend.settings import Settings

BITE_ROWS = 5_000
ROUND_S = 25.0
"""So long the chores of one round take at most: they have their turns, bite by bite, and another round comes soon."""


@dataclass(frozen=True, slots=True)
class Chore:
    name: str
    do: Callable[[Session, Settings], int]
    """Rows removed, at most BITE_ROWS."""


def _with_events(forget: Callable[[Session, datetime, int], int]) -> Callable[[Session, Settings], int]:
    """What is kept for as long as events are."""
    return lambda session, settings: forget(session, _ago(timedelta(days=settings.events_kept_days)), BITE_ROWS)


def _samples(session: Session, settings: Settings) -> int:
    return repository.forget_samples(session, _ago(timedelta(hours=settings.samples_kept_hours)), BITE_ROWS)


def _audit(session: Session, settings: Settings) -> int:
    return repository.forget_audit(session, _ago(timedelta(days=settings.audit_kept_days)), BITE_ROWS)


def _discarded(session: Session, settings: Settings) -> int:
    before = _ago(timedelta(days=settings.checkpoints_kept_days))
    return repository.forget_discarded_checkpoints(session, before, BITE_ROWS)


def _of_deleted(session: Session, settings: Settings) -> int:
    before = _ago(timedelta(days=settings.checkpoints_kept_days))
    return repository.forget_checkpoints_of_deleted_jobs(session, before, BITE_ROWS)


def _deleted(session: Session, settings: Settings) -> int:
    return repository.forget_deleted_jobs(session, _ago(timedelta(days=settings.checkpoints_kept_days)), BITE_ROWS)


def _answers(session: Session, settings: Settings) -> int:
    return repository.forget_answers(session, _ago(timedelta(days=1)), BITE_ROWS)


def _tokens(session: Session, settings: Settings) -> int:
    return repository.forget_tokens(session, _ago(timedelta(days=30)), BITE_ROWS)


def _machines(session: Session, settings: Settings) -> int:
    return forget_machines(session, _ago(timedelta(days=30)))


def _artifacts(session: Session, settings: Settings) -> int:
    return artifacts.remove_unused(session, _ago(timedelta(days=settings.artifacts_kept_days)), now(), BITE_ROWS)


def _ago(span: timedelta) -> datetime:
    return now() - span


CHORES = (
    Chore("metric samples", _samples),
    Chore("events", _with_events(repository.forget_events)),
    Chore("failed checkpoints", _with_events(repository.forget_failed_checkpoints)),
    Chore("failures", _with_events(repository.forget_failures)),
    Chore("commands that were answered", _with_events(repository.forget_commands)),
    Chore("operations that are over", _with_events(repository.forget_operations)),
    Chore("plans that nobody approved", _with_events(repository.forget_proposals)),
    Chore("checkpoints whose files are gone", _discarded),
    Chore("runs that came to nothing", _with_events(repository.forget_runs)),
    Chore("what was audited", _audit),
    Chore("checkpoints of deleted jobs", _of_deleted),
    Chore("deleted jobs", _deleted),
    Chore("alerts that are over", _with_events(repository.forget_alerts)),
    Chore("messages to webhooks", _with_events(repository.forget_deliveries)),
    Chore("answers to requests that could come again", _answers),
    Chore("tokens that have expired", _tokens),
    Chore("machines without drivers", _machines),
    Chore("files of user code that no job uses", _artifacts),
)


def do_round(
    session: Callable[[], AbstractContextManager[Session]], settings: Settings, clock_s: Callable[[], float]
) -> Mapping[str, int]:
    """All chores, in turns, each bite in a transaction of its own, until there is nothing left or the time is over. Rows removed by each."""
    until = clock_s() + ROUND_S
    removed = dict.fromkeys((chore.name for chore in CHORES), 0)
    left = list(CHORES)
    while left and clock_s() < until:
        for chore in tuple(left):
            with session() as opened:
                rows = chore.do(opened, settings)
            removed[chore.name] += rows
            if rows < BITE_ROWS:
                left.remove(chore)
    return removed
