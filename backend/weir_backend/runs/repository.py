"""Queries on runs, their failures and graphs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import BigInteger, ColumnElement, Text, and_, bindparam, cast, func, or_, select, update
from sqlalchemy.dialects.postgresql import JSONB, insert
from sqlalchemy.orm import Session, aliased

from weir_backend.checkpoints.lineage import newest_completed
from weir_backend.kit.database import pairs
from weir_backend.kit.heartbeats import host_component
from weir_backend.kit.listing import Fields, equals, one_of
from weir_backend.models import Command, Failure, Graph, Heartbeat, Job, Operation, RecoveryPlan, Run, RunState
from weir_backend.runs.graph import GraphContent

FIELDS = Fields(
    sortable={"id": Run.id, "number": Run.number, "created_at": Run.created_at, "ended_at": Run.ended_at},
    filters={"id": equals(Run.id, int), "job_id": equals(Run.job_id, int), "state": one_of(Run.state, RunState)},
    default=("id", True),
    key=Run.id,
)


def graph_of_run(session: Session, run: Run) -> Graph | None:
    return session.scalar(select(Graph).where(Graph.id == run.graph_id)) if run.graph_id is not None else None


@dataclass(frozen=True, slots=True)
class FileRetention:
    """The rule that decides which runs keep their files. A run keeps its files if it ended after ``since``, or if it is one of the last
    ``newest`` runs of its job. At most ``at_most`` runs of a job keep their files. The runs of a deleted job keep no files."""

    since: datetime
    newest: int
    at_most: int


def _expired(kept: FileRetention) -> ColumnElement[bool]:
    # The numbers of a job's runs are consecutive, so ``newer`` is the number of newer runs of the same job.
    newer = Job.run_number - Run.number
    old = and_(newer >= kept.newest, Run.ended_at < kept.since)
    return and_(
        Run.ended_at.is_not(None),
        Run.files_cleared_at.is_(None),
        or_(Job.deleted_at.is_not(None), newer >= kept.at_most, old),
    )


def hosts_to_clean_up(session: Session, kept: FileRetention) -> Sequence[str]:
    query = select(Run.host).join(Job, Job.id == Run.job_id).where(_expired(kept), Run.host.is_not(None)).distinct()
    return [host for host in session.scalars(query) if host]


def runs_to_clean_up(session: Session, kept: FileRetention, host: str, *, after: int, count: int) -> Sequence[Run]:
    query = select(Run).join(Job, Job.id == Run.job_id).where(_expired(kept), Run.host == host, Run.id > after)
    return session.scalars(query.order_by(Run.id).limit(count)).all()


def mark_cleaned_up(session: Session, run_ids: Sequence[int], moment: datetime) -> None:
    session.execute(update(Run).where(Run.id.in_(run_ids), Run.files_cleared_at.is_(None)).values(files_cleared_at=moment))


def newest_run(session: Session, job: Job) -> Run | None:
    return session.scalar(select(Run).where(Run.job_id == job.id, Run.number == job.run_number))


def live_run(session: Session, job_id: int, *, lock: bool = False) -> Run | None:
    """Return the live run of the job, or None if all runs have ended."""
    query = select(Run).where(Run.job_id == job_id, Run.ended_at.is_(None))
    return session.scalar(query.with_for_update().execution_options(populate_existing=True) if lock else query)


def newest_runs(session: Session, job_ids: Collection[int]) -> dict[int, Run]:
    """Return the newest run of each job. Jobs without a run are left out."""
    rows = session.scalars(
        select(Run).join(Job, (Job.id == Run.job_id) & (Job.run_number == Run.number)).where(Job.id.in_(job_ids))
    )
    return {run.job_id: run for run in rows}


def restores(session: Session, job_ids: Collection[int]) -> dict[int, dict[int, int | None]]:
    """Return which checkpoint each run restored: for each job id, a mapping from run number to checkpoint number. A run that resumed from the
    newest checkpoint is not in the mapping. The checkpoint number is None if the run restored an external checkpoint or started without state."""
    rows = session.execute(
        select(Run.job_id, Run.number, Run.start["checkpoint"].astext.cast(BigInteger)).where(
            Run.job_id.in_(job_ids), Run.start["mode"].astext != "resume"
        )
    )
    found: dict[int, dict[int, int | None]] = {}
    for job_id, number, checkpoint in rows:
        found.setdefault(job_id, {})[number] = checkpoint or None
    return found


def newest_that_ran(session: Session, job_ids: Collection[int]) -> dict[int, int]:
    """Return, for each job id, the number of the newest run that has reached RUNNING."""
    query = select(Run.job_id, func.max(Run.number)).where(Run.job_id.in_(job_ids), Run.running_at.is_not(None))
    return pairs(session, query.group_by(Run.job_id))


def has_run(session: Session, spec_id: int) -> bool:
    """Return whether a run of the spec version with the id ``spec_id`` has reached RUNNING."""
    return session.scalar(select(Run.id).where(Run.spec_id == spec_id, Run.running_at.is_not(None)).limit(1)) is not None


def has_run_since(session: Session, job_id: int, number: int) -> bool:
    """Return whether a run of the job with a number above ``number`` has reached RUNNING."""
    later = select(Run.id).where(Run.job_id == job_id, Run.number > number, Run.running_at.is_not(None))
    return session.scalar(later.limit(1)) is not None


def runs_of_plan(session: Session, plan: RecoveryPlan) -> Sequence[Run]:
    """Return the runs that the plan has started, oldest first."""
    return session.scalars(select(Run).where(Run.plan_id == plan.id).order_by(Run.number)).all()


def commands_given(session: Session, run_id: int) -> frozenset[str]:
    """Return the kinds of the commands that were sent to the driver of the run, except commands that the driver has refused."""
    accepted = (Command.run_id == run_id, or_(Command.outcome.is_(None), Command.outcome != "REFUSED"))
    return frozenset(session.scalars(select(Command.kind).where(*accepted)))


def cancelled_at(session: Session, run_id: int) -> datetime | None:
    """Return the time at which the command to cancel was first sent to the driver of the run, or None if this command was never sent."""
    return session.scalar(select(func.min(Command.created_at)).where(Command.run_id == run_id, Command.kind == "Cancel"))


def newest_checkpoint(session: Session, job_id: int) -> int | None:
    """Return the number of the newest completed checkpoint on the current branch. If the job has completed no checkpoint since a rollback, return
    the number of the checkpoint that the rollback restored. Checkpoints are compared by number and not by time, because the clocks of drivers can
    differ."""
    run = session.scalar(select(Run).where(Run.job_id == job_id).order_by(Run.number.desc()).limit(1))
    return newest_completed(session, job_id, run.id) if run is not None else None


def jobs_to_reconcile(session: Session, moment: datetime, *, limit: int) -> Sequence[int]:
    """Return the ids of the jobs that are due for reconciliation. The job that has waited longest comes first."""
    return session.scalars(
        select(Job.id)
        .where(Job.next_reconcile_at <= moment, Job.deleted_at.is_(None))
        .order_by(Job.next_reconcile_at)
        .limit(limit)
    ).all()


def hosts_with_live_runs(session: Session) -> Sequence[str]:
    """Return the hosts of runs that have not ended."""
    return _hosts(session, Run.ended_at.is_(None))


def hosts_with_only_fenced_runs(session: Session, *, since: datetime) -> Sequence[str]:
    """Return the hosts that have no live runs but have runs that the control plane fenced after ``since``."""
    live = aliased(Run)
    others = select(live.id).where(live.host == Run.host, live.ended_at.is_(None)).exists()
    return _hosts(session, and_(Run.fenced_at >= since, ~others))


def _hosts(session: Session, wanted: ColumnElement[bool]) -> Sequence[str]:
    return [host for host in session.scalars(select(Run.host).where(wanted, Run.host.is_not(None)).distinct()) if host]


def live_on(session: Session, host: str) -> Sequence[Run]:
    return session.scalars(select(Run).where(Run.ended_at.is_(None), Run.host == host).order_by(Run.id)).all()


def on_unreachable_hosts(session: Session, since: datetime, *, host: str) -> Sequence[Run]:
    """Return the live runs for which neither the driver nor its host has contacted the control plane since ``since``. Leave out the runs on
    ``host``, because ``host`` is the host of the caller."""
    return session.scalars(select(Run).where(_unreachable(since), Run.host != host).order_by(Run.id)).all()


def is_unreachable(session: Session, run_id: int, since: datetime) -> bool:
    return session.scalar(select(Run.id).where(_unreachable(since), Run.id == run_id)) is not None


def clear_reassignment_problems(session: Session, since: datetime) -> None:
    """Clear the reassignment problem of runs that are reachable again."""
    session.execute(
        update(Run)
        .where(Run.ended_at.is_(None), Run.reassignment_problem.is_not(None), ~_unreachable(since))
        .values(reassignment_problem=None)
    )


def _unreachable(since: datetime) -> ColumnElement[bool]:
    heard = select(Heartbeat.component).where(Heartbeat.component == host_component(Run.host), Heartbeat.seen_at >= since)
    # Ignore ``submitted_at``, because the submission of a run does not prove that its host is reachable.
    return and_(
        Run.ended_at.is_(None), Run.host.is_not(None), func.coalesce(Run.last_contact_at, Run.created_at) < since, ~heard.exists()
    )


def fenced_on(session: Session, host: str, *, since: datetime) -> Sequence[Run]:
    """Return the runs of the host that the control plane fenced after ``since``."""
    return session.scalars(select(Run).where(Run.host == host, Run.fenced_at >= since).order_by(Run.id)).all()


def next_deadline(session: Session, job_id: int) -> datetime | None:
    return session.scalar(select(func.min(Operation.deadline_at)).where(Operation.job_id == job_id, Operation.ended_at.is_(None)))


FAILURE_FIELDS = Fields(
    sortable={"id": Failure.id, "at": Failure.at, "downtime_ms": Failure.downtime_ms},
    filters={
        "id": equals(Failure.id, int),
        "run_id": equals(Failure.run_id, int),
        "kind": equals(Failure.kind, str),
        "recovery": equals(Failure.recovery, str),
    },
    default=("at", True),
    key=Failure.id,
)


def store_graph(session: Session, content: GraphContent) -> int:
    """Store the graph, unless it is stored already. Return the id of the graph."""
    found = session.scalar(select(Graph.id).where(Graph.digest == content.digest))
    if found is None:
        body = cast(bindparam("body", content.text, type_=Text), JSONB)
        made = insert(Graph).values(digest=content.digest, body=body).on_conflict_do_nothing().returning(Graph.id)
        found = session.scalar(made) or session.scalar(select(Graph.id).where(Graph.digest == content.digest))
    assert found is not None
    return found
