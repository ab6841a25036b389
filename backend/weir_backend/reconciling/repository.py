"""The runs of a job that decisions are about."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, and_, func, or_, select, update
from sqlalchemy.orm import Session, aliased

from weir_backend.checkpoints.lines import newest_completed
from weir_backend.kit.presence import machine_of
from weir_backend.models import Command, Job, Operation, Presence, RecoveryPlan, Run


def newest(session: Session, job: Job) -> Run | None:
    return session.scalar(select(Run).where(Run.job_id == job.id, Run.number == job.run_number))


def live(session: Session, job_id: int, *, lock: bool = False) -> Run | None:
    """The one that is not over."""
    query = select(Run).where(Run.job_id == job_id, Run.ended_at.is_(None))
    return session.scalar(query.with_for_update().execution_options(populate_existing=True) if lock else query)


def find(session: Session, run_id: int) -> Run | None:
    return session.get(Run, run_id)


def has_run(session: Session, spec_id: int) -> bool:
    """Some run of this version has reached RUNNING."""
    return session.scalar(select(Run.id).where(Run.spec_id == spec_id, Run.running_at.is_not(None)).limit(1)) is not None


def has_run_since(session: Session, job_id: int, number: int) -> bool:
    """Some run after this one has reached RUNNING."""
    later = select(Run.id).where(Run.job_id == job_id, Run.number > number, Run.running_at.is_not(None))
    return session.scalar(later.limit(1)) is not None


def of_plan(session: Session, plan: RecoveryPlan) -> Sequence[Run]:
    """Oldest first."""
    return session.scalars(select(Run).where(Run.plan_id == plan.id).order_by(Run.number)).all()


def commands_given(session: Session, run_id: int) -> frozenset[str]:
    """Kinds of those that were not refused."""
    rows = session.scalars(
        select(Command.kind).where(Command.run_id == run_id, or_(Command.outcome.is_(None), Command.outcome != "REFUSED"))
    )
    return frozenset(rows)


def cancelled_at(session: Session, run_id: int) -> datetime | None:
    """When the run was first told to cancel."""
    return session.scalar(select(func.min(Command.created_at)).where(Command.run_id == run_id, Command.kind == "Cancel"))


def newest_checkpoint(session: Session, job_id: int) -> int | None:
    """Number of the one that completed last on the line that the job is on: after a rollback that has completed none yet, the one
    that it went back to. By number and not by time, as numbers only grow and clocks of drivers do what they like."""
    run = session.scalar(select(Run).where(Run.job_id == job_id).order_by(Run.number.desc()).limit(1))
    return newest_completed(session, job_id, run.id) if run is not None else None


def due(session: Session, moment: datetime, *, limit: int) -> Sequence[int]:
    """Jobs for which there is something to do, those that wait longest first."""
    return session.scalars(
        select(Job.id).where(Job.next_look_at <= moment, Job.deleted_at.is_(None)).order_by(Job.next_look_at).limit(limit)
    ).all()


def hosts(session: Session) -> Sequence[str]:
    """Machines with drivers of runs that are not over."""
    return _hosts(session, Run.ended_at.is_(None))


def hosts_fenced(session: Session, *, since: datetime) -> Sequence[str]:
    """Machines with runs that were ended over the heads of their drivers, and with no others."""
    live = aliased(Run)
    others = select(live.id).where(live.host == Run.host, live.ended_at.is_(None)).exists()
    return _hosts(session, and_(Run.fenced_at >= since, ~others))


def _hosts(session: Session, wanted: ColumnElement[bool]) -> Sequence[str]:
    return [host for host in session.scalars(select(Run.host).where(wanted, Run.host.is_not(None)).distinct()) if host]


def live_on(session: Session, host: str) -> Sequence[Run]:
    return session.scalars(select(Run).where(Run.ended_at.is_(None), Run.host == host).order_by(Run.id)).all()


def on_silent_machines(session: Session, since: datetime, *, host: str) -> Sequence[Run]:
    """Live runs of which neither driver nor machine has said anything since then. Not those on ``host``: whoever asks is there."""
    return session.scalars(select(Run).where(_silent(since), Run.host != host).order_by(Run.id)).all()


def is_silent(session: Session, run_id: int, since: datetime) -> bool:
    return session.scalar(select(Run.id).where(_silent(since), Run.id == run_id)) is not None


def heard_again(session: Session, since: datetime) -> None:
    """Those of which something has been heard are stranded no more."""
    session.execute(update(Run).where(Run.ended_at.is_(None), Run.stranded.is_not(None), ~_silent(since)).values(stranded=None))


def _silent(since: datetime) -> ColumnElement[bool]:
    heard = select(Presence.part).where(Presence.part == machine_of(Run.host), Presence.seen_at >= since)
    # When it was last asked to be started says nothing of a machine that does not answer.
    return and_(
        Run.ended_at.is_(None), Run.host.is_not(None), func.coalesce(Run.last_contact_at, Run.created_at) < since, ~heard.exists()
    )


def fenced_on(session: Session, host: str, *, since: datetime) -> Sequence[Run]:
    """Runs that were ended over the heads of their drivers."""
    return session.scalars(select(Run).where(Run.host == host, Run.fenced_at >= since).order_by(Run.id)).all()


def next_deadline(session: Session, job_id: int) -> datetime | None:
    return session.scalar(select(func.min(Operation.deadline_at)).where(Operation.job_id == job_id, Operation.ended_at.is_(None)))
