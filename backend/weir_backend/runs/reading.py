"""Reading runs and what they deployed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from fastapi import Response
from sqlalchemy import select
from sqlalchemy.orm import Session

from weir_backend.errors import NotFound
from weir_backend.kit.clock import now
from weir_backend.kit.listing import Listing, page
from weir_backend.models import Run
from weir_backend.runs import repository
from weir_backend.runs.reach import quiet_before, shown_state
from weir_backend.runs.schemas import GraphBody, RunBody


def list_runs(session: Session, wanted: Listing, response: Response) -> Sequence[RunBody]:
    found: Sequence[Run] = page(session, select(Run), wanted, repository.FIELDS, response, unit="runs")
    quiet = quiet_before(session, now())
    return [_shown(one, quiet) for one in found]


def shown_run(session: Session, run_id: int) -> RunBody:
    """Raises NotFound."""
    return _shown(run(session, run_id), quiet_before(session, now()))


def _shown(found: Run, quiet: datetime | None) -> RunBody:
    return RunBody.model_validate(found).model_copy(update={"state": shown_state(found, quiet)})


def run(session: Session, run_id: int) -> Run:
    """Raises NotFound."""
    found = repository.by_id(session, run_id)
    if found is None:
        raise NotFound("not-found", f"there is no run {run_id}", "ids are in the list of runs")
    return found


def graph(session: Session, run_id: int) -> GraphBody:
    """Raises NotFound, also if the run has not told its graph yet."""
    found = repository.graph_of(session, run(session, run_id))
    if found is None:
        raise NotFound("no-graph", f"run {run_id} has not told its graph", "it does once its driver has started")
    return GraphBody(id=found.id, digest=found.digest.hex(), graph=found.body)
