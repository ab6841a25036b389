"""Verifications in the database: which are due, and who has set out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, and_, case, delete, func, or_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from weir_backend.models import Checkpoint, CheckpointState, Job, Operation, OperationKind, Verification


@dataclass(frozen=True, slots=True)
class Claim:
    """Who carries it out says it in all that he tells. ``files_done``: where he begins."""

    checkpoint_id: int
    claim: int
    files_done: int


def under_way(session: Session, moment: datetime) -> int:
    """Those that only wait to be tried again, as storage did not answer, hold up nobody."""
    at_work = (Verification.next_try_at > moment, Verification.problem.is_(None))
    return session.scalar(select(func.count()).select_from(Verification).where(*at_work)) or 0


def due(session: Session, moment: datetime, *, cutoff: datetime, limit: int) -> Sequence[int]:
    """Checkpoints to be verified: those that somebody waits for; of each job of which nothing was verified since ``cutoff`` the newest;
    then all that are older than that and were not verified since. In each of these what was looked at longest ago comes first."""
    there = (
        select(
            Checkpoint.id,
            func.coalesce(Checkpoint.verified_at, Checkpoint.completed_at).label("seen_at"),
            func.row_number().over(partition_by=Checkpoint.job_id, order_by=Checkpoint.number.desc()).label("place"),
            func.max(Checkpoint.verified_at).over(partition_by=Checkpoint.job_id).label("job_seen_at"),
        )
        .join(Job, Job.id == Checkpoint.job_id)
        .where(
            Checkpoint.state == CheckpointState.COMPLETED,
            Checkpoint.discarded_at.is_(None),
            Checkpoint.leaving_at.is_(None),
            Job.deleted_at.is_(None),
        )
        .subquery()
    )
    newest = and_(there.c.place == 1, or_(there.c.job_seen_at.is_(None), there.c.job_seen_at < cutoff))
    waited_for = Verification.wanted.is_(True)
    rank = case((waited_for, 0), (newest, 1), else_=2)
    return session.scalars(
        select(there.c.id)
        .outerjoin(Verification, Verification.checkpoint_id == there.c.id)
        .where(
            or_(waited_for, newest, there.c.seen_at < cutoff),
            or_(Verification.checkpoint_id.is_(None), Verification.next_try_at <= moment),
        )
        .order_by(rank, there.c.seen_at, there.c.id)
        .limit(limit)
    ).all()


def claim(session: Session, checkpoint_id: int, moment: datetime, until: datetime, *, wanted: bool) -> Claim | None:
    """Set out. None: somebody else has just done so. ``wanted``: whoever is at it is replaced, and it begins anew.

    ``until``: when it is asked for again, if nobody gets on.
    """
    row = insert(Verification).values(checkpoint_id=checkpoint_id, claim=1, wanted=wanted, tries=1, next_try_at=until)
    changes: dict[str, Any] = {"claim": Verification.claim + 1, "next_try_at": until, "problem": None}
    if wanted:
        changes |= {"wanted": True, "files_done": 0, "bytes_done": 0, "tries": 1}
    else:
        changes |= {"tries": Verification.tries + 1}
    made = row.on_conflict_do_update(
        index_elements=[Verification.checkpoint_id], set_=changes, where=None if wanted else Verification.next_try_at <= moment
    ).returning(Verification.checkpoint_id, Verification.claim, Verification.files_done)
    found = session.execute(made).one_or_none()
    return Claim(*found) if found is not None else None


def tries(session: Session, checkpoint_ids: Sequence[int]) -> dict[int, int]:
    """Of those that were tried before and have come to nothing."""
    rows = session.execute(
        select(Verification.checkpoint_id, Verification.tries).where(Verification.checkpoint_id.in_(checkpoint_ids))
    )
    return {checkpoint_id: count for checkpoint_id, count in rows}  # noqa: C416  # dict() takes rows, but has no type for them


def find(session: Session, checkpoint_id: int, *, lock: bool = False) -> Verification | None:
    query = select(Verification).where(Verification.checkpoint_id == checkpoint_id)
    return session.scalar(query.with_for_update().execution_options(populate_existing=True) if lock else query)


def end(session: Session, checkpoint_id: int) -> None:
    session.execute(delete(Verification).where(Verification.checkpoint_id == checkpoint_id))


def waiting(session: Session, job_id: int, number: int) -> Sequence[Operation]:
    """Of those who have asked for it."""
    return session.scalars(
        select(Operation).where(
            Operation.job_id == job_id,
            Operation.ended_at.is_(None),
            Operation.kind == OperationKind.VERIFY,
            Operation.request["checkpoint"].astext.cast(BigInteger) == number,
        )
    ).all()
