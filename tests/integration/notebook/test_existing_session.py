"""Jobs in a session that belongs to the user."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import small_job
from pyspark.sql import SparkSession
from small_job import expected_totals, totals
from tests.process_details import unless_ended

import weir
from weir import Job, Params, sinks, sources
from weir.errors import CheckpointError, ConfigError, JobFailed
from weir.kernel.effects import JobOutcome
from weir.spark.job_run import JobRun

pytestmark = pytest.mark.spark


def start(spark: SparkSession | None, root: Path, function: Any = small_job.job, **options: Any) -> JobRun:
    params = {"input": str(root / "input"), "output": str(root / "output"), "rate": options.pop("rate", 0)}
    arguments = {"checkpoint_dir": root / "checkpoints", "interval_s": 0.2, "by_value": [small_job]}
    run = weir.run(function, spark=spark, params=params, **(arguments | options))
    started.append(run)
    return run


started: list[JobRun] = []


@pytest.fixture(autouse=True)
def _no_job_survives_its_test() -> Iterator[None]:
    yield
    for run in started:
        run.cancel()
    started.clear()


def slot_pids() -> list[int]:
    """Return the pids of the running slots of this test process. Former slots, which are idle Python workers, do not listen."""
    children = psutil.Process().children(recursive=True)
    workers = [child for child in children if unless_ended(child, lambda one: "WEIR_SLOT" in one.environ())]
    daemons = {worker.ppid() for worker in workers}
    slots = [worker for worker in workers if worker.pid not in daemons]
    return [slot.pid for slot in slots if unless_ended(slot, lambda one: any(map(is_listening, one.net_connections("tcp"))))]


def is_listening(connection: Any) -> bool:
    return bool(connection.status == psutil.CONN_LISTEN)


def weir_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("weir-")]


def test_a_job_in_a_session_of_the_user_stops_and_resumes_and_leaves_nothing_behind(spark: SparkSession, root: Path) -> None:
    assert spark.range(5).count() == 5, "the first query sets the warehouse directory"
    settings = dict(spark.sparkContext.getConf().getAll())
    environment = dict(spark.sparkContext.environment)

    run = start(spark, root, rate=300)
    assert run.is_active and run.isActive and run.exception() is None
    assert run.checkpoint() >= 1
    assert spark.range(5).count() == 5, "the session has two free cores for the user's own jobs"
    assert run.stop(savepoint=True) is not None
    assert not run.is_active and run.exception() is None
    assert run.result().outcome is JobOutcome.SUSPENDED
    stopped_at = run.last_progress
    assert stopped_at is not None and 0 < stopped_at["records"] < small_job.ROWS
    assert [entry["checkpoint"] for entry in run.recent_progress] == sorted(
        {entry["checkpoint"] for entry in run.recent_progress}
    )

    with pytest.raises(ConfigError, match=r"already exists in .*in Python: resume=True"):
        start(spark, root)
    resumed = start(spark, root, resume=True)
    assert resumed.id == run.id and resumed.run_id != run.run_id
    assert resumed.await_termination(120)
    assert resumed.await_termination() and resumed.stop() is None
    assert totals(root / "output") == expected_totals()
    assert resumed.result().progress.generation > run.result().progress.generation

    assert dict(spark.sparkContext.getConf().getAll()) == settings
    assert spark.sparkContext.environment == environment
    assert spark.range(5).count() == 5
    assert weir_threads() == []
    assert spark.sparkContext.getLocalProperty("spark.jobGroup.id") is None
    assert list(spark.sparkContext.statusTracker().getActiveJobsIds()) == []


def test_a_killed_slot_is_replaced_and_the_output_is_exactly_once(spark: SparkSession, root: Path) -> None:
    run = start(spark, root, rate=1_000)
    run.checkpoint()
    os.kill(slot_pids()[0], signal.SIGKILL)
    assert run.await_termination(120)
    assert run.result().progress.recoveries
    assert totals(root / "output") == expected_totals()


def test_an_interrupt_of_the_notebook_cancels_all_spark_jobs_and_the_slots_are_restarted(spark: SparkSession, root: Path) -> None:
    run = start(spark, root, rate=1_000)
    run.checkpoint()
    spark.sparkContext.cancelAllJobs()  # pyspark does this when the user interrupts the kernel
    assert run.await_termination(120)
    assert run.result().progress.recoveries
    assert totals(root / "output") == expected_totals()


def test_two_jobs_share_a_session_and_a_third_is_refused(spark: SparkSession, root: Path) -> None:
    first = start(spark, root, rate=1_000)
    with pytest.raises(ConfigError, match=r"Job 'small' .* already runs in this session\. Stop it first"):
        start(spark, root, resume=True)
    second = start(spark, root, checkpoint_dir=root / "other", function=to_second_output)
    assert first.notes == () and "occupies all 2 free task slots" in second.notes[0]
    with pytest.raises(ConfigError, match=r"needs 1, but .* has 0 free .*task slots of other Weir jobs in this session: 4"):
        start(spark, root, checkpoint_dir=root / "third", parallelism=1)
    assert second.await_termination(120) and first.await_termination(120)
    assert totals(root / "output") == totals(root / "output2") == expected_totals()
    assert weir_threads() == []


def to_second_output(params: Params) -> Job:
    return small_job.job(
        Params({"input": params.path("input"), "output": params.path("output") + "2", "rate": params.int("rate", 0)})
    )


def test_a_failed_job_raises_its_error_and_the_session_stays_usable(spark: SparkSession, root: Path) -> None:
    run = start(spark, root, small_job.failing)
    with pytest.raises(JobFailed, match=r"UserCodeError: .*divide .*raised ZeroDivisionError"):
        run.await_termination(120)
    assert f"in the batch of source 'numbers' that begins at row 1 of {root / 'input'}" in str(run.exception())
    assert "failed: UserCodeError" in run.status["message"]
    with pytest.raises(CheckpointError, match="has ended"):
        run.savepoint()
    assert spark.range(5).count() == 5


def test_a_rollback_needs_a_confirmation_that_names_the_checkpoints(spark: SparkSession, root: Path) -> None:
    run = start(spark, root, rate=1_000)
    first = run.savepoint()
    newer = run.checkpoint()
    run.stop()
    with pytest.raises(ConfigError, match=rf"to checkpoint {first} abandons the checkpoints .*{newer}.*abandon_newer=True"):
        start(spark, root, from_checkpoint=first)
    again = start(spark, root, from_checkpoint=first, abandon_newer=True)
    assert again.await_termination(120)
    assert totals(root / "output") == expected_totals()


def test_a_spark_query_on_a_temporary_view_of_the_session_is_a_source(spark: SparkSession, root: Path) -> None:
    spark.sql("SELECT id, timestamp '2013-01-01 10:00:00.123456' AS at FROM range(100)").createOrReplaceTempView("numbers")

    def job(params: Params) -> Job:
        job = Job("view")
        job.read(sources.sql("SELECT id, at FROM numbers"), uid="in").write(sinks.collect(), uid="out")
        return job

    before = spark.conf.get("spark.sql.parquet.outputTimestampType")
    run = weir.run(job, checkpoint_dir=root / "checkpoints", spark=spark)
    run.await_termination(120)
    table = run.result().results["out"]
    assert isinstance(table, pa.Table)
    assert sorted(table["id"].to_pylist()) == list(range(100))
    assert {value.microsecond for value in table["at"].to_pylist()} == {123456}
    assert spark.conf.get("spark.sql.parquet.outputTimestampType") == before


def test_slots_do_not_share_python_workers_with_the_functions_of_the_user(spark: SparkSession, root: Path) -> None:
    def pid_and_threads(rows: Any) -> Any:
        yield os.getpid(), os.environ.get("POLARS_MAX_THREADS")

    def worker(batch: pa.RecordBatch) -> pa.RecordBatch:
        return pa.record_batch(
            {"pid": [os.getpid()] * batch.num_rows, "threads": [os.environ["POLARS_MAX_THREADS"]] * batch.num_rows}
        )

    job = Job("workers")
    read = job.read(sources.parquet(str(root / "input")), uid="in")
    read.map_batches(worker, schema={"pid": int, "threads": str}, uid="pids").write(sinks.collect(), uid="out")
    run = weir.run(job, checkpoint_dir=root / "checkpoints", spark=spark)
    run.await_termination(120)
    table = run.result().results["out"]
    assert isinstance(table, pa.Table)
    assert set(table["threads"].to_pylist()) == {"1"}
    users = dict(spark.sparkContext.parallelize(range(4), 4).mapPartitions(pid_and_threads).collect())
    assert set(users.values()) == {None}
    assert set(users).isdisjoint(table["pid"].to_pylist())


def test_the_active_session_is_used_if_no_session_is_given(spark: SparkSession, root: Path) -> None:
    run = start(None, root)
    assert run.await_termination(120)
    assert spark.range(5).count() == 5


def test_invalid_arguments_are_refused_before_anything_starts(spark: SparkSession, root: Path) -> None:
    for options, message in (
        ({"retaned": 3}, "no option 'retaned'; did you mean 'retained'"),
        ({"master": "local[2]"}, "master= cannot change a session"),
        ({"resume": True, "from_checkpoint": 1}, "cannot be combined"),
        ({"parallelism": 0}, "parallelism=0 is not a number of slots"),
        ({"interval_s": "10s"}, "interval_s='10s' is not a number of seconds"),
        ({"interval_s": 0}, "interval_s=0 is not a time between checkpoints"),
        ({"parallelism": 5}, "needs 5, .* has 4 free"),
    ):
        with pytest.raises(ConfigError, match=message):
            start(spark, root, **options)
    with pytest.raises(ConfigError, match="needs a Job or a function"):
        weir.run("job.py", checkpoint_dir=root / "checkpoints", spark=spark)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"spark= is a builtins\.str\. Pass a classic SparkSession"):
        start("local", root)  # type: ignore[arg-type]
    assert weir_threads() == []
    assert pq.read_table(root / "input").num_rows == small_job.ROWS and not (root / "output").exists()
