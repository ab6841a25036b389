"""Queries for the event log and for event streams."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, cast

from sqlalchemy import (
    ColumnElement,
    Row,
    Select,
    Table,
    and_,
    bindparam,
    column,
    exists,
    literal_column,
    or_,
    select,
    true,
    union_all,
    values,
)
from sqlalchemy.orm import Session, aliased

from weir_backend.kit.listing import Fields, equals, flag
from weir_backend.models import Checkpoint, CheckpointState, Event, Job, Run

_EVENTS = cast(Table, Event.__table__)

EDGE = 2
"""The number of events that remain visible at each end of a series of events of periodic checkpoints. Two events are the trigger and the completion
of one checkpoint."""


def _is_not_routine() -> ColumnElement[bool]:
    """Return the condition that selects all events except routine events. A routine event belongs to a periodic checkpoint, and is in the middle of a
    series of such events.

    The index ``ix_events_not_periodic`` finds the events that do not report a periodic checkpoint, so that the query does not read the routine
    events. The literals are part of the SQL text, because Postgres uses a partial index only if the query contains the index's condition."""
    other = aliased(Event)
    kinds: list[ColumnElement[str]] = [literal_column("'CheckpointTriggered'"), literal_column("'CheckpointCompleted'")]
    trigger: ColumnElement[str] = other.fields.op("->>")(literal_column("'trigger'"))
    not_periodic = or_(other.kind.not_in(kinds), trigger.is_distinct_from(literal_column("'periodic'")))
    near = values(column("offset", Event.number.type), name="near").data([(offset,) for offset in range(-EDGE, EDGE + 1)])
    newest = values(column("offset", Event.number.type), name="newest").data([(offset,) for offset in range(EDGE)])
    visible = union_all(
        select(other.job_id, (other.number + near.c.offset).label("number")).join(near, true()).where(not_periodic),
        select(Job.id, Job.event_number - newest.c.offset).join(newest, true()),
    ).subquery()
    return exists().where(visible.c.job_id == Event.job_id, visible.c.number == Event.number)


FIELDS = Fields(
    sortable={"id": Event.id, "number": Event.number, "at": Event.at, "received_at": Event.received_at},
    filters={
        "id": equals(Event.id, int),
        "job_id": equals(Event.job_id, int),
        "run_id": equals(Event.run_id, int),
        "kind": equals(Event.kind, str),
        "routine": flag("routine", _is_not_routine, inverse=True),
    },
    default=("id", True),
    key=Event.id,
    in_job=Event.number,
)


def event_number(session: Session, job_id: int) -> int | None:
    """Return the number of the newest event of the job, or None if the job does not exist."""
    return session.scalar(select(Job.event_number).where(Job.id == job_id, Job.deleted_at.is_(None)))


def events_after(session: Session, job_id: int, number: int, count: int) -> Sequence[Row[Any]]:
    """Return the next ``count`` events after number ``number``, as rows rather than objects."""
    query = select(*_EVENTS.c).where(Event.job_id == job_id, Event.number > number).order_by(Event.number).limit(count)
    return session.execute(query).all()


def _current_state() -> Select[Any]:
    run, checkpoint = aliased(Run), aliased(Checkpoint)
    current = (
        select(
            checkpoint.id,
            checkpoint.number,
            checkpoint.trigger,
            checkpoint.triggered_at,
            checkpoint.subtasks,
            checkpoint.acknowledged,
            checkpoint.progress,
        )
        .where(checkpoint.run_id == run.id, checkpoint.state == CheckpointState.IN_PROGRESS)
        .order_by(checkpoint.number.desc())
        .limit(1)
        .lateral("current")
    )
    return (
        select(
            Job.event_number, run.id.label("run_id"), run.number.label("run_number"), run.state, run.reason, run.generation,
            run.running_at, run.ended_at, current.c.id.label("checkpoint_id"), current.c.number.label("checkpoint"),
            current.c.trigger, current.c.triggered_at, current.c.subtasks, current.c.acknowledged, current.c.progress,
        )
        .outerjoin(run, and_(run.job_id == Job.id, run.number == Job.run_number))
        .outerjoin(current, true())
        .where(Job.id == bindparam("job_id"), Job.deleted_at.is_(None))
    )  # fmt: skip


_CURRENT_STATE = _current_state()
"""The statement is built only once, because building the statement takes longer than executing it. The statement runs ten times a second for each
job with a stream."""


def current_state(session: Session, job_id: int) -> Row[Any] | None:
    """Return the state of a job: ``event_number``, its newest run and the newest checkpoint in progress of that run. ``run_id`` is
    None if the job has no run. ``checkpoint_id`` is None if no checkpoint of the run is in progress. Return None if the job does
    not exist."""
    return session.execute(_CURRENT_STATE, {"job_id": job_id}).one_or_none()


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
    """Return the summary of each job in ``jobs``, including deleted jobs."""
    return session.execute(_summaries().where(Job.id.in_(jobs))).all()


def summaries_after(session: Session, job_id: int, count: int) -> Sequence[Row[Any]]:
    """Return the summaries of the next ``count`` jobs after ``job_id``, by id. Deleted jobs are left out."""
    return session.execute(_summaries().where(Job.id > job_id, Job.deleted_at.is_(None)).limit(count)).all()
