"""Sessions in which a job cannot start or cannot continue."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import small_job
from pyspark.sql import SparkSession
from small_job import numbers

import weir
from weir.errors import ConfigError, JobFailed
from weir.spark import jvm
from weir.spark.java_home import find_java
from weir.spark.job_run import JobRun

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def _no_session_survives_its_test() -> Iterator[None]:
    find_java()
    yield
    if (left := SparkSession.getActiveSession()) is not None:
        left.stop()
    jvm.end()


def session(**settings: str) -> SparkSession:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    for name, value in settings.items():
        builder = builder.config(name.replace("_", "."), value)
    return builder.getOrCreate()


def start(spark: SparkSession | None, root: Path) -> JobRun:
    params = {"input": str(root / "input"), "output": str(root / "output"), "rate": 200}
    return weir.run(
        small_job.job, spark=spark, params=params, checkpoint_dir=root / "checkpoints", interval_s=0.2, by_value=[small_job]
    )


def test_all_unsuitable_settings_are_in_one_error(tmp_path: Path) -> None:
    numbers(tmp_path / "input")
    spark = session(spark_speculation="true", spark_barrier_sync_timeout="5s")
    with pytest.raises(ConfigError) as refused:
        start(spark, tmp_path)
    message = str(refused.value)
    assert "spark.speculation is true" in message and "spark.barrier.sync.timeout is set" in message
    assert "SparkSession.builder.config(NAME, VALUE)" in message
    assert spark.range(3).count() == 3
    assert not (tmp_path / "checkpoints" / "small").exists(), "the job has not started"


def test_a_job_ends_with_a_clear_error_if_the_user_stops_the_session(tmp_path: Path) -> None:
    numbers(tmp_path / "input")
    spark = session(spark_python_daemon_module="weir.spark.daemon")
    run = start(spark, tmp_path)
    run.checkpoint()
    spark.stop()
    with pytest.raises(JobFailed, match=r"SlotError: Spark has ended, so the job cannot continue"):
        run.await_termination(120)
    with pytest.raises(ConfigError, match="The Spark session is stopped. Create a new session"):
        start(spark, tmp_path)


def test_without_a_session_weir_creates_one_and_closes_it_at_the_end(tmp_path: Path) -> None:
    numbers(tmp_path / "input")
    run = start(None, tmp_path)
    with pytest.raises(ConfigError, match="was created by Weir for another job"):
        start(None, tmp_path)
    run.stop()
    assert SparkSession.getActiveSession() is None
