"""What Prometheus is shown of one running job. Pure: a snapshot in, families out. The names are those of the control plane's metrics."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from weir.coordinator.progress import Snapshot
from weir.protocol.lag import source_lags

_COUNTED = ("records_in", "records_out", "bytes_in", "bytes_out")
_TIMES = ("busy", "idle", "backpressured", "queued")


def exposition(job: str, snapshot: Snapshot) -> bytes:
    """In the text format of Prometheus."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_JobCollector(job, snapshot))
    return generate_latest(registry)


class _JobCollector:
    """A collector in the sense of prometheus_client: of one answer."""

    def __init__(self, job: str, snapshot: Snapshot) -> None:
        self._job = job
        self._now = snapshot

    def describe(self) -> Iterator[Metric]:
        return iter(())

    def collect(self) -> Iterator[Metric]:
        state = GaugeMetricFamily("weir_job_phase", "1 for the phase that the job is in", labels=["job", "phase"])
        state.add_metric([self._job, self._now.phase], 1)
        yield state
        yield self._gauge("weir_job_generation", "Grows with each recovery", self._now.generation)
        yield self._gauge(
            "weir_driver_slots_rss_bytes", "Largest resident memory of all slots together", self._now.peak_rss_bytes
        )
        yield from self._checkpoints()
        yield from self._recoveries()
        yield from self._subtasks()
        yield from self._slots()

    def _gauge(self, name: str, text: str, value: float) -> Metric:
        family = GaugeMetricFamily(name, text, labels=["job"])
        family.add_metric([self._job], value)
        return family

    def _counter(self, name: str, text: str, value: float) -> Metric:
        family = CounterMetricFamily(name, text, labels=["job"])
        family.add_metric([self._job], value)
        return family

    def _checkpoints(self) -> Iterator[Metric]:
        now = self._now
        yield self._counter("weir_job_checkpoints_completed", "By this driver", now.completed_total)
        yield self._counter("weir_job_checkpoints_failed", "By this driver", now.aborted_total)
        counts = {"in_progress": now.in_progress, "completed": now.completed_total, "failed": now.aborted_total}
        for word, count in counts.items():
            yield self._gauge(f"weir_job_number_of_{word}_checkpoints", "By this driver", count)
        if not now.completed:
            return
        last = now.completed[-1]
        yield self._gauge("weir_job_last_checkpoint_duration_seconds", "End to end", last.end_to_end_ms / 1_000)
        yield self._gauge("weir_job_last_checkpoint_size_bytes", "That it has written itself", last.checkpointed_bytes)
        yield self._gauge("weir_job_last_checkpoint_full_size_bytes", "All that it refers to", last.state_bytes)
        yield self._gauge("weir_job_last_completed_checkpoint_id", "Its number in the job", last.checkpoint)
        assert now.last_completed_age_ms is not None
        yield self._gauge(
            "weir_job_last_completed_checkpoint_age_seconds",
            "Grows when checkpoints stop appearing",
            now.last_completed_age_ms / 1_000,
        )

    def _recoveries(self) -> Iterator[Metric]:
        yield self._counter("weir_job_num_restarts", "Recoveries from failures, by this driver", self._now.recoveries_total)
        yield self._counter(
            "weir_job_recovery_downtime_seconds", "From failures until all ran again", self._now.downtime_total_ms / 1_000
        )

    def _subtasks(self) -> Iterator[Metric]:
        labels = ["job", "chain", "subtask"]
        counted = {name: CounterMetricFamily(f"weir_subtask_{name}", "Since its deployment", labels=labels) for name in _COUNTED}
        times = {
            name: CounterMetricFamily(f"weir_subtask_{name}_seconds", "Since its deployment", labels=labels) for name in _TIMES
        }
        for one in self._now.subtasks:
            of = [self._job, str(one.chain), str(one.index)]
            for name, family in counted.items():
                family.add_metric(of, getattr(one, name))
            for name, family in times.items():
                family.add_metric(of, getattr(one, f"{name}_us") / 1e6)
        yield from (*counted.values(), *times.values())
        operators = GaugeMetricFamily(
            "weir_chain_operator", "1 for each operator of a chain", labels=["job", "chain", "operator"]
        )
        for chain, uid in self._now.operators:
            operators.add_metric([self._job, str(chain), uid], 1)
        yield operators

    def _slots(self) -> Iterator[Metric]:
        memory = GaugeMetricFamily("weir_slot_rss_bytes", "Resident memory of the process", labels=["job", "slot"])
        gauges = GaugeMetricFamily("weir_operator_gauge", "What operators show", labels=["job", "slot", "gauge"])
        for one in self._now.slots:
            memory.add_metric([self._job, str(one.slot)], one.rss_bytes)
            for name, value in one.gauges.items():
                if isinstance(value, (int, float)):
                    gauges.add_metric([self._job, str(one.slot), name], value)
        yield from (memory, gauges)
        for unit, lags in zip(("records", "seconds"), source_lags(one.gauges for one in self._now.slots), strict=True):
            behind = GaugeMetricFamily(f"weir_source_lag_{unit}", "As the source tells it", labels=["job", "source"])
            for source, lag in lags.items():
                behind.add_metric([self._job, source], lag)
            yield behind
