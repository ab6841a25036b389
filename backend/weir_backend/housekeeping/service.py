"""Chores: each removes a bite of what is older than it is kept for, so that tables do not grow for ever."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from weir_backend.housekeeping import repository
from weir_backend.kit.clock import now
from weir_backend.settings import Settings

BITE_ROWS = 5_000
BITES_A_ROUND = 40


@dataclass(frozen=True, slots=True)
class Chore:
    name: str
    do: Callable[[Session, Settings], int]
    """Rows removed, at most BITE_ROWS."""


def _samples(session: Session, settings: Settings) -> int:
    return repository.forget_samples(session, _ago(timedelta(hours=settings.samples_kept_hours)), BITE_ROWS)


def _events(session: Session, settings: Settings) -> int:
    return repository.forget_events(session, _ago(timedelta(days=settings.events_kept_days)), BITE_ROWS)


def _progress(session: Session, settings: Settings) -> int:
    return repository.forget_failed_checkpoints(session, _ago(timedelta(days=settings.events_kept_days)), BITE_ROWS)


def _alerts(session: Session, settings: Settings) -> int:
    return repository.forget_alerts(session, _ago(timedelta(days=settings.events_kept_days)), BITE_ROWS)


def _deliveries(session: Session, settings: Settings) -> int:
    return repository.forget_deliveries(session, _ago(timedelta(days=settings.events_kept_days)), BITE_ROWS)


def _answers(session: Session, settings: Settings) -> int:
    return repository.forget_answers(session, _ago(timedelta(days=1)), BITE_ROWS)


def _tokens(session: Session, settings: Settings) -> int:
    return repository.forget_tokens(session, _ago(timedelta(days=30)), BITE_ROWS)


def _ago(span: timedelta) -> datetime:
    return now() - span


CHORES = (
    Chore("metric samples", _samples),
    Chore("events", _events),
    Chore("failed checkpoints", _progress),
    Chore("alerts that are over", _alerts),
    Chore("messages to webhooks", _deliveries),
    Chore("answers to requests that could come again", _answers),
    Chore("tokens that have expired", _tokens),
)
