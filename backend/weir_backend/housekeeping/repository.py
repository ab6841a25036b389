"""Delete old rows in batches. Rows that a restore may need are never deleted."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    DateTime,
    Select,
    Subquery,
    and_,
    any_,
    cast,
    delete,
    false,
    func,
    or_,
    select,
    true,
    union_all,
    update,
)
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased

from weir_backend.housekeeping.history_rules import NEWEST_KEPT, HistoryRow
from weir_backend.kit.database import pairs
from weir_backend.models import (
    Alert,
    AuditEntry,
    Base,
    Checkpoint,
    CheckpointState,
    Command,
    Delivery,
    Event,
    Failure,
    IdempotencyKey,
    Job,
    MetricSample,
    Operation,
    PlanState,
    RecoveryPlan,
    Run,
    SpecCheck,
    Token,
)

JOBS_PER_BATCH = 20
"""A batch of jobs is smaller than other batches, because the deletion of a job also deletes hundreds of rows in other tables."""
RUNS_PER_BATCH = 200
"""A batch of runs is smaller than other batches, because each run requires lookups in large tables."""


def delete_samples(session: Session, before: datetime, rows_max: int) -> int:
    return _delete_batch(session, MetricSample, MetricSample.id, MetricSample.at < before, rows_max, oldest=MetricSample.at)


def delete_events(session: Session, before: datetime, rows_max: int) -> int:
    return _delete_batch(session, Event, Event.id, Event.received_at < before, rows_max, oldest=Event.received_at)


def delete_failed_checkpoints(session: Session, before: datetime, rows_max: int) -> int:
    expired = (Checkpoint.state == CheckpointState.FAILED) & (Checkpoint.triggered_at < before)
    return _delete_batch(session, Checkpoint, Checkpoint.id, expired, rows_max, oldest=Checkpoint.triggered_at)


def delete_discarded_checkpoints(session: Session, before: datetime, rows_max: int) -> int:
    """Delete completed checkpoints whose files are deleted. Keep the newest checkpoint of each job. Also keep the checkpoints that show the
    lineage of the job: each checkpoint that a plan or a run restores, and the ``safety_checkpoint`` of each plan. Also keep the checkpoints of
    operations that are not deleted yet."""
    expired = (Checkpoint.state == CheckpointState.COMPLETED) & (Checkpoint.discarded_at < before)
    names = _references()
    named = select(names.c.number).where(names.c.job_id == Checkpoint.job_id, names.c.number == Checkpoint.number)
    later = aliased(Checkpoint)
    later_one = select(later.id).where(
        later.job_id == Checkpoint.job_id, later.state == CheckpointState.COMPLETED, later.number > Checkpoint.number
    )
    return _delete_batch(session, Checkpoint, Checkpoint.id, expired & ~named.exists() & later_one.exists(), rows_max)


def _references() -> Subquery:
    """Return the job and the number of each checkpoint that a run, a plan or an operation names."""
    return union_all(
        select(RecoveryPlan.job_id, _number(RecoveryPlan.preview).label("number")),
        select(RecoveryPlan.job_id, RecoveryPlan.safety_checkpoint),
        select(Run.job_id, _number(Run.start)),
        select(Job.id, _number(Job.next_start)),
        select(Operation.job_id, _number(Operation.request)),
        select(Operation.job_id, _number(Operation.result)),
    ).subquery("named")


def _number(column: InstrumentedAttribute[Any]) -> ColumnElement[int]:
    """Return the number of the checkpoint that a JSON object names, or null."""
    number: ColumnElement[int] = column["checkpoint"].astext.cast(BigInteger)
    return number


# ---- checkpoint history ------------------------------------------------------------------------


def history_to_judge(session: Session, level: int, before: datetime, rows_max: int) -> list[HistoryRow]:
    """Return rows of the checkpoint history that have the level ``level`` and completed before ``before``, the oldest of each job first."""
    of_job = (
        _history(level)
        .where(Checkpoint.job_id == Job.id, Checkpoint.completed_at < before)
        .order_by(Checkpoint.completed_at)
        .limit(rows_max)
        .lateral()
    )
    query = select(*of_job.c).select_from(Job).join(of_job, true()).limit(rows_max)
    return [HistoryRow(*values) for values in session.execute(query)]


def history_in_steps(
    session: Session, level: int, steps: Collection[tuple[int, datetime]], duration: timedelta
) -> list[HistoryRow]:
    """Return the rows of the checkpoint history that have the level ``level`` and are in one of the steps. A step is the id of a job and the
    begin of the step."""
    jobs = cast([job_id for job_id, _ in steps], ARRAY(BigInteger))
    begins = cast([begin for _, begin in steps], ARRAY(DateTime(timezone=True)))
    step = func.unnest(jobs, begins).table_valued("job_id", "begin").render_derived("step")
    in_step = (
        Checkpoint.job_id == step.c.job_id,
        Checkpoint.completed_at >= step.c.begin,
        Checkpoint.completed_at < step.c.begin + duration,
    )
    query = _history(level).join(step, and_(*in_step))
    return [HistoryRow(*values) for values in session.execute(query)]


def _history(level: int) -> Select[*tuple[Any, ...]]:
    """Return a query for the rows of the checkpoint history that have the level ``level``. The columns are the fields of HistoryRow."""
    later = aliased(Checkpoint)
    continued = (
        select(and_(later.run_id == Checkpoint.run_id, later.generation == Checkpoint.generation))
        .where(later.job_id == Checkpoint.job_id, later.state == CheckpointState.COMPLETED, later.number > Checkpoint.number)
        .order_by(later.number)
        .limit(1)
        .correlate(Checkpoint)
        .scalar_subquery()
    )
    return select(
        Checkpoint.id,
        Checkpoint.job_id,
        Checkpoint.number,
        Checkpoint.completed_at,
        Checkpoint.history_level,
        Checkpoint.state,
        Checkpoint.is_savepoint,
        Checkpoint.discarded_at.is_not(None).label("discarded"),
        Checkpoint.pinned,
        Checkpoint.damage.is_not(None).label("damaged"),
        ~func.coalesce(continued, false()).label("ends_generation"),
    ).where(
        Checkpoint.history_level == level,
        # The index of the history contains only these rows.
        Checkpoint.state == CheckpointState.COMPLETED,
        Checkpoint.discarded_at.is_not(None),
        ~Checkpoint.is_savepoint,
    )


def named_among(session: Session, job_ids: Collection[int], checkpoint_ids: Sequence[int]) -> dict[int, list[int]]:
    """Return, by job, the numbers of those checkpoints that a run, a plan or an operation names. The checkpoints belong to the jobs
    ``job_ids``."""
    names = _references()
    same = (names.c.job_id == Checkpoint.job_id) & (names.c.number == Checkpoint.number)
    of_jobs = names.c.job_id.in_(job_ids)  # read the references of these jobs only
    query = select(Checkpoint.job_id, Checkpoint.number).join(names, same).where(_among(checkpoint_ids), of_jobs)
    found: dict[int, list[int]] = {}
    for job_id, number in session.execute(query):
        found.setdefault(job_id, []).append(number)
    return found


def newest_numbers(session: Session, job_ids: Collection[int]) -> dict[int, int]:
    """Return, by job, the lowest number of the ``NEWEST_KEPT`` newest completed checkpoints. Jobs with fewer checkpoints are left out."""
    number = (
        select(Checkpoint.number)
        .where(Checkpoint.job_id == Job.id, Checkpoint.state == CheckpointState.COMPLETED)
        .order_by(Checkpoint.number.desc())
        .offset(NEWEST_KEPT - 1)
        .limit(1)
        .lateral()
    )
    return pairs(session, select(Job.id, number.c.number).join(number, true()).where(Job.id.in_(job_ids)))


def set_history_level(session: Session, checkpoint_ids: Sequence[int], level: int) -> None:
    session.execute(update(Checkpoint).where(_among(checkpoint_ids)).values(history_level=level))


def delete_history(session: Session, checkpoint_ids: Sequence[int]) -> int:
    """Delete rows of the checkpoint history, and return their number. Rows that another process has deleted do not count."""
    result: Any = session.execute(delete(Checkpoint).where(_among(checkpoint_ids)))
    return int(result.rowcount)


def _among(checkpoint_ids: Sequence[int]) -> ColumnElement[bool]:
    """Return the condition for the checkpoints with these ids. An array is one parameter, however many ids it contains."""
    return Checkpoint.id == any_(cast(checkpoint_ids, ARRAY(BigInteger)))


def delete_checkpoints_of_deleted_jobs(session: Session, before: datetime, rows_max: int) -> int:
    """Delete the checkpoints of jobs that were deleted before ``before``."""
    deleted = select(Job.id).where(Job.id == Checkpoint.job_id, Job.deleted_at < before)
    return _delete_batch(session, Checkpoint, Checkpoint.id, deleted.exists(), rows_max)


def purge_deleted_jobs(session: Session, before: datetime, rows_max: int) -> int:
    """Remove the rows of jobs that were marked as deleted before the time ``before``, with the specs, runs, operations and plans of these
    jobs. The checkpoints and events of the jobs must be deleted first."""
    has_rows = (
        select(Checkpoint.id).where(Checkpoint.job_id == Job.id).exists()
        | select(Event.id).where(Event.job_id == Job.id).exists()
    )
    return _delete_batch(session, Job, Job.id, (Job.deleted_at < before) & ~has_rows, min(rows_max, JOBS_PER_BATCH))


def delete_audit_entries(session: Session, before: datetime, rows_max: int) -> int:
    return _delete_batch(session, AuditEntry, AuditEntry.id, AuditEntry.at < before, rows_max, oldest=AuditEntry.at)


def delete_commands(session: Session, before: datetime, rows_max: int) -> int:
    """Delete commands that are answered. Also delete commands whose run has ended, because no driver answers these commands any
    more."""
    over = select(Run.id).where(Run.id == Command.run_id, Run.ended_at.is_not(None)).exists()
    expired = (Command.created_at < before) & (Command.outcome.is_not(None) | over)
    return _delete_batch(session, Command, Command.id, expired, rows_max, oldest=Command.created_at)


def delete_operations(session: Session, before: datetime, rows_max: int) -> int:
    """Delete ended operations. The operations of plans are kept, because the API returns their steps with the plan."""
    of_plan = select(RecoveryPlan.id).where(RecoveryPlan.operation_id == Operation.id).exists()
    expired = (Operation.created_at < before) & Operation.ended_at.is_not(None) & ~of_plan
    return _delete_batch(session, Operation, Operation.id, expired, rows_max, oldest=Operation.created_at)


def delete_unapplied_plans(session: Session, before: datetime, rows_max: int) -> int:
    """Delete plans that were not approved, and plans that were discarded."""
    unapplied = RecoveryPlan.state.in_((PlanState.PROPOSED, PlanState.DISCARDED)) & RecoveryPlan.operation_id.is_(None)
    return _delete_batch(session, RecoveryPlan, RecoveryPlan.id, unapplied & (RecoveryPlan.created_at < before), rows_max)


def delete_failures(session: Session, before: datetime, rows_max: int) -> int:
    """Delete failures whose recovery is known. For failures from which a job recovered, also increase the
    job's counters of recoveries and downtime."""
    expired = (Failure.received_at < before) & Failure.recovery.is_not(None)
    # Lock the job before its failures, in the same order as the ingestion of events.
    of_job = select(Failure.id).where(Failure.job_id == Job.id, expired).exists()
    jobs = session.scalars(
        select(Job.id).where(of_job).order_by(Job.id).limit(JOBS_PER_BATCH).with_for_update(skip_locked=True)
    ).all()
    if not jobs:
        return 0
    chosen = select(Failure.id).where(Failure.job_id.in_(jobs), expired).order_by(Failure.received_at).limit(rows_max)
    removed = (
        delete(Failure)
        .where(Failure.id.in_(chosen.scalar_subquery()))
        .returning(Failure.job_id, Failure.recovery, Failure.downtime_ms)
        .cte("removed")
    )
    recovered = removed.c.recovery != "none"
    counted = select(
        removed.c.job_id,
        func.count().label("rows"),
        func.count().filter(recovered).label("recoveries"),
        func.coalesce(func.sum(removed.c.downtime_ms).filter(recovered), 0).label("downtime_ms"),
    ).group_by(removed.c.job_id)
    rows = 0
    for job_id, count, recoveries, downtime_ms in session.execute(counted).all():
        rows += count
        session.execute(
            update(Job)
            .where(Job.id == job_id)
            .values(
                pruned_recoveries=Job.pruned_recoveries + recoveries,
                pruned_downtime_ms=Job.pruned_downtime_ms + int(downtime_ms),
            )
        )
    return rows


def delete_unreferenced_runs(session: Session, before: datetime, rows_max: int) -> int:
    """Delete runs that no other row refers to. A job that fails repeatedly leaves many unreferenced runs.

    Keep live runs, and the newest run of each job. Keep the runs of plans, and runs that have checkpoints or failures. For each spec
    version, keep the last run that has reached RUNNING. Keep the newest run of each job log, because the generation of this run shows whether
    another application writes to the log. Keep each run that started a new branch, unless the next run started another branch.
    """
    other, later, following = aliased(Run), aliased(Run), aliased(Run)
    referenced = or_(
        select(Checkpoint.id).where(Checkpoint.job_id == Run.job_id, Checkpoint.run_id == Run.id).exists(),
        select(Failure.id).where(Failure.job_id == Run.job_id, Failure.run_id == Run.id).exists(),
    )
    newer_in_log = select(other.id).where(
        other.job_id == Run.job_id, other.checkpoint_directory == Run.checkpoint_directory, other.generation > Run.generation
    )
    ran_later = select(later.id).where(
        later.job_id == Run.job_id, later.spec_id == Run.spec_id, later.number > Run.number, later.running_at.is_not(None)
    )
    left_behind = select(following.id).where(
        following.job_id == Run.job_id, following.number == Run.number + 1, following.start["mode"].astext != "resume"
    )
    expired = and_(
        Run.ended_at < before,
        Run.plan_id.is_(None),
        or_(Run.generation == 0, newer_in_log.exists()),
        or_(Run.running_at.is_(None), ran_later.exists()),
        or_(Run.start["mode"].astext == "resume", left_behind.exists()),
        select(Job.id).where(Job.id == Run.job_id, Job.run_number > Run.number).exists(),
        ~referenced,
    )
    return _delete_batch(session, Run, Run.id, expired, min(rows_max, RUNS_PER_BATCH), oldest=Run.id)


def delete_resolved_alerts(session: Session, before: datetime, rows_max: int) -> int:
    """Delete resolved alerts and their deliveries."""
    return _delete_batch(session, Alert, Alert.id, Alert.resolved_at < before, rows_max)


def delete_deliveries(session: Session, before: datetime, rows_max: int) -> int:
    return _delete_batch(session, Delivery, Delivery.id, Delivery.ended_at < before, rows_max)


def delete_idempotency_keys(session: Session, before: datetime, rows_max: int) -> int:
    return _delete_batch(session, IdempotencyKey, IdempotencyKey.id, IdempotencyKey.created_at < before, rows_max)


def delete_spec_checks(session: Session, before: datetime, rows_max: int) -> int:
    return _delete_batch(session, SpecCheck, SpecCheck.id, SpecCheck.created_at < before, rows_max)


def delete_tokens(session: Session, before: datetime, rows_max: int) -> int:
    return _delete_batch(session, Token, Token.id, (Token.expires_at < before) | (Token.revoked_at < before), rows_max)


def _delete_batch(
    session: Session,
    table: type[Base],
    key: InstrumentedAttribute[int],
    condition: ColumnElement[bool],
    rows_max: int,
    *,
    oldest: InstrumentedAttribute[datetime] | InstrumentedAttribute[int] | None = None,
) -> int:
    """Delete up to ``rows_max`` rows that are not locked, and return the number of deleted rows. If the column ``oldest`` is given, delete
    the rows with the lowest values first. The column has an index, so each batch continues where the previous batch ended."""
    chosen = select(key).where(condition).order_by(oldest).limit(rows_max).with_for_update(skip_locked=True)
    result: Any = session.execute(delete(table).where(key.in_(chosen.scalar_subquery())))
    return int(result.rowcount)
