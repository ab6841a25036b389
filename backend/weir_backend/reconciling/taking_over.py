"""Taking jobs from machines of which nothing is heard."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from weir_backend.checkpoints.lines import newest_completed
from weir_backend.checkpoints.place import Place, place_of_run
from weir_backend.jobs import repository as jobs
from weir_backend.jobs.history import record
from weir_backend.kit.json_form import clean_text
from weir_backend.models import Run
from weir_backend.reconciling import repository
from weir_backend.reconciling.service import driver_gone


@dataclass(frozen=True, slots=True)
class Known:
    """The newest checkpoint of a job that can be gone on with, as the database has it. ``generation``: the runtime's that completed it."""

    place: Place
    number: int
    generation: int


def known_checkpoint(session: Session, run: Run) -> Known | None:
    """In the log that ``run`` writes. None: nothing is to be found there, as far as anybody knows."""
    number = newest_completed(session, run.job_id, run.id)
    found = jobs.completed(session, run.job_id, number) if number is not None else None
    if found is None or found.discarded_at is not None:
        return None
    place = place_of_run(session, found.run_id)
    return Known(place, found.number, found.generation) if place is not None and place == place_of_run(session, run.id) else None


def take_over(session: Session, run: Run, obstacle: str | None, *, since: datetime) -> bool:
    """End a run on a machine of which nothing was heard since then, so that another one goes on. Whether that was done.

    ``obstacle``: why no other machine could; then it is said, once, and nothing is taken from anybody: what the machine has on its own disk
    only comes back with it. But who was told to cancel is not waited for.
    """
    job = jobs.find(session, run.job_id, lock=True)
    found = repository.find(session, run.id)
    if job is None or found is None:
        return False
    session.refresh(found, with_for_update=True)
    if not repository.is_silent(session, found.id, since):
        return False  # it has spoken meanwhile
    if obstacle is None or repository.cancelled_at(session, found.id) is not None:
        heard = found.last_contact_at
        what = f"since {heard:%Y-%m-%d %H:%M:%S} UTC" if heard is not None else "at all"
        return driver_gone(
            session, job.id, found.id, f"nothing was heard of its driver {what}, nor of its machine ({found.host})"
        )
    obstacle = clean_text(obstacle)
    if found.stranded != obstacle:
        found.stranded = obstacle
        record(session, job, "RunStranded", run_id=found.id, run=found.number, host=found.host, reason=obstacle)
    return False
