"""Lines of a job's history: every rollback begins another one."""

from __future__ import annotations

from sqlalchemy import BigInteger, and_, func, literal, select, union_all
from sqlalchemy.orm import Session

from weir_backend.models import Checkpoint, CheckpointState, Run


def newest_completed(session: Session, job_id: int, run_id: int) -> int | None:
    """Of the line that this run goes on with. Numbers of checkpoints grow with those of runs, on every line."""
    this = select(Run.number).where(Run.id == run_id).scalar_subquery()
    earlier = and_(Run.job_id == job_id, Run.number <= this)
    completed = (
        select(Checkpoint.number.label("checkpoint"), Run.number.label("run"), literal(1).label("rank"))
        .join(Run, Run.id == Checkpoint.run_id)
        .where(Checkpoint.job_id == job_id, Checkpoint.state == CheckpointState.COMPLETED, earlier)
        .order_by(Checkpoint.number.desc())
        .limit(1)
    )
    begun = (
        # 0, or none, of a run that began a line of its own: there is nothing before what that completes.
        select(func.nullif(Run.start["checkpoint"].astext.cast(BigInteger), 0), Run.number, literal(0))
        .where(earlier, Run.start["mode"].astext != "resume")
        .order_by(Run.number.desc())
        .limit(1)
    )
    # What was completed by the run that began the line, or after that; else what that run began with.
    both = union_all(completed.subquery().select(), begun.subquery().select()).subquery()
    return session.scalar(select(both.c.checkpoint).order_by(both.c.run.desc(), both.c.rank.desc()).limit(1))
