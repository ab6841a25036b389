"""The progress line of ``weir run``."""

from __future__ import annotations

from weir.cli.progress import describe
from weir.coordinator.progress import JobProgress
from weir.kernel.effects import Report
from weir.kernel.job import JobPhase
from weir.protocol.ids import Generation

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
