"""Beginning and ending runs. All under the lock on the job."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from typing import Any

from sqlalchemy.orm import Session

from weir_backend.jobs.history import record
from weir_backend.kit.access import digest
from weir_backend.kit.clock import now
from weir_backend.link.fencing import fence
from weir_backend.models import DesiredState, Job, Run, RunState, Spec
from weir_backend.reconciling.decide import Start
from weir_backend.settings import Settings


def token(settings: Settings, directory: str) -> str:
    """Of the run with this directory. Made from the key of the installation, so that a worker that starts a driver once more gives it the
    same; and not from numbers, which a new database gives again: a driver of the old one would have the token of another run."""
    key = settings.secret_key.get_secret_value().encode()
    made = hmac.digest(key, f"run {directory}".encode(), hashlib.sha256)
    return "weir_run_" + base64.urlsafe_b64encode(made).decode().rstrip("=")


def begin(
    session: Session, settings: Settings, job: Job, spec: Spec, *, start: Start, cause: str, plan_id: int | None = None
) -> Run:
    """Mint the next run: its number fences all before it."""
    job.run_number += 1
    own = f"{job.name}-{job.run_number}-{secrets.token_hex(8)}"
    run = Run(
        job_id=job.id,
        number=job.run_number,
        directory=own,
        spec_id=spec.id,
        state=RunState.CREATED,
        cause=cause,
        start=_said(start),
        missing_events=0,
        token_digest=digest(token(settings, own)),
        checkpoint_directory=directory(settings, job, spec),
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
    job.not_before = None
    record(session, job, "RunBegun", run_id=run.id, run=run.number, cause=cause, start=run.start, spec=spec.number)
    return run


def _said(start: Start) -> dict[str, Any]:
    if start.path is not None:
        return {"mode": "path", "path": start.path}
    return {"mode": "resume"} if start.checkpoint is None else {"mode": "from", "checkpoint": start.checkpoint}


def directory(settings: Settings, job: Job, spec: Spec) -> str:
    """Where its checkpoints go."""
    chosen: dict[str, Any] = spec.body["checkpointing"]
    return chosen["directory"] or str(settings.data_dir / "checkpoints" / f"{job.id}-{job.name}" / str(job.history))


def end(session: Session, job: Job, run: Run, state: RunState, reason: str) -> None:
    """The control plane says that it is over: whatever its driver still says is refused."""
    recovery = "restart" if job.desired_state is DesiredState.RUNNING else "none"
    record(session, job, "RunEnded", run_id=run.id, run=run.number, state=state.value, reason=reason)
    session.flush()
    fence(session, job.id, run.id, state=state, reason=reason, recovery=recovery)
    session.refresh(run)
