"""Jobs as they are shown: with their newest run, their last checkpoint and what is being done to them, in a few queries for any number."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from weir_backend.jobs import repository
from weir_backend.jobs.schemas import CheckpointBrief, JobShown, OperationShown, RunBrief
from weir_backend.jobs.state import standing
from weir_backend.kit.clock import now
from weir_backend.models import Job, SpecState
from weir_backend.runs.reach import quiet_before, shown_state


def show(session: Session, jobs: Sequence[Job]) -> list[JobShown]:
    ids = [job.id for job in jobs]
    runs = repository.newest_runs(session, ids)
    checkpoints = repository.last_completed(session, ids)
    states = repository.spec_states(session, jobs)
    problems = repository.spec_problems(session, jobs)
    operations = repository.open_operations(session, ids)
    quiet = quiet_before(session, now())
    shown = []
    for job in jobs:
        run, checkpoint, operation = runs.get(job.id), checkpoints.get(job.id), operations.get(job.id)
        spec_state = states.get(job.id, SpecState.COMPILING)
        at = standing(
            desired=job.desired_state,
            spec_state=spec_state,
            spec_problem=problems.get(job.id),
            run_state=shown_state(run, quiet) if run else None,
            run_reason=run.reason if run else "",
            gave_up=job.gave_up,
            not_before=job.not_before,
        )
        shown.append(
            JobShown(
                id=job.id,
                name=job.name,
                description=job.description,
                labels=job.labels,
                desired_state=job.desired_state,
                state=at.state,
                health=at.health,
                why=at.why,
                spec_number=job.spec_number,
                spec_state=spec_state,
                version=job.version,
                restarts=job.restarts,
                not_before=job.not_before,
                run=RunBrief.model_validate(run).model_copy(update={"state": at.state}) if run else None,
                last_checkpoint=CheckpointBrief.model_validate(checkpoint) if checkpoint else None,
                operation=OperationShown.model_validate(operation) if operation else None,
                created_at=job.created_at,
                updated_at=job.updated_at,
            )
        )
    return shown


def show_one(session: Session, job: Job) -> JobShown:
    return show(session, [job])[0]
