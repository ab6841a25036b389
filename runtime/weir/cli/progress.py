"""The progress of a running job as one line, which is updated on a terminal and printed every 10 s elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import structlog
from rich.console import Console
from rich.live import Live
from rich.text import Text

from weir.coordinator.progress import ProgressSnapshot, RateMeter
from weir.protocol.messages import describe_restores
from weir.spark.launch import JobResult, RunningJob
from weir.subtask.settings import ignore_broken_streams

REFRESH_S = 0.5
PRINT_EVERY_S = 10.0

log = structlog.get_logger(__name__)


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
