"""What those who follow a job are told. Each reads at his own pace from the tables: nothing is kept for the slow ones."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import Response
from sqlalchemy import Row, select
from sqlalchemy.orm import Session

from weir_backend.errors import NotFound
from weir_backend.events import repository
from weir_backend.events.schemas import EventBody, JobNewsBody, LastCheckpointBody, ProgressBody, RunNewsBody
from weir_backend.kit.listing import Listing, page
from weir_backend.models import Event

PAGE = 200


def list_events(session: Session, wanted: Listing, response: Response) -> Sequence[Event]:
    found: Sequence[Event] = page(session, select(Event), wanted, repository.FIELDS, response, unit="events")
    return found


def position(session: Session, job_id: int) -> int:
    """Number of the job's newest event. Raises NotFound."""
    number = repository.event_number(session, job_id)
    if number is None:
        raise NotFound("not-found", f"there is no job {job_id}")
    return number


@dataclass(frozen=True, slots=True)
class News:
    """All as JSON, as it is told: written once, however many follow. ``events``: with their numbers. ``newest``: number of the job's newest
    event; None: the job is gone. ``run``, ``progress``: as they are; None: there is none."""

    events: Sequence[tuple[int, str]]
    newest: int | None
    run: str | None
    progress: str | None


def news(session: Session, job_id: int, after: int) -> News:
    """At most ``PAGE`` events above ``after``, and how things stand."""
    row = repository.standing(session, job_id)
    if row is None:
        return News((), None, None, None)
    events: list[tuple[int, str]] = []
    newest: int = row.event_number
    if newest > after:
        found = repository.events_after(session, job_id, after, PAGE)
        events = [(one.number, EventBody.model_validate(one).model_dump_json()) for one in found]
        # Some may have been added in between: the newest must not seem older than those that were read.
        newest = max([newest, *(number for number, _ in events)])
    return News(events, newest, _run(row), _progress(row))


def _run(row: Row[Any]) -> str | None:
    if row.run_id is None:
        return None
    return RunNewsBody(
        id=row.run_id, number=row.run_number, state=row.state, reason=row.reason, generation=row.generation,
        running_at=row.running_at, ended_at=row.ended_at,
    ).model_dump_json()  # fmt: skip


def _progress(row: Row[Any]) -> str | None:
    if row.checkpoint_id is None:
        return None
    return ProgressBody(
        checkpoint=row.checkpoint, checkpoint_id=row.checkpoint_id, run_id=row.run_id, trigger=row.trigger,
        triggered_at=row.triggered_at, subtasks=row.subtasks, acknowledged=row.acknowledged, progress=row.progress,
    ).model_dump_json()  # fmt: skip


def job_news(session: Session, jobs: Collection[int]) -> list[JobNewsBody]:
    return [_summary(row) for row in repository.summaries_of(session, jobs)]


def all_jobs_after(session: Session, job_id: int) -> list[JobNewsBody]:
    """The next ``PAGE`` of them, by id."""
    return [_summary(row) for row in repository.summaries_after(session, job_id, PAGE)]


def _summary(row: Row[Any]) -> JobNewsBody:
    last = None
    if row.checkpoint_id is not None:
        last = LastCheckpointBody(
            id=row.checkpoint_id, number=row.number, completed_at=row.completed_at, end_to_end_ms=row.end_to_end_ms,
            state_bytes=row.state_bytes,
        )  # fmt: skip
    return JobNewsBody(
        id=row.id, name=row.name, desired_state=row.desired_state, state=row.state, run_id=row.run_id, last_checkpoint=last,
        deleted=row.deleted_at is not None,
    )  # fmt: skip
