"""Checkpoints in the database. Lists never load what subtasks said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Row, func, select
from sqlalchemy.orm import Session, undefer

from weir_backend.kit.listing import Fields, equals, one_of
from weir_backend.models import Checkpoint, CheckpointState, Graph, Job, Run

FIELDS = Fields(
    sortable={
        "id": Checkpoint.id,
        "number": Checkpoint.number,
        "triggered_at": Checkpoint.triggered_at,
        "completed_at": Checkpoint.completed_at,
        "end_to_end_ms": Checkpoint.end_to_end_ms,
        "state_bytes": Checkpoint.state_bytes,
    },
    filters={
        "id": equals(Checkpoint.id, int),
        "job_id": equals(Checkpoint.job_id, int),
        "run_id": equals(Checkpoint.run_id, int),
        "number": equals(Checkpoint.number, int),
        "state": one_of(Checkpoint.state, CheckpointState),
        "trigger": equals(Checkpoint.trigger, str),
        "is_savepoint": equals(Checkpoint.is_savepoint, bool),
        "pinned": equals(Checkpoint.pinned, bool),
    },
    default=("id", True),
    key=Checkpoint.id,
)


def with_statistics(session: Session, checkpoint_id: int) -> Checkpoint | None:
    query = select(Checkpoint).where(Checkpoint.id == checkpoint_id)
    return session.scalar(query.options(undefer(Checkpoint.progress), undefer(Checkpoint.statistics)))


def locked(session: Session, checkpoint_id: int) -> Checkpoint | None:
    """First its job's row is locked, then its own."""
    job_id = session.scalar(select(Checkpoint.job_id).where(Checkpoint.id == checkpoint_id))
    if job_id is None:
        return None
    session.execute(select(Job.id).where(Job.id == job_id).with_for_update(key_share=True))
    found = select(Checkpoint).where(Checkpoint.id == checkpoint_id).with_for_update(key_share=True)
    return session.scalar(found.execution_options(populate_existing=True))


def graph_of_run(session: Session, run_id: int) -> dict[str, Any] | None:
    return session.scalar(select(Graph.body).join(Run, Run.graph_id == Graph.id).where(Run.id == run_id))


def counts(session: Session, job_id: int) -> Sequence[Row[CheckpointState, bool, int]]:
    """State, whether savepoints, how many."""
    return session.execute(
        select(Checkpoint.state, Checkpoint.is_savepoint, func.count())
        .where(Checkpoint.job_id == job_id)
        .group_by(Checkpoint.state, Checkpoint.is_savepoint)
    ).all()


def measured_of_last(session: Session, job_id: int, count: int) -> Sequence[Row[int | None, int | None]]:
    """Duration and size of the last ones that were completed."""
    return session.execute(
        select(Checkpoint.end_to_end_ms, Checkpoint.state_bytes)
        .where(Checkpoint.job_id == job_id, Checkpoint.completed_at.is_not(None))
        .order_by(Checkpoint.number.desc())
        .limit(count)
    ).all()


def latest(session: Session, job_id: int, state: CheckpointState, *also: ColumnElement[bool]) -> Checkpoint | None:
    query = select(Checkpoint).where(Checkpoint.job_id == job_id, Checkpoint.state == state, *also)
    return session.scalar(query.order_by(Checkpoint.number.desc()).limit(1))


def job_exists(session: Session, job_id: int) -> bool:
    return session.scalar(select(Job.id).where(Job.id == job_id, Job.deleted_at.is_(None))) is not None
