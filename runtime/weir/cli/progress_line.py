"""What a person sees while a job runs: one line, kept up to date on a terminal, printed now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import structlog
from rich.console import Console
from rich.live import Live
from rich.text import Text

from weir.cli.logs import if_somebody_listens
from weir.coordinator.progress import Snapshot
from weir.kernel.job import JobPhase
from weir.spark.launch import JobResult, RunningJob

REFRESH_S = 0.5
PLAIN_EVERY_S = 10.0

log = structlog.get_logger(__name__)


def describe(now: Snapshot, rate: float) -> str:
    """``running  1.2 M records/s  8.4 M in this generation  checkpoint 12 (31 ms)  backpressure 4 %``"""
    parts = [f"{now.phase:<10}"]
    if now.phase is JobPhase.RUNNING:
        parts.append(f"{_short(rate)} records/s")
    parts.append(f"{_short(now.records)} records")
    if now.completed:
        last = now.completed[-1]
        parts.append(f"checkpoint {last.checkpoint} ({last.end_to_end_ms} ms)")
    else:
        parts.append("no checkpoint yet")
    parts.append(f"backpressure {now.backpressured_ratio_max:.0%}")
    if now.recoveries:
        parts.append(f"recovered {len(now.recoveries)} x (last {now.recoveries[-1].took_ms} ms)")
    return "  ".join(parts)


def follow(job: RunningJob, *, quiet: bool, as_json: bool) -> JobResult:
    """Until the job has ended. ``as_json``: progress goes into the log."""
    console = Console(stderr=True)
    meter = _Meter()
    if quiet:
        return _wait(job)
    if as_json:
        return _follow_now_and_then(job, lambda now: _log_progress(now, meter.rate(now)))
    if not console.is_terminal:
        return _follow_now_and_then(job, lambda now: print(meter.line(now), file=sys.stderr, flush=True))
    try:
        with Live(Text(""), console=console, refresh_per_second=4, transient=True) as live:
            while (result := job.wait(REFRESH_S)) is None:
                live.update(Text(meter.line(job.progress())))
            return result
    except OSError:
        # The terminal is gone, the job is not.
        return _wait(job)


def _follow_now_and_then(job: RunningJob, tell: Callable[[Snapshot], None]) -> JobResult:
    told_at = time.monotonic()
    while (result := job.wait(REFRESH_S)) is None:
        if time.monotonic() - told_at >= PLAIN_EVERY_S:
            told_at = time.monotonic()
            now = job.progress()
            with if_somebody_listens():
                tell(now)
    return result


def _log_progress(now: Snapshot, rate: float) -> None:
    log.info(
        "progress",
        phase=now.phase,
        generation=now.generation,
        records=now.records,
        records_per_s=round(rate),
        last_checkpoint=now.completed[-1].checkpoint if now.completed else None,
        backpressured_ratio_max=round(now.backpressured_ratio_max, 3),
        recoveries=len(now.recoveries),
    )


def _wait(job: RunningJob) -> JobResult:
    while (result := job.wait(REFRESH_S)) is None:
        pass
    return result


class _Meter:
    def __init__(self) -> None:
        self._at = time.monotonic()
        self._records = 0

    def line(self, now: Snapshot) -> str:
        return describe(now, self.rate(now))

    def rate(self, now: Snapshot) -> float:
        """Records a second since the last call."""
        at = time.monotonic()
        rate = max(0, now.records - self._records) / max(at - self._at, 1e-9)
        self._at, self._records = at, now.records
        return rate


def _short(number: float) -> str:
    for limit, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= limit:
            return f"{number / limit:.1f}{unit}"
    return f"{number:.0f}"
