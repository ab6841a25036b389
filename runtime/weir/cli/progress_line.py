"""What a person sees while a job runs: one line, kept up to date on a terminal, printed now and then elsewhere."""

from __future__ import annotations

import sys
import time

from rich.console import Console
from rich.live import Live
from rich.text import Text

from weir.coordinator.progress import Snapshot
from weir.kernel.job import JobPhase
from weir.spark.launch import JobResult, RunningJob

REFRESH_S = 0.5
PLAIN_EVERY_S = 10.0


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


def follow(job: RunningJob, *, quiet: bool) -> JobResult:
    """Until the job has ended."""
    console = Console(stderr=True)
    if quiet:
        return _wait(job)
    if not console.is_terminal:
        return _follow_plainly(job)
    meter = _Meter()
    with Live(Text(""), console=console, refresh_per_second=4, transient=True) as live:
        while (result := job.wait(REFRESH_S)) is None:
            live.update(Text(meter.line(job.progress())))
    return result


def _follow_plainly(job: RunningJob) -> JobResult:
    meter = _Meter()
    printed_at = time.monotonic()
    while (result := job.wait(REFRESH_S)) is None:
        if time.monotonic() - printed_at >= PLAIN_EVERY_S:
            printed_at = time.monotonic()
            print(meter.line(job.progress()), file=sys.stderr, flush=True)
    return result


def _wait(job: RunningJob) -> JobResult:
    while (result := job.wait(REFRESH_S)) is None:
        pass
    return result


class _Meter:
    def __init__(self) -> None:
        self._at = time.monotonic()
        self._records = 0

    def line(self, now: Snapshot) -> str:
        at = time.monotonic()
        rate = max(0, now.records - self._records) / max(at - self._at, 1e-9)
        self._at, self._records = at, now.records
        return describe(now, rate)


def _short(number: float) -> str:
    for limit, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= limit:
            return f"{number / limit:.1f}{unit}"
    return f"{number:.0f}"
