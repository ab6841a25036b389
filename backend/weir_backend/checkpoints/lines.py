"""Lines of a job's history: every rollback begins another one."""

from __future__ import annotations

from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Restored:
    """What ``run`` went on from: ``checkpoint`` of its job, or what is at ``path``."""

    run: Run
    checkpoint: int | None
    path: str | None


def restored_last(session: Session, job_id: int) -> Restored | None:
    """By the newest run that has come to run. None: it began without state, or there is none."""
    newest = Run.number.desc()
    run = session.scalar(select(Run).where(Run.job_id == job_id, Run.running_at.is_not(None)).order_by(newest).limit(1))
    if run is None:
        return None
    match run.start:
        case {"mode": "path", "path": str() as path}:
            return Restored(run, None, path)
        case {"mode": "resume"}:
            before = session.scalar(select(Run.id).where(Run.job_id == job_id, Run.number < run.number).order_by(newest).limit(1))
            checkpoint = newest_completed(session, job_id, before) if before is not None else None
        case _:
            checkpoint = run.start.get("checkpoint")
    return Restored(run, checkpoint, None) if checkpoint else None
