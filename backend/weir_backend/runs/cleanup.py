"""Delete the files of ended runs on the hosts of their drivers. The database keeps the row of each run, and the row records that the files are
deleted.

A worker first deletes the files of a run and then updates the row of the run. If the worker crashes after it has deleted the files, the next
worker finds no files and updates the row.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from weir_backend.kit.clock import now
from weir_backend.kit.tasks import DELETE_RUN_FILES, Tasks, host_queue
from weir_backend.models import Run
from weir_backend.runs import repository
from weir_backend.runs.repository import FileRetention
from weir_backend.settings import Settings

EXPIRES_S = 300
"""A task that no worker has begun after ``EXPIRES_S`` seconds expires, so that the tasks for an unreachable host do not accumulate."""


def retention_of(settings: Settings, moment: datetime) -> FileRetention:
    return FileRetention(
        since=moment - timedelta(days=settings.run_files_kept_days),
        newest=settings.run_files_kept_last,
        at_most=max(settings.run_files_kept_max, settings.run_files_kept_last),
    )


def enqueue_due(session: Session, settings: Settings, tasks: Tasks) -> Sequence[str]:
    """Enqueue a cleanup task for each host that has run files due for deletion. Return the names of the hosts."""
    hosts = repository.hosts_to_clean_up(session, retention_of(settings, now()))
    for host in hosts:
        tasks.enqueue(DELETE_RUN_FILES, queue=host_queue(host), expires_s=EXPIRES_S)
    return hosts


def runs_to_clean_up(session: Session, settings: Settings, host: str, *, after: int, count: int) -> Sequence[Run]:
    """Return the ended runs on ``host`` whose files are due for deletion and whose ids are larger than ``after``, ordered by id."""
    return repository.runs_to_clean_up(session, retention_of(settings, now()), host, after=after, count=count)


def mark_cleaned_up(session: Session, run_ids: Sequence[int]) -> None:
    """Record that the directories of the runs ``run_ids`` are deleted."""
    repository.mark_cleaned_up(session, run_ids, now())
