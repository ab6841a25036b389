"""The handle of ``weir.run``, without Spark."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any, cast

import pytest

from weir.errors import CheckpointError
from weir.kernel.checkpoints import CheckpointKind
from weir.kernel.effects import Finish, JobOutcome, Report, ReportKind
from weir.protocol.ids import CheckpointId
from weir.spark import notebook
from weir.spark.job_run import JobRun, _Observer

WAIT_S = 20.0
SAVEPOINT = {CheckpointKind.SAVEPOINT}


def completed(checkpoint: int) -> Report:
    return Report(ReportKind.CHECKPOINT_COMPLETED, "", CheckpointId(checkpoint))


def taking(observer: _Observer, *reports: Report) -> CheckpointId | str | None:
    """Take a savepoint. The coordinator's thread makes the reports after the request."""
    thread = threading.Thread(target=lambda: [observer.on_report(report) for report in reports])
    taken = observer.take(thread.start, SAVEPOINT, WAIT_S)
    thread.join()
    return taken


def triggered(checkpoint: int, kind: CheckpointKind) -> Report:
    return Report.triggered(CheckpointId(checkpoint), kind)


def test_a_savepoint_is_the_first_one_that_was_triggered_after_the_request() -> None:
    observer = _Observer()
    observer.on_report(triggered(1, CheckpointKind.SAVEPOINT))
    observer.on_report(completed(1))
    found = taking(
        observer, triggered(2, CheckpointKind.PERIODIC), completed(2), triggered(3, CheckpointKind.SAVEPOINT), completed(3)
    )
    assert found == 3


def test_the_reason_of_an_aborted_savepoint_is_returned() -> None:
    aborted = Report.aborted(CheckpointId(4), "timeout after 600 s")
    assert taking(_Observer(), triggered(4, CheckpointKind.SAVEPOINT), aborted) == "timeout after 600 s"


def test_a_savepoint_has_no_outcome_if_the_job_ends_or_the_time_is_over() -> None:
    observer = _Observer()
    assert observer.take(lambda: observer.on_finish(Finish(JobOutcome.FINISHED)), SAVEPOINT, WAIT_S) is None
    assert _Observer().take(lambda: None, SAVEPOINT, 0.0) is None


class EndingJob:
    """A job that finishes when a savepoint is requested."""

    def __init__(self, observer: _Observer) -> None:
        self._observer = observer
        self.ended = False

    def savepoint(self) -> None:
        self.ended = True
        self._observer.on_finish(Finish(JobOutcome.FINISHED))

    @property
    def is_alive(self) -> bool:
        return not self.ended

    def suspend(self) -> None: ...

    def join(self, timeout_s: float) -> None: ...

    def wait(self, timeout_s: float | None = None) -> Any:
        return Finish(JobOutcome.FINISHED) if self.ended else None

    def progress(self) -> Any: ...


def job_run() -> JobRun:
    observer = _Observer()
    return JobRun("job", "file:///checkpoints", EndingJob(observer), observer, ())  # type: ignore[arg-type]  # has the methods that are used


def test_a_savepoint_of_a_job_that_ends_meanwhile_is_an_error_that_says_so() -> None:
    with pytest.raises(CheckpointError, match="Job 'job' has ended without a savepoint. Resume the job to take one."):
        job_run().savepoint()


def test_a_stop_with_a_savepoint_succeeds_if_the_job_ends_before_the_savepoint() -> None:
    assert job_run().stop(savepoint=True) is None


ENTRY = {
    "timestamp": "2026-01-02T10:11:12.000+00:00", "checkpoint": 7, "kind": "periodic", "duration_ms": 1234, "state_bytes": 2_500_000,
    "written_bytes": 1, "generation": 1, "records": 1_000_000, "records_per_s": 5_000, "backpressured_ratio": 0.1, "recoveries": 0,
}  # fmt: skip


def test_the_html_of_a_job_escapes_text_and_contains_no_script_and_no_fixed_colours() -> None:
    html = notebook.render("<b>job", "running  5 k records/s  <script>", [ENTRY])
    assert "&lt;b&gt;job" in html and "running · 5 k records/s · &lt;script&gt;" in html
    assert "<script" not in html and "#" not in html and "color:" not in html.replace("border", "")
    assert "10:11:12" in html and "1,234 ms" in html and "2.5 MB" in html and "1,000,000" in html


def test_only_the_newest_checkpoints_are_in_the_table() -> None:
    html = notebook.render("job", "running", [ENTRY | {"checkpoint": 100 + number} for number in range(20)])
    assert html.count("<tr") == 6 and ">119<" in html and ">114<" not in html


@pytest.mark.parametrize("shell", [None, SimpleNamespace()], ids=["python", "terminal"])
def test_outside_a_notebook_nothing_is_displayed_in_place(
    shell: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(cast(Any, notebook.sys.modules), "IPython", SimpleNamespace(get_ipython=lambda: shell))
    with notebook.live_line() as show:
        assert show is None
    notebook.display_until("a job", lambda: False, lambda timeout_s: None)
    assert capsys.readouterr().out == "'a job'\n"
