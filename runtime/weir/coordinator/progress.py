"""Progress and history of a running job, for the progress line, the summary and the metrics endpoint."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from weir.kernel.effects import Finish, JobOutcome, Report, ReportKind
from weir.kernel.job import JobPhase
from weir.protocol.events import RecoveryStrategy
from weir.protocol.ids import CheckpointId, Generation, OperatorUid, SlotIndex
from weir.protocol.messages import FromSlot, Restoring, SlotMetrics, SubtaskMetrics, describe_restores


@dataclass(frozen=True, slots=True)
class CheckpointSummary:
    """A completed checkpoint. ``*_ms`` are durations in ms, ``*_us`` in microseconds. Tuples have one value for each subtask.
    ``checkpointed_bytes``: size of the files that this checkpoint has written."""

    checkpoint: CheckpointId
    kind: str
    end_to_end_ms: int
    state_bytes: int
    checkpointed_bytes: int
    alignment_ms_max: float
    sync_us: tuple[int, ...]
    sync_cpu_us: tuple[int, ...]
    sync_core_wait_us: tuple[int, ...]
    async_ms_max: float
    longest_batch_ms_max: float
    longest_batch_core_wait_ms: float
    """How long the loop waited for a CPU core during the longest batch."""


@dataclass(frozen=True, slots=True)
class RecoverySummary:
    generation: Generation
    reason: str
    took_ms: int
    strategy: RecoveryStrategy = RecoveryStrategy.FULL


@dataclass(frozen=True, slots=True)
class ProgressSnapshot:
    """A consistent view of a job.

    ``records`` is the number of records that the sources have read: up to the restored checkpoint, and since then. After a
    recovery or a rollback, it goes back to the number of the restored checkpoint. At the end of a finished or suspended job, it is
    the number of the last checkpoint. If an older version of Weir took the restored checkpoint, this number is unknown, and
    ``records`` counts from 0. The counters ``*_total`` are 0 when the driver starts. ``completed``, ``aborted``, ``recoveries``
    and ``warnings`` each contain at most the newest ``HISTORY_MAX`` items.
    """

    phase: JobPhase
    generation: Generation
    records: int
    backpressured_ratio_max: float
    completed: tuple[CheckpointSummary, ...]
    aborted: tuple[str, ...]
    recoveries: tuple[RecoverySummary, ...]
    peak_rss_bytes: int
    subtasks: tuple[SubtaskMetrics, ...]
    completed_total: int
    aborted_total: int
    recoveries_total: int
    downtime_total_ms: int
    last_completed_age_ms: int | None
    """The age of the newest completed checkpoint in ms, or None if no checkpoint has completed yet."""
    in_progress: int
    """Number of pending checkpoints."""
    slots: tuple[SlotMetrics, ...]
    """The newest metrics of each slot of the running generation."""
    operators: tuple[tuple[int, OperatorUid], ...]
    """Each operator with the index of its chain."""
    warnings: tuple[str, ...] = ()
    waiting: str = ""
    """The reason why the job does not run yet, or an empty string."""
    restores: tuple[Restoring, ...] = ()
    """The newest restore progress of each slot, or an empty tuple if the job is not being deployed."""


HISTORY_MAX = 1_000
"""Maximum length of each history. Without a limit, a job that runs for months would need ever more memory."""


@dataclass(slots=True)
class JobProgress:
    """A listener that the coordinator's loop updates, and that any thread can read."""

    source_chains: frozenset[int]
    operators: tuple[tuple[int, OperatorUid], ...] = ()
    """See ``ProgressSnapshot.operators``."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _phase: JobPhase = JobPhase.CREATED
    _generation: Generation = Generation(0)
    _restored_records: int = 0
    """The number of records up to the checkpoint that the generation restores."""
    _completed_records: int = 0
    """The number of records up to the newest checkpoint. The metrics of the slots can be older than this checkpoint."""
    _outcome: JobOutcome | None = None
    _metrics: dict[SlotIndex, SlotMetrics] = field(default_factory=dict)
    _previous: dict[SlotIndex, SlotMetrics] = field(default_factory=dict)
    _completed: list[CheckpointSummary] = field(default_factory=list)
    _aborted: list[str] = field(default_factory=list)
    _recoveries: list[RecoverySummary] = field(default_factory=list)
    _restores: dict[SlotIndex, Restoring] = field(default_factory=dict)
    _warnings: list[str] = field(default_factory=list)
    _failure: str = ""
    _waiting: str = ""
    _completed_total: int = 0
    _aborted_total: int = 0
    _recoveries_total: int = 0
    _downtime_total_ms: int = 0
    _last_completed_ms: int | None = None
    _in_progress: set[CheckpointId] = field(default_factory=set)
    _peak_rss: dict[SlotIndex, int] = field(default_factory=dict)

    def on_phase(self, phase: JobPhase, generation: Generation) -> None:
        with self._lock:
            if (phase, generation) != (self._phase, self._generation):
                self._waiting = ""
                self._restores.clear()
            self._phase, self._generation = phase, generation

    def on_finish(self, finish: Finish) -> None:
        with self._lock:
            self._outcome = finish.outcome

    def on_message(self, message: FromSlot) -> None:
        if isinstance(message, SlotMetrics):
            self._on_metrics(message)
        elif isinstance(message, Restoring):
            with self._lock:
                if message.generation == self._generation and self._phase is JobPhase.DEPLOYING:
                    self._restores[message.slot] = message

    def _on_metrics(self, metrics: SlotMetrics) -> None:
        with self._lock:
            if metrics.generation == self._generation:
                previous = self._metrics.get(metrics.slot)
                if previous is not None:
                    self._previous[metrics.slot] = previous
                self._metrics[metrics.slot] = metrics
            self._peak_rss[metrics.slot] = max(self._peak_rss.get(metrics.slot, 0), metrics.rss_bytes)

    def on_report(self, report: Report) -> None:
        with self._lock:
            match report.kind:
                case ReportKind.STARTING:
                    assert report.generation is not None
                    self._generation = report.generation
                    self._restored_records = self._completed_records = report.records
                    self._metrics.clear()
                    self._previous.clear()
                    self._in_progress.clear()
                case ReportKind.FAILURE:
                    self._failure = report.text
                case ReportKind.WAITING_FOR_SLOTS | ReportKind.RETRYING:
                    if self._phase is not JobPhase.RUNNING:
                        self._waiting = report.text
                case ReportKind.SLOW:
                    pass
                case ReportKind.WARNING:
                    self._warnings.append(report.text)
                case ReportKind.REPLACING:
                    assert report.slot is not None
                    self._restored_records += report.records
                    self._metrics.pop(report.slot, None)
                    self._previous.pop(report.slot, None)
                case ReportKind.RECOVERED:
                    assert report.generation is not None and report.value_ms is not None
                    self._recoveries.append(RecoverySummary(report.generation, self._failure, report.value_ms, report.strategy))
                    self._recoveries_total += 1
                    self._downtime_total_ms += report.value_ms
                case ReportKind.CHECKPOINT_ABORTED:
                    assert report.checkpoint is not None
                    self._in_progress.discard(report.checkpoint)
                    self._aborted.append(f"checkpoint {report.checkpoint}: {report.text}")
                    self._aborted_total += 1
                case ReportKind.CHECKPOINT_COMPLETED:
                    assert report.checkpoint is not None
                    self._in_progress.discard(report.checkpoint)
                    self._completed.append(_summary(report))
                    self._completed_total += 1
                    self._completed_records = report.records
                    self._last_completed_ms = _now_ms()
                case ReportKind.CHECKPOINT_TRIGGERED:
                    assert report.checkpoint is not None
                    self._in_progress.add(report.checkpoint)
            for history in (self._completed, self._aborted, self._recoveries, self._warnings):
                del history[:-HISTORY_MAX]

    def snapshot(self) -> ProgressSnapshot:
        with self._lock:
            subtasks = tuple(subtask for metrics in self._metrics.values() for subtask in metrics.subtasks)
            return ProgressSnapshot(
                phase=self._phase,
                generation=self._generation,
                records=self._records(subtasks),
                backpressured_ratio_max=self._backpressure(),
                completed=tuple(self._completed),
                aborted=tuple(self._aborted),
                recoveries=tuple(self._recoveries),
                peak_rss_bytes=max(self._peak_rss.values(), default=0),
                subtasks=subtasks,
                completed_total=self._completed_total,
                aborted_total=self._aborted_total,
                recoveries_total=self._recoveries_total,
                downtime_total_ms=self._downtime_total_ms,
                last_completed_age_ms=_now_ms() - self._last_completed_ms if self._last_completed_ms is not None else None,
                in_progress=len(self._in_progress),
                operators=self.operators,
                warnings=tuple(self._warnings),
                waiting=self._waiting,
                restores=tuple(self._restores.values()),
                slots=tuple(metrics for _, metrics in sorted(self._metrics.items())),
            )

    def _records(self, subtasks: Iterable[SubtaskMetrics]) -> int:
        if self._outcome in (JobOutcome.FINISHED, JobOutcome.SUSPENDED):
            # The sources can have read records after the last checkpoint. These records have no effect.
            return self._completed_records
        read = sum(subtask.records_in for subtask in subtasks if subtask.chain in self.source_chains)
        return max(self._restored_records + read, self._completed_records)

    def _backpressure(self) -> float:
        """Return the highest backpressured ratio of any subtask between its last two metrics messages."""
        worst = 0.0
        for slot, metrics in self._metrics.items():
            previous = self._previous.get(slot)
            earlier = {(subtask.chain, subtask.index): subtask for subtask in previous.subtasks} if previous else {}
            for subtask in metrics.subtasks:
                before = earlier.get((subtask.chain, subtask.index))
                if before is None:
                    continue
                elapsed_us = _age_us(subtask) - _age_us(before)
                if elapsed_us > 0:
                    worst = max(worst, (subtask.backpressured_us - before.backpressured_us) / elapsed_us)
        return worst


def describe(snapshot: ProgressSnapshot, rate: float) -> str:
    """Return a line such as ``running     1.2 M records/s  8.4 M records  checkpoint 12 (31 ms)  backpressure 4%``."""
    parts = [f"{snapshot.phase:<10}"]
    if snapshot.phase is JobPhase.RUNNING:
        parts.append(f"{_short(rate)} records/s")
    parts.append(f"{_short(snapshot.records)} records")
    if snapshot.completed:
        last = snapshot.completed[-1]
        parts.append(f"checkpoint {last.checkpoint} ({last.end_to_end_ms} ms)")
    else:
        parts.append("no checkpoint yet")
    parts.append(f"backpressure {snapshot.backpressured_ratio_max:.0%}")
    if snapshot.recoveries:
        parts.append(f"recovered {len(snapshot.recoveries)} x (last {snapshot.recoveries[-1].took_ms} ms)")
    if snapshot.restores:
        parts.append(describe_restores(snapshot.restores))
    if snapshot.waiting:
        parts.append(f"waiting: {snapshot.waiting}")
    return "  ".join(parts)


class RateMeter:
    """Measures the throughput of a job between two calls of ``rate``."""

    def __init__(self) -> None:
        self._at = time.monotonic()
        self._generation = Generation(0)
        self._records = 0

    def line(self, snapshot: ProgressSnapshot) -> str:
        return describe(snapshot, self.rate(snapshot))

    def rate(self, snapshot: ProgressSnapshot) -> float:
        """Return the records per second since the last call. Return 0 for the first call in a generation, because the number of
        records begins with the records of the restored checkpoint."""
        at = time.monotonic()
        read = snapshot.records - self._records if snapshot.generation == self._generation else 0
        rate = max(0, read) / max(at - self._at, 1e-9)
        self._at, self._generation, self._records = at, snapshot.generation, snapshot.records
        return rate


def _short(number: float) -> str:
    for limit, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= limit:
            return f"{number / limit:.1f}{unit}"
    return f"{number:.0f}"


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000


def _age_us(subtask: SubtaskMetrics) -> int:
    return subtask.busy_us + subtask.idle_us + subtask.backpressured_us + subtask.queued_us


def _summary(report: Report) -> CheckpointSummary:
    assert report.pending is not None and report.checkpoint is not None and report.value_ms is not None
    assert report.generation is not None
    statistics = [snapshot.statistics for snapshot in report.pending.snapshots.values()]
    totals = report.pending.statistics
    slowest = max(statistics, key=lambda one: one.longest_batch_ms)
    return CheckpointSummary(
        checkpoint=report.checkpoint,
        kind=report.pending.kind,
        end_to_end_ms=report.value_ms,
        state_bytes=totals.state_bytes,
        checkpointed_bytes=totals.checkpointed_bytes,
        alignment_ms_max=totals.alignment_ms_max,
        sync_us=tuple(one.sync_us for one in statistics),
        sync_cpu_us=tuple(one.sync_cpu_us for one in statistics),
        sync_core_wait_us=tuple(one.sync_core_wait_us for one in statistics),
        async_ms_max=totals.async_ms_max,
        longest_batch_ms_max=slowest.longest_batch_ms,
        longest_batch_core_wait_ms=slowest.longest_batch_core_wait_ms,
    )
