"""Read events and the content of event streams. Each stream reads the tables at its own pace, so nothing is buffered for slow clients."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import Response
from sqlalchemy import Row, select
from sqlalchemy.orm import Session

from weir_backend.errors import NotFound, or_raise
from weir_backend.events import repository
from weir_backend.events.schemas import CheckpointProgressRead, EventRead, JobStatusRead, LastCheckpointRead, RunStatusRead
from weir_backend.kit.listing import Listing, page
from weir_backend.models import Event

PAGE = 200


def list_events(session: Session, wanted: Listing, response: Response) -> Sequence[Event]:
    found: Sequence[Event] = page(session, select(Event), wanted, repository.FIELDS, response, unit="events")
    return found


def position(session: Session, job_id: int) -> int:
    """Return the number of the newest event of the job. Raises NotFound."""
    return or_raise(repository.event_number(session, job_id), NotFound("not-found", f"Job {job_id} does not exist."))


@dataclass(frozen=True, slots=True)
class StreamUpdate:
    """The messages that a stream of a job can send next. The messages are JSON text, so that Weir serialises each message only once for
    all streams.

    ``events`` are the next events with their numbers. ``newest`` is the number of the newest event of the job, or None if the job is deleted.
    ``run`` is the newest run, or None if the job has no run. ``progress`` is the progress of the pending checkpoint of ``run``, or None if
    no checkpoint is pending."""

    events: Sequence[tuple[int, str]]
    newest: int | None
    run: str | None
    progress: str | None


def stream_update(session: Session, job_id: int, after: int) -> StreamUpdate:
    """Return at most ``PAGE`` events after number ``after``, and the current state of the job."""
    row = repository.current_state(session, job_id)
    if row is None:
        return StreamUpdate((), None, None, None)
    events: list[tuple[int, str]] = []
    newest: int = row.event_number
    if newest > after:
        found = repository.events_after(session, job_id, after, PAGE)
        events = [(one.number, EventRead.model_validate(one).model_dump_json()) for one in found]
        # Events can have been added since the first query, so ``newest`` is at least the number of the last event that was read.
        newest = max([newest, *(number for number, _ in events)])
    return StreamUpdate(events, newest, _run(row), _progress(row))


def _run(row: Row[Any]) -> str | None:
    if row.run_id is None:
        return None
    return RunStatusRead.read(row, id=row.run_id, number=row.run_number).model_dump_json()


def _progress(row: Row[Any]) -> str | None:
    return CheckpointProgressRead.read(row).model_dump_json() if row.checkpoint_id is not None else None


def job_summaries(session: Session, jobs: Collection[int]) -> list[JobStatusRead]:
    return [_summary(row) for row in repository.summaries_of(session, jobs)]


def job_summaries_after(session: Session, job_id: int) -> list[JobStatusRead]:
    """Return the summaries of the next ``PAGE`` jobs after ``job_id``, by id."""
    return [_summary(row) for row in repository.summaries_after(session, job_id, PAGE)]


def _summary(row: Row[Any]) -> JobStatusRead:
    last = LastCheckpointRead.read(row, id=row.checkpoint_id) if row.checkpoint_id is not None else None
    return JobStatusRead.read(row, last_checkpoint=last, deleted=row.deleted_at is not None)
