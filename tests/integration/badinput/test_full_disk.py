"""Jobs on a full disk. A file size limit of the process simulates the full disk."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from runs import Runs
from small_job import ROWS
from weir_command import ROOT, refuse_tracebacks, weir

from weir import Job, Params, Stream, agg, sinks, sources
from weir.coordinator.start import Resume
from weir.kernel.config import RestartConfig
from weir.kernel.effects import JobOutcome
from weir.protocol.ids import OperatorUid
from weir.spark.launch import JobResult
from weir.storage.inspection import verify
from weir.storage.layout import JobLayout
from weir.storage.location import open_storage

pytestmark = pytest.mark.spark
HERE = sys.modules[__name__]


def set_file_size_limit(bytes_max: int) -> None:
    """Limit the size of files: a write beyond ``bytes_max`` fails. Existing files stay readable."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_max, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


def fill_disk_at_half(batch: pa.RecordBatch) -> pa.RecordBatch:
    if batch.num_rows and batch["number"][-1].as_py() >= ROWS // 2:
        set_file_size_limit(0)
    return batch


def free_disk(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Remove the limit on the file size, because the next run can use the same processes."""
    set_file_size_limit(resource.getrlimit(resource.RLIMIT_FSIZE)[1])
    return batch


def read(job: Job, params: Params) -> Stream:
    numbers = job.read(sources.parquet(params.path("input"), rate=params.int("rate", 0) or None), uid="numbers")
    return numbers.map_batches(free_disk if params.bool("freed", False) else fill_disk_at_half, uid="disk")


def without_state(params: Params) -> Job:
    """A job whose slots write output but no state."""
    job = Job("small")
    read(job, params).write(sinks.parquet(params.path("output")), uid="out")
    return job


def with_state(params: Params) -> Job:
    """A job whose slots write state but no output."""
    job = Job("small")
    sums = read(job, params).key_by("key").aggregate(rows=agg.count(), total=agg.sum("number"), emit="each", uid="sums")
    params.path("output")
    sums.write(sinks.stats(), uid="out")
    return job


def on_freed_disk(make: Callable[[Params], Job]) -> Callable[[Params], Job]:
    return lambda params: make(
        Params({"input": params.path("input"), "output": params.path("output"), "rate": params.int("rate", 0), "freed": True})
    )


def run_until_disk_is_full(runs: Runs, make: Callable[[Params], Job], **options: Any) -> JobResult:
    """Run the job until it has completed a checkpoint. Then resume the job, and fill the disk when half of the input is read."""
    runs.until(checkpoints=1, make=on_freed_disk(make), rate=100, by_value=[HERE])
    return runs.run(make, rate=1_000, by_value=[HERE], start=Resume(), **options)


def test_a_full_output_disk_fails_the_job_and_a_resume_continues_it(runs: Runs, capfd: pytest.CaptureFixture[str]) -> None:
    result = run_until_disk_is_full(runs, without_state)
    refuse_tracebacks("".join(capfd.readouterr()))
    assert (result.outcome, result.kind) == (JobOutcome.FAILED, "SinkError")
    assert "sink 'out' could not" in result.reason and str(runs.output) in result.reason
    assert "no space left on the device. Free some space and resume the job. Committed data is intact." in result.reason
    before = runs.committed()
    assert before

    resumed = runs.run(on_freed_disk(without_state), by_value=[HERE], start=Resume())
    assert (resumed.outcome, resumed.reason) == (JobOutcome.FINISHED, "")
    assert before.items() <= runs.committed().items()
    assert sorted(pq.read_table(runs.output, partitioning=None)["number"].to_pylist()) == list(range(ROWS))


def test_a_full_checkpoint_disk_fails_the_job_and_a_resume_continues_it(runs: Runs, capfd: pytest.CaptureFixture[str]) -> None:
    once = RestartConfig(attempts_max=1)
    result = run_until_disk_is_full(runs, with_state, restarts=once)
    refuse_tracebacks("".join(capfd.readouterr()))
    assert (result.outcome, result.kind) == (JobOutcome.FAILED, "CheckpointError")
    assert "failed after 1 restart without a completed checkpoint" in result.reason
    assert f"cannot write {runs.checkpoints}/small/state/packed.slots/" in result.reason
    assert f"file size limit reached. Free space on the disk of {runs.checkpoints}" in result.reason
    storage = open_storage(str(runs.checkpoints))
    assert runs.restorable()
    assert all(verify(storage, JobLayout("small"), one).intact for one in runs.restorable())

    resumed = runs.run(on_freed_disk(with_state), by_value=[HERE], start=Resume())
    assert (resumed.outcome, resumed.reason) == (JobOutcome.FINISHED, "")
    counted = resumed.results[OperatorUid("out")]
    assert isinstance(counted, sinks.Totals) and counted.rows == ROWS


def test_a_full_checkpoint_disk_is_refused_before_the_job_starts(runs: Runs) -> None:
    small = ROOT / "tests" / "integration" / "cli" / "small_job.py"
    settings = ["--set", f"input={runs.input}", "--set", f"output={runs.output}"]
    result = weir("run", small, *settings, "--checkpoint-dir", runs.checkpoints, before=lambda: set_file_size_limit(0))
    assert result.code == 2
    assert f"cannot write {runs.checkpoints}" in result.message and "Free space on the disk of" in result.message
    assert not runs.output.exists()
