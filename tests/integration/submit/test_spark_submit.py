"""An application that spark-submit runs on a standalone cluster, in client mode."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import small_job
from pyspark.find_spark_home import _find_spark_home
from pyspark.sql import SparkSession
from small_job import ROWS, expected_totals, numbers, totals
from tests.standalone_cluster import StandaloneCluster

import weir
from weir.errors import ConfigError
from weir.spark import jvm

pytestmark = [pytest.mark.spark, pytest.mark.slow]
APP = Path(__file__).with_name("submitted_job.py")
CLI_TESTS = APP.parents[1] / "cli"
TIMEOUT_S = 300


@pytest.fixture(scope="module")
def cluster() -> Iterator[StandaloneCluster]:
    with StandaloneCluster(workers=1, cores=2, memory_mb=512) as cluster:
        yield cluster


def submit(cluster: StandaloneCluster, root: Path, *, rate: int, interval_s: float) -> subprocess.Popen[str]:
    properties = root / "spark.properties"
    properties.touch(0o600)
    settings = {**cluster.session_settings(), "spark.driver.host": "127.0.0.1", "spark.driver.memory": "512m"}
    properties.write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    command = [
        str(Path(_find_spark_home(), "bin", "spark-submit")),
        *("--master", cluster.master_url, "--properties-file", str(properties), "--py-files", str(CLI_TESTS / "small_job.py")),
        *(str(APP), str(root), str(rate), str(interval_s)),
    ]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK_", "SPARK_"))}
    environment |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, env=environment
    )


def test_sigterm_to_spark_submit_takes_a_final_checkpoint_and_the_next_submission_continues(
    cluster: StandaloneCluster, tmp_path: Path
) -> None:
    numbers(tmp_path / "input")
    with submit(cluster, tmp_path, rate=200, interval_s=0.0) as submitted:
        assert submitted.stdout is not None and submitted.stderr is not None
        line = submitted.stdout.readline()
        assert line == f"started on {cluster.master_url}\n", line + submitted.stderr.read()
        line = submitted.stdout.readline()
        assert line == "running\n"
        submitted.send_signal(signal.SIGTERM)
        out, err = submitted.communicate(timeout=TIMEOUT_S)
    assert "outcome suspended" in out, out + err
    committed = pq.read_table(tmp_path / "output", partitioning=None).num_rows
    assert 0 < committed < ROWS, "only the final checkpoint has published output"

    with submit(cluster, tmp_path, rate=0, interval_s=0.2) as submitted:
        out, err = submitted.communicate(timeout=TIMEOUT_S)
    assert submitted.returncode == 0 and "outcome finished" in out, out + err
    assert totals(tmp_path / "output") == expected_totals()
    assert not re.search(r"Traceback", out + err), out + err


def test_sigterm_to_a_script_takes_a_final_checkpoint_and_then_ends_the_script(tmp_path: Path) -> None:
    """The script runs without spark-submit, in a session that Weir creates."""
    numbers(tmp_path / "input")
    environment = {**os.environ, "PYTHONPATH": str(CLI_TESTS)}
    command = [sys.executable, str(APP), str(tmp_path), "200"]
    with subprocess.Popen([*command, "0"], stdout=subprocess.PIPE, text=True, env=environment) as script:
        assert script.stdout is not None
        assert [script.stdout.readline() for _ in range(2)] == ["started on local[2,4]\n", "running\n"]
        script.send_signal(signal.SIGTERM)
        assert script.wait(TIMEOUT_S) == -signal.SIGTERM
    assert 0 < pq.read_table(tmp_path / "output", partitioning=None).num_rows < ROWS

    again = subprocess.run(
        [*command[:-1], "0", "0.2"], env=environment, check=True, timeout=TIMEOUT_S, stdout=subprocess.PIPE, text=True
    )
    assert "outcome finished" in again.stdout
    assert totals(tmp_path / "output") == expected_totals()


def test_a_session_whose_executors_lack_weir_is_refused_and_the_session_stays_open(
    cluster: StandaloneCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    venv.create(tmp_path / "bare", with_pip=False)
    monkeypatch.setenv("PYSPARK_PYTHON", str(tmp_path / "bare" / "bin" / "python"))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    numbers(tmp_path / "input")
    builder = SparkSession.builder.master(cluster.master_url).config("spark.driver.host", "127.0.0.1")
    settings = {
        **cluster.session_settings(),
        "spark.authenticate": "true",
        "spark.speculation": "true",
        "spark.ui.enabled": "false",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    try:
        with pytest.raises(ConfigError) as refused:
            weir.run(
                small_job.job,
                spark=spark,
                params={"input": str(tmp_path / "input"), "output": str(tmp_path / "output")},
                checkpoint_dir=tmp_path / "checkpoints",
            )
        problems = [line for line in str(refused.value).splitlines() if line.startswith("  - ")]
        assert len(problems) == 3
        assert "spark.speculation is true" in problems[0] and "spark.network.crypto.enabled is not true" in problems[1]
        assert "bare/bin/python" in problems[2] and "has no module weir. Install weir-streaming[runtime]" in problems[2]
        assert spark.range(5).count() == 5
        assert not (tmp_path / "checkpoints" / "small").exists()
    finally:
        spark.stop()
        jvm.end()
