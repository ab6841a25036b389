"""Planning a run from a job and its options."""

from __future__ import annotations

from dataclasses import asdict, fields

import pyarrow as pa
import pytest

from weir import Job, sinks, sources
from weir.coordinator.progress import JobProgress
from weir.coordinator.start import FirstNumbers
from weir.errors import GraphError, JobFailed
from weir.kernel.config import CheckpointConfig, Timeouts
from weir.kernel.effects import JobOutcome, StartGeneration
from weir.kernel.job import JobPhase
from weir.protocol.ids import CheckpointId, Generation
from weir.spark import job_plan
from weir.spark.job_plan import plan_job
from weir.spark.options import RunOptions
from weir.spark.running_job import JobResult
from weir.storage.memory import MemoryStorage


def job() -> Job:
    made = Job("small")
    made.read(sources.iterable(pa.table({"n": [1, 2]})), uid="in").write(sinks.console(), uid="out")
    return made


def test_the_plan_of_a_new_job_contains_the_values_of_its_options() -> None:
    planned = plan_job(job(), MemoryStorage(), RunOptions("unused", parallelism=3, retained=5))
    plan = planned.plan
    assert (plan.job, plan.graph.slots, plan.retained) == ("small", 3, 5)
    assert (list(plan.sources), list(plan.committers)) == (["in"], ["out"])
    assert planned.notes == ()


def test_timeouts_are_passed_to_the_job_master() -> None:
    timeouts = Timeouts(
        heartbeat_timeout_ms=700,
        stuck_timeout_ms=None,
        call_timeout_ms=900,
        slots_timeout_ms=9_000,
        deploy_timeout_ms=80,
        cancel_timeout_ms=60,
        connect_timeout_ms=50,
    )
    config = plan_job(job(), MemoryStorage(), RunOptions("unused", timeouts=timeouts)).plan.config
    assert {field.name: getattr(config, field.name) for field in fields(Timeouts)} == asdict(timeouts)
    assert config.lease_ms == 1_400, "the lease is twice the heartbeat timeout"


def test_checkpoint_limits_are_passed_to_the_job_master() -> None:
    options = RunOptions("unused", interval_ms=7, checkpoint_timeout_ms=500, min_pause_ms=30, tolerable_failed_checkpoints=None)
    assert plan_job(job(), MemoryStorage(), options).plan.config.checkpoints == CheckpointConfig(
        interval_ms=7, timeout_ms=500, min_pause_ms=30, tolerable_failed_checkpoints=None
    )
    defaults = plan_job(job(), MemoryStorage(), RunOptions("unused")).plan.config.checkpoints
    assert defaults == CheckpointConfig(), "the run options have the defaults of the job master"


def test_a_job_with_an_empty_log_starts_with_generation_1_and_checkpoint_1() -> None:
    master = plan_job(job(), MemoryStorage(), RunOptions("unused")).job_master(FirstNumbers())
    assert (master.phase, master.restore_point) == (JobPhase.CREATED, None)
    _, append = master.start(0)
    assert getattr(append, "request", None) == StartGeneration(Generation(1), None, CheckpointId(1))


def test_a_job_starts_with_the_generation_and_checkpoint_id_that_the_output_check_returns() -> None:
    first = FirstNumbers(Generation(3), CheckpointId(50))
    _, append = plan_job(job(), MemoryStorage(), RunOptions("unused")).job_master(first).start(0)
    assert getattr(append, "request", None) == StartGeneration(Generation(3), None, CheckpointId(50))


def test_the_error_for_a_graph_that_is_too_large_to_send_names_the_largest_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Job("large")
    for name, rows in (("small", 10), ("large", 5_000)):
        table = pa.table({"n": [rows * number * number for number in range(rows)]})
        made.read(sources.iterable(table), uid=name).write(sinks.console(), uid=f"{name}-out")
    plan_job(made, MemoryStorage(), RunOptions("unused"))
    monkeypatch.setattr(job_plan, "GRAPH_BYTES_MAX", 20_000)
    with pytest.raises(GraphError, match=r"graph of job 'large' has .* The largest part is source 'large'"):
        plan_job(made, MemoryStorage(), RunOptions("unused"))


def test_the_repr_of_run_options_does_not_contain_secrets() -> None:
    options = RunOptions(
        "cp",
        storage_options={"secret_access_key": "hush"},
        spark_conf={"spark.authenticate.secret": "hush"},
        platform_secrets={"kafka": "hush"},
    )
    assert "hush" not in repr(options)


@pytest.mark.parametrize("outcome", [JobOutcome.FAILED, JobOutcome.SUPERSEDED])
def test_a_failed_job_raises_an_error_with_the_cause(outcome: JobOutcome) -> None:
    result = JobResult(outcome, "disk missing", "SinkError", JobProgress(frozenset()).snapshot(), {})
    with pytest.raises(JobFailed, match="SinkError: disk missing"):
        result.raise_if_failed()


@pytest.mark.parametrize("outcome", [JobOutcome.FINISHED, JobOutcome.SUSPENDED, JobOutcome.CANCELED])
def test_a_successful_job_returns_its_result(outcome: JobOutcome) -> None:
    result = JobResult(outcome, "", "", JobProgress(frozenset()).snapshot(), {})
    assert result.raise_if_failed() is result
