"""Checkpoints in the database. Lists never load what subtasks said."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, case, cast, column, func, not_, null, select
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Session, undefer

from weir_backend.errors import Invalid
from weir_backend.kit.listing import Fields, equals, one_of
from weir_backend.models import Checkpoint, CheckpointState, Graph, Job, Run, Spec


def _kept(value: Any) -> ColumnElement[bool]:
    """Completed, and not known to be retired: a few of a job's, however many it has taken."""
    if type(value) is not bool:
        raise Invalid("invalid", "filter: kept is true or false")
    there = (Checkpoint.state == CheckpointState.COMPLETED) & Checkpoint.discarded_at.is_(None)
    return there if value else not_(there)


FIELDS = Fields(
    sortable={
        "id": Checkpoint.id,
        "number": Checkpoint.number,
        "triggered_at": Checkpoint.triggered_at,
        "completed_at": Checkpoint.completed_at,
        "end_to_end_ms": Checkpoint.end_to_end_ms,
        "state_bytes": Checkpoint.state_bytes,
        "checkpointed_bytes": Checkpoint.checkpointed_bytes,
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
        "kept": _kept,
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


def spec_of(session: Session, job_id: int, number: int) -> Spec | None:
    """The version that a completed checkpoint was taken by."""
    taken = (Checkpoint.job_id == job_id) & (Checkpoint.number == number) & (Checkpoint.state == CheckpointState.COMPLETED)
    return session.scalar(
        select(Spec).join(Run, Run.spec_id == Spec.id).join(Checkpoint, Checkpoint.run_id == Run.id).where(taken)
    )


def counts(session: Session, job_id: int) -> Sequence[Row[CheckpointState, bool, int]]:
    """State, whether savepoints, how many."""
    return session.execute(
        select(Checkpoint.state, Checkpoint.is_savepoint, func.count())
        .where(Checkpoint.job_id == job_id)
        .group_by(Checkpoint.state, Checkpoint.is_savepoint)
    ).all()


def completed_since(session: Session, job_id: int, generation: int) -> frozenset[int]:
    """Numbers of those that this generation of the runtime has completed, or a later one."""
    return frozenset(
        session.scalars(
            select(Checkpoint.number).where(
                Checkpoint.job_id == job_id, Checkpoint.state == CheckpointState.COMPLETED, Checkpoint.generation >= generation
            )
        )
    )


def measured_of_last(session: Session, job_id: int, count: int) -> Sequence[Row[int | None, int | None, int | None]]:
    """Duration and sizes of the last ones that were completed."""
    return session.execute(
        select(Checkpoint.end_to_end_ms, Checkpoint.state_bytes, Checkpoint.checkpointed_bytes)
        .where(Checkpoint.job_id == job_id, Checkpoint.completed_at.is_not(None))
        .order_by(Checkpoint.number.desc())
        .limit(count)
    ).all()


def completed_of_last(
    session: Session, job_id: int, count: int
) -> Sequence[Row[int, int, int, datetime, bool, int | None, int | None, int | None, int | None]]:
    """The last ones that were completed, and the graph that each was taken with; the newest first."""
    return session.execute(
        select(
            Checkpoint.id,
            Checkpoint.number,
            Checkpoint.run_id,
            Checkpoint.triggered_at,
            Checkpoint.is_savepoint,
            Checkpoint.end_to_end_ms,
            Checkpoint.state_bytes,
            Checkpoint.checkpointed_bytes,
            Run.graph_id,
        )
        .join(Run, Run.id == Checkpoint.run_id)
        .where(Checkpoint.job_id == job_id, Checkpoint.completed_at.is_not(None))
        .order_by(Checkpoint.number.desc())
        .limit(count)
    ).all()


def longest(session: Session, checkpoint_ids: Collection[int], chain: int | None) -> Sequence[Row[Any]]:
    """Of each checkpoint the longest phases by chain; with ``chain`` of each of its subtasks. Put together where it is: what subtasks said
    of a hundred checkpoints is a thousand times as much."""
    listed = case((func.jsonb_typeof(Checkpoint.statistics) == "array", Checkpoint.statistics), else_=cast([], JSONB))
    one = func.jsonb_array_elements(listed).table_valued(column("value", JSONB), name="one", joins_implicitly=True)
    value: Any = one.c.value
    place, said = [value[0].as_integer()], value[2]
    if chain is not None:
        place.append(value[1].as_integer())
    query = select(
        Checkpoint.id.label("checkpoint_id"),
        place[0].label("chain"),
        (place[1] if chain is not None else null()).label("index"),
        func.max(said["start_delay_ms"].as_float()).label("start_delay_ms"),
        func.max(said["alignment_ms"].as_float()).label("alignment_ms"),
        (func.max(said["sync_us"].as_float()) / 1000).label("sync_ms"),
        func.max(said["async_ms"].as_float()).label("async_ms"),
    ).where(Checkpoint.id.in_(checkpoint_ids))
    if chain is not None:
        query = query.where(place[0] == chain)
    return session.execute(query.group_by(Checkpoint.id, *place)).all()


def latest(session: Session, job_id: int, state: CheckpointState, *also: ColumnElement[bool]) -> Checkpoint | None:
    query = select(Checkpoint).where(Checkpoint.job_id == job_id, Checkpoint.state == state, *also)
    return session.scalar(query.order_by(Checkpoint.number.desc()).limit(1))


def job_exists(session: Session, job_id: int) -> bool:
    return session.scalar(select(Job.id).where(Job.id == job_id, Job.deleted_at.is_(None))) is not None
