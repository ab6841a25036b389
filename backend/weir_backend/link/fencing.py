"""Fencing: the control plane ends a run, and from then on refuses all requests of the run's driver."""

from __future__ import annotations

from sqlalchemy.orm import Session

from weir_backend.kit.clock import now
from weir_backend.kit.notifications import job_key, publish, run_key
from weir_backend.link import repository
from weir_backend.models import RunState
from weir_backend.runs import lifecycle


def fence(session: Session, job_id: int, run_id: int, *, state: RunState, reason: str, recovery: str = "none") -> None:
    """End a run without the cooperation of its driver. After ``fence``, requests with the token of the run fail with 410. The checkpoint in progress
    is marked as failed. ``state`` becomes the final state of the run, unless the run has already reported a final state. ``recovery`` is stored
    with the open failures of the run. If ``recovery`` is ``restart``, another driver replaces the driver of the run. Locks the job and the run.
    Does nothing if the run is already fenced."""
    assert state in lifecycle.FINAL
    _, run, fenced = repository.locked(session, job_id, run_id)
    if fenced:
        return
    moment = now()
    if run.state in lifecycle.FINAL:
        state, reason = run.state, run.reason
    repository.fence(session, run, state=state, reason=reason, recovery=recovery, moment=moment)
    publish(session, job_key(job_id))
    publish(session, run_key(run_id))
