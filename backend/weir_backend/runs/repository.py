"""Runs in the database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, and_, or_, select, update
from sqlalchemy.orm import Session

from weir_backend.kit.listing import Fields, equals, one_of
from weir_backend.models import Graph, Job, Run, RunState

FIELDS = Fields(
    sortable={"id": Run.id, "number": Run.number, "created_at": Run.created_at, "ended_at": Run.ended_at},
    filters={"id": equals(Run.id, int), "job_id": equals(Run.job_id, int), "state": one_of(Run.state, RunState)},
    default=("id", True),
    key=Run.id,
)


def by_id(session: Session, run_id: int) -> Run | None:
    return session.get(Run, run_id)


def graph_of(session: Session, run: Run) -> Graph | None:
    return session.scalar(select(Graph).where(Graph.id == run.graph_id)) if run.graph_id is not None else None


@dataclass(frozen=True, slots=True)
class Kept:
    """Files of runs that ended after ``since``, and of the ``newest`` ones of each job whenever they ended; of no more than ``at_most`` of
    a job. Of a job that was deleted none."""

    since: datetime
    newest: int
    at_most: int


def _may_go(kept: Kept) -> ColumnElement[bool]:
    # Numbers of a job's runs have no holes.
    newer = Job.run_number - Run.number
    old = and_(newer >= kept.newest, Run.ended_at < kept.since)
    return and_(
        Run.ended_at.is_not(None),
        Run.files_cleared_at.is_(None),
        or_(Job.deleted_at.is_not(None), newer >= kept.at_most, old),
    )


def hosts_to_clear(session: Session, kept: Kept) -> Sequence[str]:
    query = select(Run.host).join(Job, Job.id == Run.job_id).where(_may_go(kept), Run.host.is_not(None)).distinct()
    return [host for host in session.scalars(query) if host]


def to_clear(session: Session, kept: Kept, host: str, *, after: int, count: int) -> Sequence[Run]:
    query = select(Run).join(Job, Job.id == Run.job_id).where(_may_go(kept), Run.host == host, Run.id > after)
    return session.scalars(query.order_by(Run.id).limit(count)).all()


def mark_cleared(session: Session, run_ids: Sequence[int], moment: datetime) -> None:
    session.execute(update(Run).where(Run.id.in_(run_ids), Run.files_cleared_at.is_(None)).values(files_cleared_at=moment))
