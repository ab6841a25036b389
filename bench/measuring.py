"""One measured run of a job: warm up, watch it for a while, stop it with a last checkpoint, check what came out."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import bench.wordcount
from bench.evidence import Evidence, read_evidence
from bench.processes import CpuSeconds, cpu_seconds
from weir import Job
from weir.connectors.stats import Totals
from weir.coordinator.progress import CheckpointSummary, Snapshot
from weir.kernel.checkpoints import CheckpointKind
from weir.kernel.effects import Outcome
from weir.kernel.job import JobPhase
from weir.spark.launch import RunningJob, RunOptions, launch
from weir.spark.planner import LazySession

POLL_S = 0.02
START_S_MAX = 120.0
WARM_UP_S_MAX = 300.0


class Workload(Protocol):
    @property
    def name(self) -> str: ...
    def job(self) -> Job: ...
    def wrong(self, evidence: Evidence, totals: Totals) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Run:
    """``records`` of source input in ``seconds`` of steady state, by what the source subtasks themselves reported: start-up,
    warm-up and the last checkpoint are not in it. ``cpu``: in ``watched_s``, which begins before the first report and ends
    after the last one, so it is a little longer than ``seconds``. ``start_s``: from launch() until the job ran.
    ``checkpoints``: periodic ones that completed in that time. ``wrong``: what the check of the result found."""

    records: int
    seconds: float
    watched_s: float
    cpu: CpuSeconds
    start_s: float
    checkpoints: tuple[CheckpointSummary, ...]
    aborted: int
    peak_rss_bytes: int
    totals: Totals
    """Of the sink, from the newest checkpoint before the measured time on (from the start, if there was none)."""
    wrong: str | None

    @property
    def records_per_s(self) -> float:
        return self.records / self.seconds

    @property
    def records_per_cpu_s(self) -> float:
        """A second of one core, spent by the slots."""
        return self.records_per_s * self.watched_s / self.cpu.slots if self.cpu.slots else 0.0


@dataclass(frozen=True, slots=True)
class Setting:
    """``interval_ms`` None: no checkpoints but the last one. ``warm_up_records``: at least so many are read before measuring."""

    parallelism: int
    interval_ms: int | None
    seconds: float
    warm_up_s: float
    warm_up_records: int = 0


def measure(workload: Workload, setting: Setting, session: LazySession, directory: Path) -> Run:
    """Raises SystemExit if the job fails."""
    directory.mkdir(parents=True, exist_ok=True)
    # A directory of its own: two benchmarks at a time disturb each other's numbers, but must not take each other's checkpoints.
    with TemporaryDirectory(prefix="checkpoints-", dir=directory) as where:
        return _measure(workload, setting, session, Path(where))


def _measure(workload: Workload, setting: Setting, session: LazySession, where: Path) -> Run:
    job = workload.job()
    options = RunOptions(
        checkpoint_dir=str(where),
        parallelism=setting.parallelism,
        interval_ms=setting.interval_ms,
        by_value=(bench.wordcount,),
    )
    began = time.monotonic()
    running = launch(job, options, session=session)
    _wait_until(running, lambda now: now.phase is JobPhase.RUNNING, START_S_MAX)
    start_s = time.monotonic() - began
    warm_at = time.monotonic() + setting.warm_up_s
    _wait_until(running, lambda now: now.records > setting.warm_up_records and time.monotonic() >= warm_at, WARM_UP_S_MAX)
    before = running.progress()
    totals_before = Totals()
    if before.completed:
        totals_before = read_evidence(where, job.name, job.sources(), setting.parallelism).totals
    cpu_before, watched_from = cpu_seconds(), time.monotonic()
    records, seconds = _watch(running, setting.seconds)
    cpu, watched_s = cpu_seconds().since(cpu_before), time.monotonic() - watched_from
    after = running.progress()
    running.suspend()
    result = running.wait()
    assert result is not None
    if result.outcome is not Outcome.SUSPENDED:
        raise SystemExit(f"{job.name}: {result.outcome} {result.kind} {result.reason}")
    totals = next(iter(result.results.values()))
    assert isinstance(totals, Totals)
    evidence = read_evidence(where, job.name, job.sources(), setting.parallelism)
    wrong = workload.wrong(evidence, totals)
    if result.progress.recoveries and wrong is None:
        wrong = f"the job failed and recovered in between: {result.progress.recoveries[0].reason}"
    completed = after.completed[len(before.completed) :]
    return Run(
        records=records,
        seconds=seconds,
        watched_s=watched_s,
        cpu=cpu,
        start_s=start_s,
        checkpoints=tuple(one for one in completed if one.kind == CheckpointKind.PERIODIC),
        aborted=len(after.aborted) - len(before.aborted),
        peak_rss_bytes=result.progress.peak_rss_bytes,
        totals=_since(totals, totals_before),
        wrong=wrong,
    )


def _since(totals: Totals, before: Totals) -> Totals:
    latency = {bucket: rows - before.latency.get(bucket, 0) for bucket, rows in totals.latency.items()}
    return Totals(totals.rows - before.rows, totals.sums, latency)


class _Condition(Protocol):
    def __call__(self, now: Snapshot) -> bool: ...


def _wait_until(running: RunningJob, condition: _Condition, timeout_s: float) -> None:
    until = time.monotonic() + timeout_s
    while not condition(running.progress()):
        ended = running.wait(POLL_S)
        if ended is not None:
            raise SystemExit(f"the job ended while it was warming up: {ended.outcome} {ended.kind} {ended.reason}")
        if time.monotonic() > until:
            raise SystemExit(f"the job is not where it should be after {timeout_s:.0f} s: {running.progress()}")


def _watch(running: RunningJob, seconds: float) -> tuple[int, float]:
    """Records of all source subtasks between their first and their last report of the measured time, and its length.

    Slots report twice a second, each at its own moment, so every source subtask is timed from report to report."""
    reports: dict[int, list[tuple[float, int]]] = {}
    until = time.monotonic() + seconds
    while (now := time.monotonic()) < until:
        for subtask in running.progress().subtasks:
            if subtask.chain == 0:
                seen = reports.setdefault(subtask.index, [(now, subtask.records_in)])
                if subtask.records_in != seen[-1][1]:
                    seen.append((now, subtask.records_in))
        if running.wait(POLL_S) is not None:
            raise SystemExit("the job ended while it was measured: give it more input")
    # The first entry is when we looked, not when the slot reported.
    spans = [(seen[1], seen[-1]) for seen in reports.values() if len(seen) > 2]
    if not spans:
        raise SystemExit(f"no records were read in {seconds:.0f} s")
    length = statistics.fmean(end - begin for (begin, _), (end, _) in spans)
    rate = sum((last - first) / (end - begin) for (begin, first), (end, last) in spans)
    return round(rate * length), length
