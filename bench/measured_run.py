"""A measured run of a job: warm up, measure for a while, suspend with a final checkpoint, check the result."""

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
from bench.checkpoint_reader import CheckpointContents, read_checkpoint
from bench.process_control import CpuSeconds, cpu_seconds
from weir import Job
from weir.connectors.stats_sink import Totals
from weir.coordinator.progress import CheckpointSummary, ProgressSnapshot
from weir.kernel.checkpoints import CheckpointKind
from weir.kernel.effects import JobOutcome
from weir.kernel.job import JobPhase
from weir.protocol.ids import SubtaskId
from weir.spark.launch import RunningJob, RunOptions, launch
from weir.spark.session import LazySession

POLL_S = 0.02
START_S_MAX = 120.0
WARM_UP_S_MAX = 300.0

Clock = Callable[[float], float]


class Workload(Protocol):
    @property
    def name(self) -> str: ...
    def job(self) -> Job: ...
    def find_error(self, contents: CheckpointContents, totals: Totals) -> str | None: ...


@dataclass(frozen=True, slots=True)
class RunMeasurement:
    """The measurements of one run.

    The measured time excludes start-up, warm-up and the final checkpoint. ``records``: the number of records that the source
    subtasks read in the measured time. ``seconds``: the mean time from the first to the last report of a source subtask (see
    ``rate_of``). ``watched_s``: seconds from ``MeasuredJob.begin`` to ``finish``, slightly
    more than ``seconds``. ``cpu``: CPU time during ``watched_s``. ``start_s``: seconds from the call of
    launch() until the job was running. ``checkpoints``: periodic checkpoints that completed in the measured time. ``wrong``:
    the error that the check of the result found.
    """

    records: int
    seconds: float
    watched_s: float
    cpu: CpuSeconds
    start_s: float
    checkpoints: tuple[CheckpointSummary, ...]
    aborted: int
    peak_rss_bytes: int
    totals: Totals
    """Totals of the sink since the newest checkpoint before the measured time. If no checkpoint precedes the
    measured time, the totals count from the start of the run."""
    wrong: str | None

    @property
    def records_per_s(self) -> float:
        return self.records / self.seconds

    @property
    def records_per_cpu_s(self) -> float:
        """Records per CPU second of the slots."""
        return self.records_per_s * self.watched_s / self.cpu.slots if self.cpu.slots else 0.0


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Settings of one run. ``interval_ms``: None means that only the final checkpoint is taken. ``warm_up_records``: the minimum
    number of records read before the measurement. ``poll_s``: the time between two looks at the progress, which cost CPU time.
    ``idle``: whether the source emits no records."""

    parallelism: int
    interval_ms: int | None
    seconds: float
    warm_up_s: float
    warm_up_records: int = 0
    poll_s: float = POLL_S
    idle: bool = False
    buffer_timeout_ms: float | None = None


def measure(workload: Workload, setting: RunSettings, session: LazySession, directory: Path) -> RunMeasurement:
    """Measure a run that runs alone on the machine. Raises SystemExit if the job fails."""
    with temporary_checkpoint_dir(directory) as where:
        job = MeasuredJob(workload, setting, session, where)
        until = time.monotonic() + setting.seconds
        while time.monotonic() < until:
            job.poll()
        return job.finish()


@contextmanager
def temporary_checkpoint_dir(directory: Path) -> Iterator[Path]:
    """Create a temporary directory, so that concurrent benchmarks do not use each other's checkpoints."""
    directory.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="checkpoints-", dir=directory) as where:
        yield Path(where)


class MeasuredJob:
    """A running job that has warmed up.

    The caller calls ``poll`` repeatedly while it measures, then ``finish``. The measured time starts in the constructor, and
    ``begin`` restarts it. All methods raise SystemExit if the job fails.
    """

    def __init__(self, workload: Workload, setting: RunSettings, session: LazySession, where: Path) -> None:
        self._workload, self._setting, self._where = workload, setting, where
        self._job = workload.job()
        options = RunOptions(
            checkpoint_dir=str(where),
            parallelism=setting.parallelism,
            interval_ms=setting.interval_ms,
            buffer_timeout_ms=setting.buffer_timeout_ms,
            by_value=(bench.wordcount,),
        )
        began = time.monotonic()
        self._running = launch(self._job, options, session=session)
        _wait_until(self._running, lambda now: now.phase is JobPhase.RUNNING, START_S_MAX)
        self._start_s = time.monotonic() - began
        warm_at = time.monotonic() + setting.warm_up_s
        warm_up_records = -1 if setting.idle else setting.warm_up_records
        _wait_until(
            self._running, lambda now: now.records > warm_up_records and time.monotonic() >= warm_at, WARM_UP_S_MAX
        )  # fmt: skip
        self._reports: dict[SubtaskId, list[tuple[float, int]]] = {}
        sources = self._job.sources().keys()
        self._source_chains = {chain for chain, uid in self._running.progress().operators if uid in sources}
        self.begin()

    def begin(self) -> None:
        """Restart the measured time."""
        self._before = self._running.progress()
        self._totals_before = self._checkpoint_contents().totals if self._before.completed else Totals()
        self._reports.clear()
        self._cpu_before, self._watched_from = cpu_seconds(), time.monotonic()

    def poll(self) -> None:
        """Collect the reports of the source subtasks. Takes ``RunSettings.poll_s``."""
        now = time.monotonic()
        for subtask in self._running.progress().subtasks:
            if subtask.chain in self._source_chains:
                key = SubtaskId(subtask.chain, subtask.index)
                reports = self._reports.setdefault(key, [(now, subtask.records_in)])
                if subtask.records_in != reports[-1][1]:
                    reports.append((now, subtask.records_in))
        if self._running.wait(self._setting.poll_s) is not None:
            raise SystemExit("the job ended during the measurement. Give it more input.")

    def finish(self, measured: Clock = float) -> RunMeasurement:
        """Suspend the job, check its result and return the measurements. ``measured`` takes a time of ``time.monotonic`` and
        returns how many seconds were measured before this time. Pass ``measured`` for a run that takes turns with another run."""
        cpu, watched_s = cpu_seconds().since(self._cpu_before), measured(time.monotonic()) - measured(self._watched_from)
        records, seconds = (0, watched_s) if self._setting.idle else rate_of(self._reports.values(), measured)
        after = self._running.progress()
        self._running.suspend()
        result = self._running.wait()
        assert result is not None
        if result.outcome is not JobOutcome.SUSPENDED:
            raise SystemExit(f"{self._job.name}: {result.outcome} {result.kind} {result.reason}")
        totals = next(iter(result.results.values()))
        assert isinstance(totals, Totals)
        if self._setting.idle:
            wrong = f"the idle job has {totals.rows} results" if totals.rows else None
        else:
            wrong = self._workload.find_error(self._checkpoint_contents(), totals)
        if result.progress.recoveries and wrong is None:
            wrong = f"the job recovered from a failure during the run: {result.progress.recoveries[0].reason}"
        completed = after.completed[len(self._before.completed) :]
        return RunMeasurement(
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

    def _checkpoint_contents(self) -> CheckpointContents:
        return read_checkpoint(self._where, self._job.name, self._job.sources(), self._setting.parallelism)


def _since(totals: Totals, before: Totals) -> Totals:
    latency = {bucket: rows - before.latency.get(bucket, 0) for bucket, rows in totals.latency.items()}
    return Totals(totals.rows - before.rows, totals.sums, latency)


class _Condition(Protocol):
    def __call__(self, now: ProgressSnapshot) -> bool: ...


def _wait_until(running: RunningJob, condition: _Condition, timeout_s: float) -> None:
    until = time.monotonic() + timeout_s
    while not condition(running.progress()):
        ended = running.wait(POLL_S)
        if ended is not None:
            raise SystemExit(f"the job ended during warm-up: {ended.outcome} {ended.kind} {ended.reason}")
        if time.monotonic() > until:
            raise SystemExit(f"the job did not reach the expected state within {timeout_s:.0f} s: {running.progress()}")


def rate_of(reports: Iterable[Sequence[tuple[float, int]]], measured: Clock) -> tuple[int, float]:
    """Return how many records all source subtasks read, and in how many seconds.

    For each source subtask, the function takes the first and the last report in the measured time. The function counts the
    records and the seconds between these two reports. Slots report about once a second, at different moments. The returned seconds are
    the mean over the source subtasks.

    ``reports``: for each source subtask, the times at which a new number of records was observed. The first entry is the start
    of observation, not a report.
    """
    spans = [(subtask[1], subtask[-1]) for subtask in reports if len(subtask) > 2]
    if not spans:
        raise SystemExit("The sources read no records during the measured time.")
    lengths = [measured(end) - measured(begin) for (begin, _), (end, _) in spans]
    length = statistics.fmean(lengths)
    rate = sum((last - first) / took for ((_, first), (_, last)), took in zip(spans, lengths, strict=True))
    return round(rate * length), length
