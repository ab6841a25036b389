"""Results of ``make bench``: one JSON object per line, and a table."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.ceiling_run import CeilingRun
from bench.measured_run import RunMeasurement

NONE, EVERY_SECOND = "no checkpoints", "checkpoint every 1 s"
START = "start"
"""A workload that measures how long a job takes to start. The job is abs6, and runs for two seconds."""


@dataclass(frozen=True, slots=True)
class BenchResult:
    """The result of one run. None means that a value was not measured.

    ``baseline_*``: values of the run without checkpoints in the same pair. ``ceiling_*``: values of the last run of the
    hand-written program before this pair. ``*_per_cpu_s``: records per CPU second of the slots, or of the ceiling's processes.
    ``checkpointed_bytes``: average size of a checkpoint. ``sync_*`` and ``longest_batch_*`` cover all subtasks and checkpoints of
    the measured time. ``peak_rss_mb``: peak memory of the largest slot. ``took_turns``: the processes were paused every other
    second, so durations were not measured.
    """

    workload: str
    setting: str
    parallelism: int
    slots: int
    records: int
    seconds: float
    records_per_s: float
    records_per_cpu_s: float
    driver_cpu_share: float
    """Average number of cores used by the driver: coordinator, Java and the benchmark itself."""
    baseline_records_per_s: float | None
    baseline_records_per_cpu_s: float | None
    ceiling_records_per_s: float | None
    ceiling_records_per_cpu_s: float | None
    checkpoints: int
    checkpoints_aborted: int
    checkpoint_ms_avg: float | None
    checkpoint_ms_max: float | None
    alignment_ms_max: float | None
    sync_ms_max: float | None
    sync_ms_p99: float | None
    sync_cpu_ms_max: float | None
    sync_cpu_ms_p99: float | None
    sync_own_ms_p99: float | None
    """Wall time of the sync phase without core wait, in milliseconds."""
    longest_batch_ms_max: float | None
    longest_batch_core_wait_ms: float | None
    """Core wait of the longest batch."""
    checkpointed_bytes: int | None
    peak_rss_mb: float
    start_s: float
    latency_p50_ms: float | None
    latency_p99_ms: float | None
    result_ok: bool
    wrong: str | None
    took_turns: bool = False
    run: dict[str, object] = field(default_factory=dict)
    """Time, commit, machine, arguments and settings of the benchmark run."""

    @property
    def of_ceiling(self) -> float | None:
        return None if self.ceiling_records_per_s is None else self.records_per_s / self.ceiling_records_per_s

    @property
    def of_ceiling_cpu(self) -> float | None:
        return None if self.ceiling_records_per_cpu_s is None else self.records_per_cpu_s / self.ceiling_records_per_cpu_s

    @property
    def of_baseline(self) -> float | None:
        return None if self.baseline_records_per_s is None else self.records_per_s / self.baseline_records_per_s

    @property
    def of_baseline_cpu(self) -> float | None:
        if self.baseline_records_per_cpu_s is None:
            return None
        return self.records_per_cpu_s / self.baseline_records_per_cpu_s


def measurement(
    workload: str,
    setting: str,
    parallelism: int,
    run: RunMeasurement,
    *,
    baseline: RunMeasurement | None = None,
    ceiling: CeilingRun | None = None,
    took_turns: bool = False,
    about: dict[str, object],
) -> BenchResult:
    # For runs that took turns, the number and the sizes of checkpoints are valid, but the durations are invalid.
    done = () if took_turns else run.checkpoints
    sync_ms = [sync_us / 1e3 for one in done for sync_us in one.sync_us]
    sync_cpu_ms = [sync_us / 1e3 for one in done for sync_us in one.sync_cpu_us]
    sync_waits_ms = [wait_us / 1e3 for one in done for wait_us in one.sync_core_wait_us]
    # The duration of each sync phase, minus its core wait.
    sync_own_ms = [whole - wait for whole, wait in zip(sync_ms, sync_waits_ms, strict=True)]
    slowest = max(done, key=lambda one: one.longest_batch_ms_max, default=None)
    return BenchResult(
        workload=workload,
        setting=setting,
        parallelism=parallelism,
        slots=parallelism,
        records=run.records,
        seconds=round(run.seconds, 3),
        records_per_s=run.records_per_s,
        records_per_cpu_s=run.records_per_cpu_s,
        driver_cpu_share=run.cpu.driver / run.watched_s,
        baseline_records_per_s=baseline.records_per_s if baseline else None,
        baseline_records_per_cpu_s=baseline.records_per_cpu_s if baseline else None,
        ceiling_records_per_s=ceiling.records_per_s if ceiling else None,
        ceiling_records_per_cpu_s=ceiling.records_per_cpu_s if ceiling else None,
        checkpoints=len(run.checkpoints),
        checkpoints_aborted=run.aborted,
        checkpoint_ms_avg=statistics.fmean(one.end_to_end_ms for one in done) if done else None,
        checkpoint_ms_max=max((one.end_to_end_ms for one in done), default=None),
        alignment_ms_max=max((one.alignment_ms_max for one in done), default=None),
        sync_ms_max=max(sync_ms, default=None),
        sync_ms_p99=percentile(sync_ms, 0.99),
        sync_cpu_ms_max=max(sync_cpu_ms, default=None),
        sync_cpu_ms_p99=percentile(sync_cpu_ms, 0.99),
        sync_own_ms_p99=percentile(sync_own_ms, 0.99),
        longest_batch_ms_max=slowest.longest_batch_ms_max if slowest else None,
        longest_batch_core_wait_ms=slowest.longest_batch_core_wait_ms if slowest else None,
        checkpointed_bytes=round(statistics.fmean(one.checkpointed_bytes for one in run.checkpoints))
        if run.checkpoints
        else None,
        peak_rss_mb=run.peak_rss_bytes / 1e6,
        start_s=run.start_s,
        latency_p50_ms=run.totals.latency_ms(0.5),
        latency_p99_ms=run.totals.latency_ms(0.99),
        result_ok=run.wrong is None,
        wrong=run.wrong,
        took_turns=took_turns,
        run=about,
    )


def percentile(values: Sequence[float], quantile: float) -> float | None:
    """Return a percentile by the nearest-rank method, or None if there are no values. ``quantile``: 0.95 for the 95th
    percentile."""
    return sorted(values)[max(0, math.ceil(quantile * len(values)) - 1)] if values else None


def append(measured: BenchResult, file: Path) -> None:
    with file.open("a") as lines:
        lines.write(json.dumps(asdict(measured)) + "\n")


def spread(values: Iterable[float | None]) -> str:
    """Format percentages as ``median (lowest to highest)``."""
    known = sorted(value for value in values if value is not None)
    if not known:
        return "-"
    if len(known) == 1:
        return f"{known[0]:.1%}"
    return f"{statistics.median(known):.1%} ({known[0]:.1%} to {known[-1]:.1%})"


def show(measured: Sequence[BenchResult], console: Console) -> None:
    """Print one row per workload, setting and parallelism: medians over the runs, and ratios with their spread."""
    table = Table(title="Throughput in steady state, medians")
    for name in ("workload", "slots", "setting", "runs", "M records/s", "M/cpu s", "of ceiling", "by cpu", "of baseline",
                 "by cpu", "RSS MB"):  # fmt: skip
        table.add_column(name, justify="left" if name in ("workload", "setting") else "right")
    for runs in _groups(one for one in measured if one.workload != START):
        table.add_row(
            runs[0].workload,
            str(runs[0].slots),
            runs[0].setting,
            str(len(runs)),
            f"{statistics.median(one.records_per_s for one in runs) / 1e6:.2f}",
            f"{statistics.median(one.records_per_cpu_s for one in runs) / 1e6:.2f}",
            spread(one.of_ceiling for one in runs),
            spread(one.of_ceiling_cpu for one in runs),
            spread(one.of_baseline for one in runs),
            spread(one.of_baseline_cpu for one in runs),
            f"{max(one.peak_rss_mb for one in runs):.0f}",
        )
    console.print(table)
    _show_checkpoints(measured, console)
    for one in measured:
        if one.workload == START:
            console.print(f"Job start, {one.slots} slots, {one.setting}: {one.start_s:.2f} s")
    for one in measured:
        if one.latency_p99_ms is not None and one.latency_p50_ms is not None:
            console.print(
                f"Latency of {one.workload} at {one.records_per_s / 1e6:.2f} M records/s, {one.slots} slots: "
                f"p50 {one.latency_p50_ms:.1f} ms, p99 {one.latency_p99_ms:.1f} ms"
            )
    for one in measured:
        if one.wrong is not None:
            console.print(f"[red]WRONG[/red] {one.workload}, {one.slots} slots, {one.setting}: {one.wrong}", markup=True)


def _show_checkpoints(measured: Sequence[BenchResult], console: Console) -> None:
    table = Table(
        title="Checkpoints, in ms. Paired runs have no checkpoint durations. Sync: over all subtasks. Batch: the longest."
    )
    for name in ("workload", "slots", "taken", "aborted", "avg", "max", "align max", "sync p99", "own", "cpu", "longest batch",
                 "no core", "MB"):  # fmt: skip
        table.add_column(name, justify="left" if name == "workload" else "right")
    for runs in _groups(measured):
        taken = [one for one in runs if one.checkpoints]
        if not taken:
            continue
        longest = max(taken, key=lambda one: one.longest_batch_ms_max or 0)
        durations = (
            f"{statistics.fmean(one.checkpoint_ms_avg or 0 for one in taken):.0f}",
            f"{max(one.checkpoint_ms_max or 0 for one in taken):.0f}",
            f"{max(one.alignment_ms_max or 0 for one in taken):.1f}",
            f"{max(one.sync_ms_p99 or 0 for one in taken):.2f}",
            f"{max(one.sync_own_ms_p99 or 0 for one in taken):.2f}",
            f"{max(one.sync_cpu_ms_p99 or 0 for one in taken):.2f}",
            f"{longest.longest_batch_ms_max or 0:.1f}",
            f"{longest.longest_batch_core_wait_ms or 0:.1f}",
        )
        table.add_row(
            runs[0].workload,
            str(runs[0].slots),
            str(sum(one.checkpoints for one in taken)),
            str(sum(one.checkpoints_aborted for one in taken)),
            *(["-"] * len(durations) if runs[0].took_turns else durations),
            f"{statistics.fmean(one.checkpointed_bytes or 0 for one in taken) / 1e6:.1f}",
        )
    console.print(table)


def _groups(measured: Iterable[BenchResult]) -> list[list[BenchResult]]:
    groups: dict[tuple[str, int, str], list[BenchResult]] = {}
    for one in measured:
        groups.setdefault((one.workload, one.slots, one.setting), []).append(one)
    return list(groups.values())
