"""What is to be run, as it follows from a job and its options."""

from __future__ import annotations

import pyarrow as pa
import pytest

from weir import Job, sinks, sources
from weir.coordinator.progress import Progress
from weir.errors import JobFailed
from weir.kernel.effects import Outcome, StartGeneration
from weir.kernel.job import JobPhase
from weir.protocol.ids import CheckpointId, Generation
from weir.spark.job_plan import plan_job
from weir.spark.options import RunOptions
from weir.spark.running import JobResult
from weir.storage.memory import MemoryStorage


def job() -> Job:
    made = Job("small")
    made.read(sources.iterable(pa.table({"n": [1, 2]})), uid="in").write(sinks.console(), uid="out")
    return made


def test_a_job_without_history_is_planned_as_its_options_say() -> None:
    planned = plan_job(job(), MemoryStorage(), RunOptions("unused", parallelism=3, heartbeat_timeout_ms=700, retained=5))
    plan = planned.plan
    assert (plan.job, plan.graph.slots, plan.retained) == ("small", 3, 5)
    assert (list(plan.sources), list(plan.committers)) == (["in"], ["out"])
    assert plan.config.lease_ms == 1_400
    assert planned.notes == ()


def test_its_job_master_begins_with_the_first_numbers_of_an_empty_log() -> None:
    master = plan_job(job(), MemoryStorage(), RunOptions("unused")).job_master()
    assert (master.phase, master.restore_point) == (JobPhase.CREATED, None)
    (append,) = master.start(0)
    assert getattr(append, "request", None) == StartGeneration(Generation(1), None, CheckpointId(1))


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.SUPERSEDED])
def test_a_result_that_is_a_failure_is_raised_with_its_first_cause(outcome: Outcome) -> None:
    result = JobResult(outcome, "disk gone", "SinkError", Progress(frozenset()).snapshot(), {})
    with pytest.raises(JobFailed, match="SinkError: disk gone"):
        result.raise_if_failed()


@pytest.mark.parametrize("outcome", [Outcome.FINISHED, Outcome.SUSPENDED, Outcome.CANCELED])
def test_a_result_that_was_wanted_is_handed_back(outcome: Outcome) -> None:
    result = JobResult(outcome, "", "", Progress(frozenset()).snapshot(), {})
    assert result.raise_if_failed() is result
