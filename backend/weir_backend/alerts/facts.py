"""Load the facts that alert rules need, with a few queries for all jobs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Literal

from sqlalchemy import Float, Row, Select, and_, cast, func, or_, select, true, tuple_
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session, aliased

from weir.protocol.lag import LAG_RECORDS, LAG_SECONDS
from weir_backend.alerts.conditions import LAG_DURATION, AlertFacts, Lag
from weir_backend.alerts.schemas import COUNT_MAX, MINUTES_MAX
from weir_backend.jobs.spec import Checkpointing, RestartStrategy, min_distance_s
from weir_backend.metrics.service import diagnose_jobs
from weir_backend.models import Checkpoint, CheckpointState, Failure, Job, MetricSample, Run, Spec

RECENT = timedelta(minutes=1)
"""A sample that is older than ``RECENT`` is stale, because slots report every few seconds."""
GAUGES: Mapping[str, Literal["records", "seconds"]] = {LAG_RECORDS: "records", LAG_SECONDS: "seconds"}
"""Suffixes of the gauges that report the lag of a source: ``<uid>.lag_records``."""


def load_facts(
    session: Session, moment: datetime, *, jobs: Collection[int] | None = None, lags: bool = False, diagnoses: bool = False
) -> dict[int, AlertFacts]:
    """Return the facts about each of ``jobs``, or about each job if ``jobs`` is None. If ``lags`` is True, also load the lag of sources. If
    ``diagnoses`` is True, also load the diagnoses of running jobs."""
    query = _query(moment)
    if jobs is not None:
        query = query.where(Job.id.in_(jobs))
    found = {row.id: _facts(row) for row in session.execute(query)}
    if lags:
        for job_id, job_lags in _lags(session, moment, found).items():
            found[job_id] = replace(found[job_id], lags=job_lags)
    if diagnoses:
        for job_id, diagnosis in diagnose_jobs(session, found.keys(), moment).items():
            found[job_id] = replace(found[job_id], diagnosis=diagnosis)
    return found


def _query(moment: datetime) -> Select[Any]:
    newest, other = aliased(Run), aliased(Run)
    # Ignore runs that restart the job after a failure. All runs except restarts were caused by a user or a plan.
    started = (
        select(other.id, other.number, other.created_at)
        .where(other.job_id == Job.id, other.cause != "restart")
        .order_by(other.number.desc())
        .limit(1)
        .lateral("started")
    )
    ran = (
        select(other.running_at)
        .where(other.job_id == Job.id, other.number >= started.c.number, other.running_at.is_not(None))
        .order_by(other.number)
        .limit(1)
        .lateral("ran")
    )
    last = (
        select(Checkpoint.number, Checkpoint.run_id, Checkpoint.generation, Checkpoint.end_to_end_ms)
        .where(Checkpoint.job_id == Job.id, Checkpoint.state == CheckpointState.COMPLETED)
        .order_by(Checkpoint.number.desc())
        .limit(1)
        .lateral("last")
    )
    since = func.coalesce(started.c.id, 0)
    aborted = (
        select(Checkpoint.id)
        .where(
            Checkpoint.job_id == Job.id, Checkpoint.state == CheckpointState.FAILED, Checkpoint.run_id >= since,
            Checkpoint.number > func.coalesce(last.c.number, 0),
        )
        .limit(COUNT_MAX)
        .correlate(Job, started, last)
        .subquery()
    )  # fmt: skip
    # Order by run id and generation, because both only increase. Do not order by time, because the clocks of drivers can differ. A
    # generation completes no checkpoint after its failure. If a failure and a checkpoint have the same run id and generation, the failure
    # is therefore newer.
    failed = (
        select(Failure.received_at)
        .where(
            Failure.job_id == Job.id, Failure.run_id >= since,
            or_(last.c.run_id.is_(None), tuple_(Failure.run_id, Failure.generation) >= tuple_(last.c.run_id, last.c.generation)),
        )
        .order_by(Failure.run_id.desc(), Failure.generation.desc())
        .limit(COUNT_MAX)
        .correlate(Job, started, last)
        .subquery()
    )  # fmt: skip
    restarted = (
        select(func.least(Failure.at, Failure.received_at).label("at"))
        .where(
            Failure.job_id == Job.id,
            Failure.at >= moment - timedelta(minutes=MINUTES_MAX),
            Failure.recovery != "none",
        )
        .order_by(Failure.at.desc())
        .limit(COUNT_MAX)
        .correlate(Job)
        .subquery()
    )
    aborts = select(func.count(aborted.c.id).label("count")).lateral("aborts")
    failures = select(func.count(failed.c.received_at).label("count"), func.max(failed.c.received_at).label("at")).lateral(
        "failures"
    )
    restarts = select(func.array_agg(restarted.c.at).label("at")).lateral("restarts")
    return (
        select(
            Job.id, Job.desired_state, Job.restarts_stopped_reason, Job.checkpoint_reported_at, newest.state,
            started.c.created_at.label("begun_at"), ran.c.running_at,
            last.c.number.label("checkpoint"), last.c.end_to_end_ms, aborts.c.count.label("aborted"), failures.c.count.label("failed"),
            failures.c.at.label("failed_at"), restarts.c.at.label("restarted_at"),
            Spec.body["checkpointing"]["interval"].astext.label("interval"),
            Spec.body["checkpointing"]["min_pause"].astext.label("min_pause"),
            cast(Spec.body["restart"]["reset_after_s"].astext, Float).label("reset_after_s"),
        )
        .select_from(Job)
        .outerjoin(Spec, and_(Spec.job_id == Job.id, Spec.number == Job.spec_number))
        .outerjoin(newest, and_(newest.job_id == Job.id, newest.number == Job.run_number))
        .outerjoin(started, true())
        .outerjoin(ran, true())
        .outerjoin(last, true())
        .join(aborts, true())
        .join(failures, true())
        .join(restarts, true())
        .where(Job.deleted_at.is_(None))
    )  # fmt: skip


def _facts(row: Row[Any]) -> AlertFacts:
    begun_at, defaults = row.begun_at, Checkpointing()
    if begun_at is not None and row.running_at is not None:
        # ``running_at`` comes from the clock of the driver, which can be behind the clock of the control plane.
        begun_at = max(begun_at, row.running_at)
    return AlertFacts(
        desired=row.desired_state,
        run_state=row.state,
        begun_at=begun_at,
        checkpoint=row.checkpoint,
        checkpoint_reported_at=row.checkpoint_reported_at,
        checkpoint_ms=row.end_to_end_ms,
        interval_s=min_distance_s(
            row.interval if row.interval is not None else defaults.interval,
            row.min_pause if row.min_pause is not None else defaults.min_pause,
        ),
        reset_after_s=row.reset_after_s if row.reset_after_s is not None else RestartStrategy().reset_after_s,
        failures=row.failed,
        last_failure_at=row.failed_at,
        failed_checkpoints=row.aborted,
        restarts_stopped_reason=row.restarts_stopped_reason,
        restarts=tuple(row.restarted_at or ()),
    )


# ---- lag ---------------------------------------------------------------------------------------


def _lags(session: Session, moment: datetime, jobs: Collection[int]) -> dict[int, tuple[Lag, ...]]:
    """Return the lags of the jobs whose slots have reported recently."""
    now = _latest_lags(session, moment, jobs)
    before = _latest_lags(session, moment - LAG_DURATION, jobs)
    return {
        job_id: tuple(
            Lag(source, unit, value, before.get(job_id, {}).get((source, unit)))
            for (source, unit), value in sorted(gauges.items())
        )
        for job_id, gauges in now.items()
    }


LagByGauge = dict[tuple[str, Literal["records", "seconds"]], float]


def _latest_lags(session: Session, moment: datetime, jobs: Collection[int]) -> dict[int, LagByGauge]:
    """Return the lags at the time ``moment``, from the newest sample of each slot. Samples that are stale at ``moment`` are ignored. A lag in
    records is the sum over all subtasks. A lag in seconds is the maximum over all subtasks."""
    newest = (
        select(MetricSample.id)
        .ext(distinct_on(MetricSample.run_id, MetricSample.slot))
        .join(Run, Run.id == MetricSample.run_id)
        .where(
            Run.job_id.in_(jobs), Run.ended_at.is_(None), MetricSample.at > moment - RECENT, MetricSample.at <= moment
        )
        .order_by(MetricSample.run_id, MetricSample.slot, MetricSample.at.desc())
    )  # fmt: skip
    rows = session.execute(
        select(Run.job_id, MetricSample.metrics["gauges"])
        .join(Run, Run.id == MetricSample.run_id)
        .where(MetricSample.id.in_(newest))
    )
    found: defaultdict[int, LagByGauge] = defaultdict(dict)
    for job_id, gauges in rows:
        lags = found[job_id]
        for name, value in (gauges or {}).items():
            uid, dot, gauge = name.rpartition(".")
            unit = GAUGES.get(dot + gauge)
            if unit is None or type(value) not in (int, float):
                continue
            key = (uid, unit)
            known = lags.get(key, 0.0)
            lags[key] = known + value if unit == "records" else max(known, float(value))
    return dict(found)
