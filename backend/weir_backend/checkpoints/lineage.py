"""The lineage of a job. Each rollback starts another branch of the lineage."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import BigInteger, and_, func, literal, select, true, union_all
from sqlalchemy.orm import Session

from weir_backend.models import Checkpoint, CheckpointState, Job, Run


def newest_completed(session: Session, job_id: int, run_id: int) -> int | None:
    """Return the newest completed checkpoint of the branch that the run ``run_id`` continues. Checkpoint numbers increase from run
    to run, also across branches."""
    this = select(Run.number).where(Run.id == run_id).scalar_subquery()
    earlier = and_(Run.job_id == job_id, Run.number <= this)
    completed = (
        select(Checkpoint.number.label("checkpoint"), Run.number.label("run"), literal(1).label("rank"))
        .join(Run, Run.id == Checkpoint.run_id)
        .where(Checkpoint.job_id == job_id, Checkpoint.state == CheckpointState.COMPLETED, earlier)
        .order_by(Checkpoint.number.desc())
        .limit(1)
    )
    restored = (
        # If ``checkpoint`` is 0 or null, the run restored no checkpoint of this job, so its branch starts without a checkpoint.
        select(func.nullif(Run.start["checkpoint"].astext.cast(BigInteger), 0), Run.number, literal(0))
        .where(earlier, Run.start["mode"].astext != "resume")
        .order_by(Run.number.desc())
        .limit(1)
    )
    # Choose the newest checkpoint that was completed by the run that started the branch or by a later run. If no run of the
    # branch has completed a checkpoint, choose the checkpoint from which the branch started.
    both = union_all(completed.subquery().select(), restored.subquery().select()).subquery()
    return session.scalar(select(both.c.checkpoint).order_by(both.c.run.desc(), both.c.rank.desc()).limit(1))


def newest_of_jobs(session: Session, job_ids: Collection[int]) -> dict[int, int]:
    """Return the newest completed checkpoint on the current branch of each job. Jobs without a completed checkpoint on their
    current branch are left out."""
    completed = (
        select(Checkpoint.number.label("checkpoint"), Run.number.label("run"))
        .join(Run, Run.id == Checkpoint.run_id)
        .where(Checkpoint.job_id == Job.id, Checkpoint.state == CheckpointState.COMPLETED)
        .order_by(Checkpoint.number.desc())
        .limit(1)
        .lateral("completed")
    )
    restored = (
        select(func.nullif(Run.start["checkpoint"].astext.cast(BigInteger), 0).label("checkpoint"), Run.number.label("run"))
        .where(Run.job_id == Job.id, Run.start["mode"].astext != "resume")
        .order_by(Run.number.desc())
        .limit(1)
        .lateral("restored")
    )
    query = (
        select(Job.id, completed.c.checkpoint, completed.c.run, restored.c.checkpoint, restored.c.run)
        .select_from(Job)
        .outerjoin(completed, true())
        .outerjoin(restored, true())
        .where(Job.id.in_(job_ids))
    )
    found: dict[int, int] = {}
    for job_id, checkpoint, completed_by, restored_checkpoint, restored_by in session.execute(query):
        is_after_restore = restored_by is None or (completed_by is not None and completed_by >= restored_by)
        newest = checkpoint if is_after_restore else restored_checkpoint
        if newest is not None:
            found[job_id] = newest
    return found


@dataclass(frozen=True, slots=True)
class LatestRestore:
    """The checkpoint that ``run`` has restored. If the run restored a checkpoint of its own job, ``checkpoint`` is the number of
    this checkpoint. If the run restored an external checkpoint, ``path`` is the path of the external checkpoint."""

    run: Run
    checkpoint: int | None
    path: str | None


def latest_restore(session: Session, job_id: int) -> LatestRestore | None:
    """Find the newest run that has reached RUNNING, and return the checkpoint that this run has restored. Return None if no run has
    reached RUNNING, or if the newest run that has reached RUNNING started without state."""
    newest = Run.number.desc()
    run = session.scalar(select(Run).where(Run.job_id == job_id, Run.running_at.is_not(None)).order_by(newest).limit(1))
    if run is None:
        return None
    match run.start:
        case {"mode": "path", "path": str() as path}:
            return LatestRestore(run, None, path)
        case {"mode": "resume"}:
            before = session.scalar(select(Run.id).where(Run.job_id == job_id, Run.number < run.number).order_by(newest).limit(1))
            checkpoint = newest_completed(session, job_id, before) if before is not None else None
        case _:
            checkpoint = run.start.get("checkpoint")
    return LatestRestore(run, checkpoint, None) if checkpoint else None
