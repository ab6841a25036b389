"""A measured run of a job: warm up, watch it for a while, stop it with a last checkpoint, check what came out."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
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

Clock = Callable[[float], float]


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
    """A run that has the machine to itself. Raises SystemExit if the job fails."""
    with measured_in(directory) as where:
        steady = Steady(workload, setting, session, where)
        until = time.monotonic() + setting.seconds
        while time.monotonic() < until:
            steady.look()
        return steady.end()


@contextmanager
def measured_in(directory: Path) -> Iterator[Path]:
    """A directory of its own: two benchmarks at a time disturb each other's numbers, but must not take each other's checkpoints."""
    directory.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="checkpoints-", dir=directory) as where:
        yield Path(where)


class Steady:
    """A job that runs and is warm. ``look`` at it, again and again, as long as it is to be measured; then ``end`` it. The measured time
    begins at once, or with the last ``begin``.

    All raise SystemExit if the job fails."""

    def __init__(self, workload: Workload, setting: Setting, session: LazySession, where: Path) -> None:
        self._workload, self._setting, self._where = workload, setting, where
        self._job = workload.job()
        options = RunOptions(
            checkpoint_dir=str(where),
            parallelism=setting.parallelism,
            interval_ms=setting.interval_ms,
            by_value=(bench.wordcount,),
        )
        began = time.monotonic()
        self._running = launch(self._job, options, session=session)
        _wait_until(self._running, lambda now: now.phase is JobPhase.RUNNING, START_S_MAX)
        self._start_s = time.monotonic() - began
        warm_at = time.monotonic() + setting.warm_up_s
        _wait_until(
            self._running, lambda now: now.records > setting.warm_up_records and time.monotonic() >= warm_at, WARM_UP_S_MAX
        )  # fmt: skip
        self._reports: dict[int, list[tuple[float, int]]] = {}
        self.begin()

    def begin(self) -> None:
        """The measured time begins now."""
        self._before = self._running.progress()
        self._totals_before = self._evidence().totals if self._before.completed else Totals()
        self._reports.clear()
        self._cpu_before, self._watched_from = cpu_seconds(), time.monotonic()

    def look(self) -> None:
        """Takes ``POLL_S``."""
        now = time.monotonic()
        for subtask in self._running.progress().subtasks:
            if subtask.chain == 0:
                seen = self._reports.setdefault(subtask.index, [(now, subtask.records_in)])
                if subtask.records_in != seen[-1][1]:
                    seen.append((now, subtask.records_in))
        if self._running.wait(POLL_S) is not None:
            raise SystemExit("the job ended while it was measured: give it more input")

    def end(self, measured: Clock = float) -> Run:
        """``measured``: which second of the measured time a moment of ``time.monotonic`` was, where it was not all of the time."""
        cpu, watched_s = cpu_seconds().since(self._cpu_before), measured(time.monotonic()) - measured(self._watched_from)
        records, seconds = rate_of(self._reports.values(), measured)
        after = self._running.progress()
        self._running.suspend()
        result = self._running.wait()
        assert result is not None
        if result.outcome is not Outcome.SUSPENDED:
            raise SystemExit(f"{self._job.name}: {result.outcome} {result.kind} {result.reason}")
        totals = next(iter(result.results.values()))
        assert isinstance(totals, Totals)
        wrong = self._workload.wrong(self._evidence(), totals)
        if result.progress.recoveries and wrong is None:
            wrong = f"the job failed and recovered in between: {result.progress.recoveries[0].reason}"
        completed = after.completed[len(self._before.completed) :]
        return Run(
            records=records,
            seconds=seconds,
            watched_s=watched_s,
            cpu=cpu,
            start_s=self._start_s,
            checkpoints=tuple(one for one in completed if one.kind == CheckpointKind.PERIODIC),
            aborted=len(after.aborted) - len(self._before.aborted),
            peak_rss_bytes=result.progress.peak_rss_bytes,
            totals=_since(totals, self._totals_before),
            wrong=wrong,
        )

    def _evidence(self) -> Evidence:
        return read_evidence(self._where, self._job.name, self._job.sources(), self._setting.parallelism)


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


def rate_of(reports: Iterable[Sequence[tuple[float, int]]], measured: Clock) -> tuple[int, float]:
    """Records of all source subtasks between their first and their last report of the measured time, and its length.

    Slots report twice a second, each at its own moment, so every source subtask is timed from report to report. ``reports``: of each
    source subtask, when which number of records was seen; the first entry is when we looked, not when the slot reported."""
    spans = [(seen[1], seen[-1]) for seen in reports if len(seen) > 2]
    if not spans:
        raise SystemExit("no records were read in the measured time")
    lengths = [measured(end) - measured(begin) for (begin, _), (end, _) in spans]
    length = statistics.fmean(lengths)
    rate = sum((last - first) / took for ((_, first), (_, last)), took in zip(spans, lengths, strict=True))
    return round(rate * length), length
