"""Metrics for charts and for Prometheus."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from sqlalchemy.orm import Session

from weir_backend.errors import Invalid
from weir_backend.jobs.service import check_exists
from weir_backend.kit.clock import now
from weir_backend.metrics import repository
from weir_backend.metrics.current import rates_of
from weir_backend.metrics.diagnosis import Diagnosis, deployed_chains, diagnose
from weir_backend.metrics.exposition import JobsCollector, PlatformMetrics
from weir_backend.metrics.schemas import BottleneckRead, JobRatesRead, MetricsRead, SlotSeriesRead, SubtaskSeriesRead
from weir_backend.metrics.series import SlotSeries, SubtaskSeries, series_of
from weir_backend.runs.graph import OperatorName, operators_by_chain
from weir_backend.runs.schemas import OperatorNameRead

DEFAULT_RANGE = timedelta(minutes=15)
POINTS_MAX = 360
LIVE = timedelta(minutes=1)
"""The response to Prometheus omits slots whose newest sample is older than ``LIVE``."""
RECENT, RECENT_STEP_S = timedelta(seconds=90), 20.0
"""The samples in which ``diagnose_jobs`` looks for a bottleneck and for growing lag."""
HISTORY, HISTORY_STEP_S = timedelta(minutes=30), 60.0
"""The samples in which ``diagnose_jobs`` looks for the beginning of a bottleneck."""
RATES_OVER = timedelta(seconds=30)
RATES_STEP_S = 10.0
"""The length of a step, in seconds. A current rate is an average over the time between the last samples of two steps. A step contains
several samples, because slots send a sample every few seconds."""


def job_metrics(session: Session, job_id: int, *, since: datetime | None, step_s: float, chain: int | None = None) -> MetricsRead:
    """Return the time series of a job. If ``chain`` is given, return only the series of its subtasks. Raises NotFound, Invalid."""
    check_exists(session, job_id)
    until = now()
    begin = until - DEFAULT_RANGE if since is None else since
    if begin >= until:
        raise Invalid("invalid", "since: the time is in the future.")
    step_s = max(step_s, (until - begin).total_seconds() / POINTS_MAX)
    # Also read samples from before the first point, because each point is a difference between two samples.
    first = _before(begin, 2 * step_s)
    names, graphs = _chains(session, job_id, first)
    samples = repository.thinned(session, job_id, since=first, until=until, step_s=step_s, graphs=graphs)
    found = series_of(samples, since=begin)
    operators = {chain: [OperatorNameRead(uid=one.uid, name=one.name) for one in operators] for chain, operators in names.items()}
    # Skip the validation by pydantic, because this service has computed the values itself.
    return MetricsRead.model_construct(
        since=begin,
        until=until,
        step_s=step_s,
        subtasks=[_subtask(one, operators.get(one.chain, [])) for one in found.subtasks if chain in (None, one.chain)],
        slots=[_slot(one) for one in found.slots],
        bottleneck=BottleneckRead.of(diagnose_jobs(session, [job_id], until).get(job_id, Diagnosis()), until),
    )


def _chains(session: Session, job_id: int, since: datetime) -> tuple[Mapping[int, list[OperatorName]], list[int] | None]:
    """Return the chains of the newest graph, and the ids of all graphs with the same chains, possibly with a different parallelism. The
    list of ids is None if all graphs of the job have the same chains. In a graph with other chains, the same chain number can mean a
    different chain."""
    newest = repository.newest_graph(session, job_id)
    if newest is None:
        return {}, None
    graph_id, body = newest
    names = operators_by_chain(body)
    others = repository.other_graphs(session, job_id, since=since, graph_id=graph_id)
    same_chains = [other.id for other in others if _uids(operators_by_chain(other.body)) == _uids(names)]
    # Do not filter by graph if all graphs have the same chains, because the query is then simpler. Most jobs have had only one graph.
    return names, None if len(same_chains) == len(others) else [graph_id, *same_chains]


def _uids(names: Mapping[int, list[OperatorName]]) -> dict[int, list[str]]:
    return {chain: [one.uid for one in operators] for chain, operators in names.items()}


def job_rates(session: Session, job_ids: Collection[int], *, jobs_max: int) -> list[JobRatesRead]:
    """Return the current rates of the jobs in ``job_ids``. If ``job_ids`` is empty, return the rates of the first ``jobs_max`` running jobs by
    id. Jobs without a recent sample are left out."""
    until = now()
    job_ids = job_ids or repository.first_live(session, jobs_max)
    samples = repository.thinned_of_live(session, job_ids, since=until - RATES_OVER, until=until, step_s=RATES_STEP_S)
    edges = repository.edges_of(session, samples.keys())
    found = {job_id: rates_of(series_of(own, since=until - RATES_OVER), edges.get(job_id)) for job_id, own in samples.items()}
    return [JobRatesRead.read(rates, job_id=job_id) for job_id, rates in sorted(found.items()) if rates is not None]


def diagnose_jobs(session: Session, job_ids: Collection[int], moment: datetime) -> dict[int, Diagnosis]:
    """Return the diagnosis of each of the jobs that is running and has reported recently. The number of queries does not depend on the number of
    jobs."""
    graphs = repository.running_graphs(session, job_ids)
    deployed = {graph.job_id: deployed_chains(graph.chains, graph.edges) for graph in graphs}
    if not deployed:
        return {}
    begin = moment - RECENT
    recent = repository.thinned_of_live(session, deployed.keys(), since=begin, until=moment, step_s=RECENT_STEP_S)
    found = {job_id: diagnose(own, deployed[job_id], now=moment) for job_id, own in recent.items()}
    limited = [job_id for job_id, one in found.items() if one.bottleneck is not None]
    if limited:
        # Only a few jobs have a bottleneck, so only their older samples are read.
        older = repository.thinned_of_live(session, limited, since=moment - HISTORY, until=begin, step_s=HISTORY_STEP_S)
        for job_id in older:
            found[job_id] = diagnose([*older[job_id], *recent[job_id]], deployed[job_id], now=moment)
    return found


def _before(moment: datetime, seconds: float) -> datetime:
    try:
        return moment - timedelta(seconds=seconds)
    except OverflowError:
        return moment


def _subtask(one: SubtaskSeries, operators: list[OperatorNameRead]) -> SubtaskSeriesRead:
    rates: dict[str, Any] = {f"{name}_per_s": values for name, values in one.per_s.items()}
    rates |= {f"{name}_ms_per_s": values for name, values in one.ms_per_s.items()}
    return SubtaskSeriesRead.model_construct(
        chain=one.chain,
        index=one.index,
        operators=operators,
        at=one.at,
        **rates,
        pressure_ms_per_s=one.pressure_ms_per_s,
        backpressure=one.backpressure,
    )


def _slot(one: SlotSeries) -> SlotSeriesRead:
    return SlotSeriesRead.model_construct(
        slot=one.slot, at=one.at, rss_bytes=one.rss_bytes, utilisation=one.utilisation, gauges=one.gauges
    )


def exposition(session: Session) -> bytes:
    """Return the metrics in the Prometheus text format."""
    moment = now()
    metrics = PlatformMetrics(
        moment,
        repository.jobs(session),
        repository.checkpoints_in_progress(session),
        repository.last_checkpoints(session),
        repository.recoveries(session),
        repository.newest_samples(session, moment - LIVE),
        repository.firing_alerts(session),
        repository.deliveries(session),
        repository.chains(session),
    )
    registry = CollectorRegistry(auto_describe=False)
    registry.register(JobsCollector(metrics))
    text: bytes = generate_latest(registry)
    return text
