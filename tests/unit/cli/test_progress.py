"""The progress line of ``weir run``."""

from __future__ import annotations

import time

import pytest

from weir.coordinator.progress import JobProgress, RateMeter, describe
from weir.kernel.effects import Report
from weir.kernel.job import JobPhase
from weir.protocol.ids import Generation, SlotIndex
from weir.protocol.messages import Restoring, SlotMetrics, SubtaskMetrics

ONE = Generation(1)


def test_the_progress_line_of_a_job_that_cannot_start_contains_the_reason() -> None:
    progress = JobProgress(frozenset())
    progress.on_phase(JobPhase.STARTING, ONE)
    assert describe(progress.snapshot(), 0).endswith("no checkpoint yet  backpressure 0%")
    for report in (
        Report.retrying(ONE, "the job log cannot be written: no space left on the disk"),
        Report.waiting_for_slots(ONE, "only 1 of 2 slots registered in 60 s"),
    ):
        progress.on_report(report)
        progress.on_phase(JobPhase.STARTING, ONE)
        assert describe(progress.snapshot(), 0).endswith(f"  waiting: {report.text}")
    progress.on_phase(JobPhase.RUNNING, ONE)
    assert "waiting" not in describe(progress.snapshot(), 0)
    progress.on_report(Report.retrying(ONE, "checkpoint 1 cannot be committed: no space left on the disk"))
    assert "waiting" not in describe(progress.snapshot(), 0), "records are processed during a retry of a commit"


def test_the_rate_of_a_resumed_job_does_not_include_the_restored_records(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(10))
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    progress, meter = JobProgress(frozenset({0})), RateMeter()

    def line(generation: int, read: int) -> str:
        subtask = SubtaskMetrics(0, 0, read, 0, 0, 0, 0, 0, 0, 0)
        progress.on_message(SlotMetrics(Generation(generation), SlotIndex(0), 1, 1, (subtask,), {}))
        return meter.line(progress.snapshot())

    progress.on_report(Report.starting(ONE, records=2_000_000))
    progress.on_phase(JobPhase.RUNNING, ONE)
    assert line(1, 300).startswith("running     0 records/s  2.0 M records")
    assert line(1, 700).startswith("running     400 records/s  2.0 M records")
    progress.on_report(Report.starting(Generation(2), records=3_000_000))
    progress.on_phase(JobPhase.RUNNING, Generation(2))
    assert line(2, 0).startswith("running     0 records/s  3.0 M records")


def test_the_progress_line_contains_the_restored_bytes_of_all_slots() -> None:
    progress = JobProgress(frozenset())
    progress.on_phase(JobPhase.DEPLOYING, ONE)
    for slot, restored in ((0, 1_000_000_000), (1, 500_000_000), (1, 2_200_000_000)):
        progress.on_message(Restoring(ONE, SlotIndex(slot), restored, 4_000_000_000))
    progress.on_message(Restoring(Generation(2), SlotIndex(0), 7, 8))
    assert "restoring 3.2 of 8.0 GB" in describe(progress.snapshot(), 0)
    progress.on_phase(JobPhase.RUNNING, ONE)
    assert "restoring" not in describe(progress.snapshot(), 0)
