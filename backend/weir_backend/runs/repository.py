"""Runs in the database."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from weir_backend.kit.listing import Fields, equals, one_of
from weir_backend.models import Graph, Run, RunState

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
