"""Delete the files of ended runs on the hosts of their drivers. The row of the run stays and records that its log is deleted.

A worker deletes the files first and updates the row afterwards. After a crash in between, the next worker finds no files and updates the row.
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
"""Tasks for an unreachable host expire, so that they do not accumulate."""


def retention_of(settings: Settings, moment: datetime) -> FileRetention:
    return FileRetention(
        since=moment - timedelta(days=settings.run_files_kept_days),
        newest=settings.run_files_kept_last,
        at_most=max(settings.run_files_kept_max, settings.run_files_kept_last),
    )


def enqueue_due(session: Session, settings: Settings, tasks: Tasks) -> Sequence[str]:
    """Enqueue a task for each host that has files to delete. Return these hosts."""
    hosts = repository.hosts_to_clean_up(session, retention_of(settings, now()))
    for host in hosts:
        tasks.enqueue(DELETE_RUN_FILES, queue=host_queue(host), expires_s=EXPIRES_S)
    return hosts


def runs_to_clean_up(session: Session, settings: Settings, host: str, *, after: int, count: int) -> Sequence[Run]:
    """Return ended runs whose files are due for deletion and whose ids are larger than ``after``, ordered by id."""
    return repository.runs_to_clean_up(session, retention_of(settings, now()), host, after=after, count=count)


def mark_cleaned_up(session: Session, run_ids: Sequence[int]) -> None:
    """Record that the directories of these runs are deleted."""
    repository.mark_cleaned_up(session, run_ids, now())
