"""The progress of a running job as one line, which is updated on a terminal and printed every 10 s elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import structlog
from rich.console import Console
from rich.live import Live
from rich.text import Text

from weir.cli.logs import ignore_broken_streams
from weir.coordinator.progress import ProgressSnapshot
from weir.kernel.job import JobPhase
from weir.protocol.ids import Generation
from weir.protocol.messages import describe_restores
from weir.spark.launch import JobResult, RunningJob

REFRESH_S = 0.5
PRINT_EVERY_S = 10.0

log = structlog.get_logger(__name__)


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


def show_progress(job: RunningJob, *, quiet: bool, as_json: bool) -> JobResult:
    """Show the progress until the job ends. With ``as_json``, write log entries about the progress."""
    if quiet:
        return _wait(job)
    console = Console(stderr=True)
    meter = RateMeter()
    if as_json:
        return _report_periodically(job, lambda snapshot: _log_progress(snapshot, meter.rate(snapshot)))
    if not console.is_terminal:
        return _report_periodically(job, lambda snapshot: print(meter.line(snapshot), file=sys.stderr, flush=True))
    try:
        with Live(Text(""), console=console, refresh_per_second=4, transient=True) as live:
            while (result := job.wait(REFRESH_S)) is None:
                live.update(Text(meter.line(job.progress())))
            return result
    except OSError:
        # The terminal was closed. The job continues.
        return _wait(job)


def _report_periodically(job: RunningJob, report: Callable[[ProgressSnapshot], None]) -> JobResult:
    reported_at = time.monotonic()
    while (result := job.wait(REFRESH_S)) is None:
        if time.monotonic() - reported_at >= PRINT_EVERY_S:
            reported_at = time.monotonic()
            snapshot = job.progress()
            with ignore_broken_streams():
                report(snapshot)
    return result


def _log_progress(snapshot: ProgressSnapshot, rate: float) -> None:
    log.info(
        "progress",
        phase=snapshot.phase,
        waiting=snapshot.waiting or None,
        restoring=describe_restores(snapshot.restores) if snapshot.restores else None,
        generation=snapshot.generation,
        records=snapshot.records,
        records_per_s=round(rate),
        last_checkpoint=snapshot.completed[-1].checkpoint if snapshot.completed else None,
        backpressured_ratio_max=round(snapshot.backpressured_ratio_max, 3),
        recoveries=len(snapshot.recoveries),
    )


def _wait(job: RunningJob) -> JobResult:
    while (result := job.wait(REFRESH_S)) is None:
        pass
    return result


class RateMeter:
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
