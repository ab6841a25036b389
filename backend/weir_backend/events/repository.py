"""The log of jobs, and what is new of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Row, Select, select, true
from sqlalchemy.orm import Session, aliased

from weir_backend.kit.listing import Fields, equals
from weir_backend.models import Checkpoint, CheckpointState, Event, Job, Run

FIELDS = Fields(
    sortable={"id": Event.id, "number": Event.number, "at": Event.at, "received_at": Event.received_at},
    filters={
        "id": equals(Event.id, int),
        "job_id": equals(Event.job_id, int),
        "run_id": equals(Event.run_id, int),
        "kind": equals(Event.kind, str),
    },
    default=("id", True),
    key=Event.id,
)


def event_number(session: Session, job_id: int) -> int | None:
    """Of the job's newest event. None: there is no such job."""
    return session.scalar(select(Job.event_number).where(Job.id == job_id, Job.deleted_at.is_(None)))


def events_after(session: Session, job_id: int, number: int, count: int) -> Sequence[Event]:
    query = select(Event).where(Event.job_id == job_id, Event.number > number).order_by(Event.number).limit(count)
    return session.scalars(query).all()


def in_progress(session: Session, run_id: int) -> Row[Any] | None:
    """The checkpoint that was triggered last."""
    query = (
        select(
            Checkpoint.id, Checkpoint.run_id, Checkpoint.number, Checkpoint.trigger, Checkpoint.triggered_at, Checkpoint.subtasks,
            Checkpoint.acknowledged, Checkpoint.progress,
        )
        .where(Checkpoint.run_id == run_id, Checkpoint.state == CheckpointState.IN_PROGRESS)
        .order_by(Checkpoint.number.desc())
        .limit(1)
    )  # fmt: skip
    return session.execute(query).one_or_none()


def newest_run(session: Session, job_id: int) -> Run | None:
    return session.scalar(select(Run).where(Run.job_id == job_id).order_by(Run.number.desc()).limit(1))


def _summaries() -> Select[Any]:
    run, checkpoint = aliased(Run), aliased(Checkpoint)
    newest = (
        select(run.id, run.state).where(run.job_id == Job.id).order_by(run.number.desc()).limit(1).lateral("newest")
    )  # fmt: skip
    last = (
        select(checkpoint.id, checkpoint.number, checkpoint.completed_at, checkpoint.end_to_end_ms, checkpoint.state_bytes)
        .where(checkpoint.job_id == Job.id, checkpoint.completed_at.is_not(None))
        .order_by(checkpoint.number.desc())
        .limit(1)
        .lateral("last")
    )
    return (
        select(
            Job.id, Job.name, Job.desired_state, Job.deleted_at, newest.c.id.label("run_id"), newest.c.state,
            last.c.id.label("checkpoint_id"), last.c.number, last.c.completed_at, last.c.end_to_end_ms, last.c.state_bytes,
        )
        .select_from(Job)
        .outerjoin(newest, true())
        .outerjoin(last, true())
        .order_by(Job.id)
    )  # fmt: skip


def summaries_of(session: Session, jobs: Collection[int]) -> Sequence[Row[Any]]:
    """Deleted ones, too."""
    return session.execute(_summaries().where(Job.id.in_(jobs))).all()


def summaries_after(session: Session, job_id: int, count: int) -> Sequence[Row[Any]]:
    """Of the jobs there are with a higher id."""
    return session.execute(_summaries().where(Job.id > job_id, Job.deleted_at.is_(None)).limit(count)).all()
