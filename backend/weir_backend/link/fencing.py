"""Taking the job from a run: from then on nobody listens to it."""

from __future__ import annotations

from sqlalchemy.orm import Session

from weir_backend.kit.clock import now
from weir_backend.kit.wakeups import job_key, run_key, wake
from weir_backend.link import repository
from weir_backend.models import RunState
from weir_backend.runs import lifecycle


def fence(session: Session, job_id: int, run_id: int, *, state: RunState, reason: str, recovery: str = "none") -> None:
    """End a run over its driver's head. Its token is answered 410 from now on; what it had in progress has failed.

    ``state``: a final one; a run that told its own end keeps that. ``recovery``: what becomes of failures that it did not recover from:
    ``restart`` if another driver is to take over. Takes the locks; a second time changes nothing.
    """
    assert state in lifecycle.FINAL
    _, run, fenced = repository.locked(session, job_id, run_id)
    if fenced:
        return
    moment = now()
    if run.state in lifecycle.FINAL:
        state, reason = run.state, run.reason
    repository.fence(session, run, state=state, reason=reason, recovery=recovery, moment=moment)
    wake(session, job_key(job_id))
    wake(session, run_key(run_id))
