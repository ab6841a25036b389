"""Convert rows to Prometheus metrics. Pure. Names of metrics end with their unit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from weir.protocol.lag import source_lags
from weir_backend.models import DeliveryState
from weir_backend.runs.graph import operators_by_chain

_COUNTED = {
    "records_in": "Records received since the subtask was deployed",
    "records_out": "Records sent since the subtask was deployed",
    "bytes_in": "Bytes received since the subtask was deployed",
    "bytes_out": "Bytes sent since the subtask was deployed",
}
_TIMES = {
    "busy": "Time in which the subtask processed records, since it was deployed",
    "idle": "Time in which the subtask had no input, since it was deployed",
    "backpressured": "Time in which the output of the subtask was full, since it was deployed",
    "queued": "Time in which the subtask waited for another subtask of its slot, since it was deployed",
}


@dataclass(frozen=True, slots=True)
class PlatformMetrics:
    """The rows from which the metrics are computed. ``at`` is the time of the request."""

    at: datetime
    jobs: Sequence[Any]
    in_progress: Mapping[int, int]
    last: Sequence[Any]
    recoveries: Sequence[Any]
    samples: Sequence[Any]
    alerts: Sequence[Any]
    deliveries: Sequence[Any]
    chains: Sequence[Any]


def _gauge(name: str, description: str, *labels: str) -> GaugeMetricFamily:
    """Return a gauge with the given labels, or with the label ``job`` if no labels are given."""
    return GaugeMetricFamily(name, description, labels=labels or ("job",))


class JobsCollector:
    """A ``prometheus_client`` collector that produces one response."""

    def __init__(self, metrics: PlatformMetrics) -> None:
        self._metrics = metrics
        self._names: dict[int, str] = {job.id: job.name for job in metrics.jobs}

    def collect(self) -> Iterator[Metric]:
        yield self._states()
        yield from self._checkpoints()
        yield from self._recoveries()
        yield from self._subtasks()
        yield from self._lags()
        yield self._operators()
        yield from self._alerts()

    def _states(self) -> Metric:
        family = _gauge(
            "weir_job_state", "Always 1. The label 'state' contains the state of the newest run of the job", "job", "state"
        )
        for job in self._metrics.jobs:
            family.add_metric([job.name, job.state.value if job.state is not None else "NONE"], 1)
        return family

    def _checkpoints(self) -> Iterator[Metric]:
        in_progress = _gauge(
            "weir_job_number_of_in_progress_checkpoints", "Number of checkpoints of the job that are in progress"
        )
        completed = _gauge(
            "weir_job_number_of_completed_checkpoints", "Checkpoints that the job has completed since it was created"
        )
        failed = _gauge("weir_job_number_of_failed_checkpoints", "Checkpoints of the job that have failed since it was created")
        for job in self._metrics.jobs:
            in_progress.add_metric([job.name], self._metrics.in_progress.get(job.id, 0))
            completed.add_metric([job.name], job.completed_checkpoints)
            failed.add_metric([job.name], job.failed_checkpoints)
        yield from (in_progress, completed, failed)
        duration = _gauge("weir_job_last_checkpoint_duration_seconds", "End-to-end duration of the last completed checkpoint")
        written = _gauge("weir_job_last_checkpoint_size_bytes", "Bytes that the last completed checkpoint wrote")
        size = _gauge("weir_job_last_checkpoint_full_size_bytes", "Bytes that the last completed checkpoint references")
        number = _gauge("weir_job_last_completed_checkpoint_id", "Number of the last completed checkpoint")
        age = _gauge("weir_job_last_completed_checkpoint_age_seconds", "Time since the last checkpoint completed")
        for row in self._metrics.last:
            if row.job_id in self._names:
                name = self._names[row.job_id]
                duration.add_metric([name], row.end_to_end_ms / 1000)
                if row.checkpointed_bytes is not None:
                    written.add_metric([name], row.checkpointed_bytes)
                size.add_metric([name], row.state_bytes)
                number.add_metric([name], row.number)
                age.add_metric([name], max(0.0, (self._metrics.at - row.completed_at).total_seconds()))
        yield from (duration, written, size, number, age)

    def _recoveries(self) -> Iterator[Metric]:
        restarts = CounterMetricFamily("weir_job_num_restarts", "Number of recoveries from failures", labels=["job"])
        downtime = CounterMetricFamily(
            "weir_job_recovery_downtime_seconds", "Total downtime: from each failure until all subtasks run again", labels=["job"]
        )
        found = {row.job_id: row for row in self._metrics.recoveries}
        for job_id, name in self._names.items():
            row = found.get(job_id)
            restarts.add_metric([name], row.count if row else 0)
            downtime.add_metric([name], float(row.downtime_ms or 0) / 1000 if row else 0)
        yield from (restarts, downtime)

    def _alerts(self) -> Iterator[Metric]:
        firing = _gauge("weir_job_alerts_firing", "Number of firing alerts of the job", "job", "kind", "rule")
        for row in self._metrics.alerts:
            if row.job_id in self._names:
                firing.add_metric([self._names[row.job_id], row.kind.value, row.rule_name], row.count)
        counted = Counter({(row.name, row.state): row.count for row in self._metrics.deliveries})
        messages = _gauge("weir_webhook_messages", "Number of messages to the webhook by state", "webhook", "state")
        for webhook in sorted({row.name for row in self._metrics.deliveries}):
            for state in DeliveryState:
                messages.add_metric([webhook, state.value.lower()], counted[webhook, state])
        yield from (firing, messages)

    def _subtasks(self) -> Iterator[Metric]:
        labels = ["job", "chain", "subtask"]
        counted = {name: CounterMetricFamily(f"weir_subtask_{name}", text, labels=labels) for name, text in _COUNTED.items()}
        times = {name: CounterMetricFamily(f"weir_subtask_{name}_seconds", text, labels=labels) for name, text in _TIMES.items()}
        memory = _gauge("weir_slot_rss_bytes", "Resident memory of the slot", "job", "slot")
        gauges = _gauge("weir_operator_gauge", "Gauges that operators report", "job", "slot", "gauge")
        for row in self._metrics.samples:
            job = self._names.get(row.job_id)
            if job is None:
                continue
            memory.add_metric([job, str(row.slot)], row.metrics["rss_bytes"])
            for name, value in row.metrics["gauges"].items():
                if type(value) in (int, float):
                    gauges.add_metric([job, str(row.slot), name], value)
            for one in row.metrics["subtasks"]:
                of = [job, str(one["chain"]), str(one["index"])]
                for name, family in counted.items():
                    family.add_metric(of, one[name])
                for name, family in times.items():
                    family.add_metric(of, one[f"{name}_us"] / 1e6)
        yield from (*counted.values(), *times.values(), memory, gauges)

    def _lags(self) -> Iterator[Metric]:
        gauges_of: dict[int, list[Any]] = {}
        for row in self._metrics.samples:
            gauges_of.setdefault(row.job_id, []).append(row.metrics["gauges"])
        lags = {self._names[job_id]: source_lags(gauges) for job_id, gauges in gauges_of.items() if job_id in self._names}
        for index, unit in enumerate(("records", "seconds")):
            family = _gauge(f"weir_source_lag_{unit}", f"How far the source is behind its input, in {unit}", "job", "source")
            for job, found in lags.items():
                for source, lag in found[index].items():
                    family.add_metric([job, source], lag)
            yield family

    def _operators(self) -> Metric:
        family = _gauge(
            "weir_chain_operator",
            "Always 1. The label 'operator' contains the uid of an operator of the chain",
            "job",
            "chain",
            "operator",
        )
        for row in self._metrics.chains:
            if row.job_id in self._names:
                for chain, operators in operators_by_chain({"chains": row.chains}).items():
                    # Omit duplicate operators, because a duplicate sample would make the whole response invalid.
                    for uid in dict.fromkeys(one.uid for one in operators):
                        family.add_metric([self._names[row.job_id], str(chain), uid], 1)
        return family
