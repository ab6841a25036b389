"""Files of runs on the machines of their drivers: which may go, and that they are gone. A row stays, and says that its log does not.

First the files go and then the row says so: who dies in between is followed by another who finds nothing left, and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from weir_backend.kit.clock import now
from weir_backend.kit.tasks import CLEAR_RUNS, Tasks, host_queue
from weir_backend.models import Run
from weir_backend.runs import repository
from weir_backend.runs.repository import Kept
from weir_backend.settings import Settings

EXPIRES_S = 300
"""Of a machine that is away nothing is to pile up."""


def kept(settings: Settings, moment: datetime) -> Kept:
    return Kept(
        since=moment - timedelta(days=settings.run_files_kept_days),
        newest=settings.run_files_kept_last,
        at_most=max(settings.run_files_kept_max, settings.run_files_kept_last),
    )


def set_out(session: Session, settings: Settings, tasks: Tasks) -> Sequence[str]:
    """Ask each machine that has something to clear away. Which these are."""
    hosts = repository.hosts_to_clear(session, kept(settings, now()))
    for host in hosts:
        tasks.enqueue(CLEAR_RUNS, queue=host_queue(host), expires_s=EXPIRES_S)
    return hosts


def due(session: Session, settings: Settings, host: str, *, after: int, count: int) -> Sequence[Run]:
    """By id, from that after ``after`` on. None of them is live, as far as it is known here."""
    return repository.to_clear(session, kept(settings, now()), host, after=after, count=count)


def cleared(session: Session, run_ids: Sequence[int]) -> None:
    """Their directories are not there any more."""
    repository.mark_cleared(session, run_ids, now())
