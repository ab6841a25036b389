"""Where checkpoints are in storage: what a worker has to know to find them."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from weir_backend.models import Graph, Run, Spec


@dataclass(frozen=True, slots=True)
class Place:
    """``name``: of the job as its code calls it, which names its log. Two jobs with the same of both share one."""

    directory: str
    name: str


def name_in_code() -> ColumnElement[str]:
    """Of a row of ``Graph``."""
    found: ColumnElement[str] = Graph.body["logical"]["job"].astext
    return found


def place_of_run(session: Session, run_id: int) -> Place | None:
    """None: nobody can say, as the graph of the run is not known."""
    found = session.execute(
        select(Run.checkpoint_directory, name_in_code())
        .join(Spec, Spec.id == Run.spec_id)
        .join(Graph, Graph.id == func.coalesce(Run.graph_id, Spec.graph_id))
        .where(Run.id == run_id)
    ).one_or_none()
    if found is None or not found[0] or not found[1]:
        return None
    return Place(*found)
