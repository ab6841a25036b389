"""Database queries for metric samples and for the Prometheus endpoint."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from pydantic_core import from_json
from sqlalchemy import BigInteger, ColumnElement, Float, Row, Select, Text, cast, func, or_, select, true
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from weir_backend.kit.database import pairs
from weir_backend.metrics.series import Sample
from weir_backend.models import (
    Alert,
    AlertKind,
    AlertState,
    Checkpoint,
    CheckpointState,
    Delivery,
    DeliveryState,
    Failure,
    Graph,
    Job,
    MetricSample,
    Run,
    RunState,
    Webhook,
)


def thinned(
    session: Session, job_id: int, *, since: datetime, until: datetime, step_s: float, graphs: Collection[int] | None = None
) -> list[Sample]:
    """Return the last sample of each slot in each step of ``step_s`` seconds, ordered by time. The last sample of a step suffices, because
    samples contain counters, not differences. If ``graphs`` is given, return only samples of runs with one of these graphs."""
    runs = _runs_since(select(Run.id), job_id, since)
    if graphs is not None:
        runs = runs.where(Run.graph_id.in_(graphs))
    return _thinned(session, runs, since=since, until=until, step_s=step_s)


def thinned_of_live(
    session: Session, job_ids: Collection[int], *, since: datetime, until: datetime, step_s: float
) -> dict[int, list[Sample]]:
    """Return samples of the live runs of several jobs, thinned as in ``thinned``. The keys of the result are job ids."""
    live = select(Run.id, Run.job_id).where(Run.job_id.in_(job_ids), Run.ended_at.is_(None))
    job_of = pairs(session, live)
    found: dict[int, list[Sample]] = {}
    for sample in _thinned(session, live.with_only_columns(Run.id), since=since, until=until, step_s=step_s):
        if sample.run_id in job_of:
            found.setdefault(job_of[sample.run_id], []).append(sample)
    return found


def _thinned(session: Session, runs: Select[int], *, since: datetime, until: datetime, step_s: float) -> list[Sample]:
    """Read only one sample per slot and step, through an index. The cost of the query depends on the number of steps, not on the number of
    stored samples."""
    run = runs.subquery()
    of_run = MetricSample.run_id == run.c.id
    reported = (
        select(func.min(MetricSample.at).label("first"), func.max(MetricSample.at).label("last"))
        .where(of_run, MetricSample.at >= since, MetricSample.at <= until)
        .lateral()
    )
    widest = select(func.max(MetricSample.slot).label("slot")).where(of_run).lateral()
    slot = func.generate_series(0, widest.c.slot).table_valued("number").render_derived()
    step = (
        func.generate_series(_step(reported.c.first, step_s), _step(reported.c.last, step_s))
        .table_valued("number")
        .render_derived()
    )
    number = cast(step.c.number, Float)
    newest = (
        select(MetricSample.run_id, MetricSample.slot, MetricSample.at, cast(MetricSample.metrics, Text).label("metrics"))
        .where(
            of_run,
            MetricSample.slot == slot.c.number,
            MetricSample.at >= func.greatest(since, func.to_timestamp(number * step_s)),
            MetricSample.at < func.to_timestamp((number + 1) * step_s),
            MetricSample.at <= until,
        )
        .order_by(MetricSample.at.desc())
        .limit(1)
        .lateral()
    )
    every = true()
    query = (
        select(newest.c.run_id, newest.c.slot, newest.c.at, newest.c.metrics)
        .select_from(run.join(reported, every).join(widest, every).join(slot, every).join(step, every).join(newest, every))
        .order_by(newest.c.at, newest.c.run_id, newest.c.slot)
    )
    # Use the parser of pydantic, because there can be thousands of rows and pydantic takes half the time of ``json``.
    return [Sample(run_id, slot, at, from_json(metrics)) for run_id, slot, at, metrics in session.execute(query)]


def _step(moment: ColumnElement[datetime], step_s: float) -> ColumnElement[int]:
    return cast(func.floor(cast(func.extract("epoch", moment), Float) / step_s), BigInteger)


def first_live(session: Session, count: int) -> Sequence[int]:
    """Return the first ``count`` jobs that have a live run, ordered by id."""
    return session.scalars(select(Run.job_id).where(Run.ended_at.is_(None)).distinct().order_by(Run.job_id).limit(count)).all()


def edges_of(session: Session, job_ids: Collection[int]) -> dict[int, Any]:
    """Return, for each job, the edges of the graph of its live run."""
    query = select(Run.job_id, Graph.body["edges"]).join(Graph, Run.graph_id == Graph.id)
    return pairs(session, query.where(Run.job_id.in_(job_ids), Run.ended_at.is_(None)))


def running_graphs(session: Session, job_ids: Collection[int]) -> Sequence[Row[int, Any, Any]]:
    """For each of the jobs whose live run is RUNNING, return the chains and the edges of its graph."""
    query = select(Run.job_id, Graph.body["chains"].label("chains"), Graph.body["edges"].label("edges"))
    running = (Run.job_id.in_(job_ids), Run.ended_at.is_(None), Run.state == RunState.RUNNING)
    return session.execute(query.join(Graph, Run.graph_id == Graph.id).where(*running)).all()


def newest_graph(session: Session, job_id: int) -> tuple[int, dict[str, Any]] | None:
    query = select(Graph.id, Graph.body).join(Run, Run.graph_id == Graph.id).where(Run.job_id == job_id)
    found = session.execute(query.order_by(Run.number.desc()).limit(1)).one_or_none()
    return None if found is None else (found.id, found.body)


def other_graphs(session: Session, job_id: int, *, since: datetime, graph_id: int) -> Sequence[Row[int, Any]]:
    """Return the id and the body of each graph that the job has used since the time ``since``. Leave out the graph ``graph_id``."""
    used = _runs_since(select(Run.graph_id), job_id, since).where(Run.graph_id != graph_id)
    return session.execute(select(Graph.id, Graph.body).where(Graph.id.in_(used))).all()


def _runs_since(query: Select[Any], job_id: int, since: datetime) -> Select[Any]:
    return query.where(Run.job_id == job_id, or_(Run.ended_at.is_(None), Run.ended_at >= since))


# ---- for Prometheus ----------------------------------------------------------------------------


def jobs(session: Session) -> Sequence[Row[Any]]:
    """Return the jobs that are not deleted, with id, name, desired state, the counters of checkpoints, and the state of the newest run."""
    newest = (
        select(Run.job_id, Run.state)
        .ext(distinct_on(Run.job_id))
        .order_by(Run.job_id, Run.number.desc())
        .subquery()
    )  # fmt: skip
    return session.execute(
        select(Job.id, Job.name, Job.desired_state, Job.completed_checkpoints, Job.failed_checkpoints, newest.c.state)
        .outerjoin(newest, newest.c.job_id == Job.id)
        .where(Job.deleted_at.is_(None))
        .order_by(Job.id)
    ).all()


def checkpoints_in_progress(session: Session) -> dict[int, int]:
    """Count the checkpoints in progress by job. An index contains only these checkpoints, which are few."""
    in_progress = Checkpoint.state == CheckpointState.IN_PROGRESS
    return pairs(session, select(Checkpoint.job_id, func.count()).where(in_progress).group_by(Checkpoint.job_id))


def last_checkpoints(session: Session) -> Sequence[Row[int, int, int | None, int | None, int | None, datetime | None]]:
    """Return the last completed checkpoint of each job. The query reads one row per job, however many checkpoints are stored."""
    last = (
        select(
            Checkpoint.job_id, Checkpoint.number, Checkpoint.end_to_end_ms, Checkpoint.state_bytes, Checkpoint.checkpointed_bytes,
            Checkpoint.completed_at,
        )
        .where(Checkpoint.job_id == Job.id, Checkpoint.state == CheckpointState.COMPLETED)
        .order_by(Checkpoint.number.desc())
        .limit(1)
        .lateral()
    )  # fmt: skip
    return session.execute(select(*last.c).select_from(Job).join(last, true()).where(Job.deleted_at.is_(None))).all()


def recoveries(session: Session) -> Sequence[Row[int, int, int]]:
    """Return the number of recoveries and the total downtime of each job, including failures whose rows are deleted."""
    kept = (
        select(Failure.job_id, func.count().label("count"), func.sum(Failure.downtime_ms).label("downtime_ms"))
        .where(Failure.recovery != "none")
        .group_by(Failure.job_id)
        .subquery()
    )
    return session.execute(
        select(
            Job.id.label("job_id"),
            (Job.pruned_recoveries + func.coalesce(kept.c.count, 0)).label("count"),
            (Job.pruned_downtime_ms + func.coalesce(kept.c.downtime_ms, 0)).label("downtime_ms"),
        )
        .outerjoin(kept, kept.c.job_id == Job.id)
        .where(Job.deleted_at.is_(None))
    ).all()


def firing_alerts(session: Session) -> Sequence[Row[int, AlertKind, str, int]]:
    """Count firing alerts by job, kind and name of the rule. A count can exceed 1, because several rules can have the same name."""
    return session.execute(
        select(Alert.job_id, Alert.kind, Alert.rule_name, func.count().label("count"))
        .where(Alert.state == AlertState.FIRING)
        .group_by(Alert.job_id, Alert.kind, Alert.rule_name)
        .order_by(Alert.job_id, Alert.kind, Alert.rule_name)
    ).all()


def deliveries(session: Session) -> Sequence[Row[str, DeliveryState | None, int]]:
    """Count the stored deliveries of each webhook by state. A webhook without deliveries has one row without a state."""
    return session.execute(
        select(Webhook.name, Delivery.state, func.count(Delivery.id).label("count"))
        .outerjoin(Delivery, Delivery.webhook_id == Webhook.id)
        .group_by(Webhook.name, Delivery.state)
        .order_by(Webhook.name, Delivery.state)
    ).all()


def chains(session: Session) -> Sequence[Row[int, Any]]:
    """Return, for each live run, the stored chains of the graph that the run has deployed."""
    query = select(Run.job_id, Graph.body["chains"].label("chains")).join(Graph, Run.graph_id == Graph.id)
    return session.execute(query.where(Run.ended_at.is_(None)).order_by(Run.job_id)).all()


def newest_samples(session: Session, since: datetime) -> Sequence[Row[Any]]:
    """Return the newest sample of each slot of the live runs."""
    return session.execute(
        select(Run.job_id, MetricSample.slot, MetricSample.metrics)
        .ext(distinct_on(MetricSample.run_id, MetricSample.slot))
        .join(Run, Run.id == MetricSample.run_id)
        .where(Run.ended_at.is_(None), MetricSample.at >= since)
        .order_by(MetricSample.run_id, MetricSample.slot, MetricSample.at.desc())
    ).all()
