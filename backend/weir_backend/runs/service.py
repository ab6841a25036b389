"""Create, end and read runs."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from fastapi import Response
from sqlalchemy import select
from sqlalchemy.orm import Session

from weir_backend.errors import NotFound, or_raise
from weir_backend.jobs.event_log import record_event
from weir_backend.jobs.service import check_exists
from weir_backend.kit.access import digest
from weir_backend.kit.clock import now
from weir_backend.kit.listing import Listing, page
from weir_backend.link.fencing import fence
from weir_backend.models import DesiredState, Failure, Job, Run, RunState, Spec, SpecCheck
from weir_backend.runs import repository
from weir_backend.runs.reachability import shown_state, unreachable_before
from weir_backend.runs.schemas import GraphRead, RunRead
from weir_backend.runs.start import RunStart
from weir_backend.settings import Settings


def list_runs(session: Session, wanted: Listing, response: Response) -> Sequence[RunRead]:
    found: Sequence[Run] = page(session, select(Run), wanted, repository.FIELDS, response, unit="runs")
    limit = unreachable_before(session, now())
    return [_read(one, limit) for one in found]


def read_run(session: Session, run_id: int) -> RunRead:
    """Return a run as the API shows it. Raises NotFound."""
    return _read(get_run(session, run_id), unreachable_before(session, now()))


def _read(found: Run, limit: datetime | None) -> RunRead:
    return RunRead.model_validate(found).model_copy(update={"state": shown_state(found, limit)})


def get_run(session: Session, run_id: int) -> Run:
    """Return a run. Raises NotFound."""
    return or_raise(
        session.get(Run, run_id), NotFound("not-found", f"Run {run_id} does not exist.", "Choose an id from the list of runs.")
    )


def get_graph(session: Session, run_id: int) -> GraphRead:
    """Return the graph that the run deployed last. Raises NotFound if the run does not exist or has not reported its graph yet."""
    found = or_raise(
        repository.graph_of_run(session, get_run(session, run_id)),
        NotFound(
            "no-graph", f"Run {run_id} has not reported its graph yet.", "The driver reports the graph when the job starts."
        ),
    )
    return GraphRead(id=found.id, digest=found.digest.hex(), graph=found.body)


def run_token(settings: Settings, directory: str) -> str:
    """Return the token of the run whose directory is ``directory``. The token is derived from the secret key of the installation and from
    ``directory``, so that a run that is submitted again has the same token. The token does not depend on ids, because a new database assigns the
    same ids again."""
    key = settings.secret_key.get_secret_value().encode()
    made = hmac.digest(key, f"run {directory}".encode(), hashlib.sha256)
    return "weir_run_" + base64.urlsafe_b64encode(made).decode().rstrip("=")


def begin_run(
    session: Session, settings: Settings, job: Job, spec: Spec, *, start: RunStart, cause: str, plan_id: int | None = None
) -> Run:
    """Create the next run of a job. The number of the new run fences all earlier runs of the job."""
    job.run_number += 1
    directory = f"{job.name}-{job.run_number}-{secrets.token_hex(8)}"
    run = Run(
        job_id=job.id,
        number=job.run_number,
        directory=directory,
        spec_id=spec.id,
        state=RunState.CREATED,
        cause=cause,
        start=_start_as_dict(start),
        missing_events=0,
        token_digest=digest(run_token(settings, directory)),
        checkpoint_directory=checkpoint_directory(settings, job, spec),
        plan_id=plan_id,
        stored_event=0,
        last_command=0,
        generation=0,
        reason="",
        failure_kind="",
        created_at=now(),
    )
    session.add(run)
    session.flush()
    job.restart_at = None
    record_event(session, job, "RunCreated", run_id=run.id, run=run.number, cause=cause, start=run.start, spec=spec.number)
    return run


def _start_as_dict(start: RunStart) -> dict[str, Any]:
    more = {"revoke_unknown_output": True} if start.revoke_unknown_output else {}
    if start.path is not None:
        return {"mode": "path", "path": start.path, **more}
    return {"mode": "resume", **more} if start.checkpoint is None else {"mode": "from", "checkpoint": start.checkpoint, **more}


def checkpoint_directory(settings: Settings, job: Job, spec: Spec | SpecCheck) -> str:
    """Return the checkpoint directory that the job uses with the spec ``spec``."""
    chosen: dict[str, Any] = spec.body["checkpointing"]
    return chosen["directory"] or str(settings.data_dir / "checkpoints" / f"{job.id}-{job.name}" / str(job.lineage))


def end_run(session: Session, job: Job, run: Run, state: RunState, reason: str) -> None:
    """End the run and fence it, so that later reports of its driver are refused."""
    recovery = "restart" if job.desired_state is DesiredState.RUNNING else "none"
    record_event(session, job, "RunEnded", run_id=run.id, run=run.number, state=state.value, reason=reason)
    session.flush()
    fence(session, job.id, run.id, state=state, reason=reason, recovery=recovery)
    session.refresh(run)


def list_failures(session: Session, job_id: int, wanted: Listing, response: Response) -> Sequence[Failure]:
    """List the failures of a job. Raises NotFound."""
    check_exists(session, job_id)
    query = select(Failure).where(Failure.job_id == job_id)
    found: Sequence[Failure] = page(session, query, wanted, repository.FAILURE_FIELDS, response, unit="failures")
    return found
