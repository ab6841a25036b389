"""An application that spark-submit runs on a standalone cluster, in client mode."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.find_spark_home import _find_spark_home
from small_job import ROWS, expected_totals, numbers, totals
from tests.standalone_cluster import StandaloneCluster

pytestmark = [pytest.mark.spark, pytest.mark.slow]
APP = Path(__file__).with_name("submitted_job.py")
CLI_TESTS = APP.parents[1] / "cli"
TIMEOUT_S = 300


@pytest.fixture(scope="module")
def cluster() -> Iterator[StandaloneCluster]:
    with StandaloneCluster(workers=1, cores=2, memory_mb=512) as cluster:
        yield cluster


def submit(cluster: StandaloneCluster, root: Path, *, rate: int) -> subprocess.Popen[str]:
    properties = root / "spark.properties"
    properties.touch(0o600)
    settings = {**cluster.session_settings(), "spark.driver.host": "127.0.0.1", "spark.driver.memory": "512m"}
    properties.write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    command = [
        str(Path(_find_spark_home(), "bin", "spark-submit")),
        *("--master", cluster.master_url, "--properties-file", str(properties), "--py-files", str(CLI_TESTS / "small_job.py")),
        *(str(APP), str(root), str(rate)),
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
    with submit(cluster, tmp_path, rate=200) as submitted:
        assert submitted.stdout is not None and submitted.stderr is not None
        line = submitted.stdout.readline()
        assert line == f"started on {cluster.master_url}\n", line + submitted.stderr.read()
        line = submitted.stdout.readline()
        assert line == "checkpoint\n"
        submitted.send_signal(signal.SIGTERM)
        out, err = submitted.communicate(timeout=TIMEOUT_S)
    assert "outcome suspended" in out, out + err
    committed = pq.read_table(tmp_path / "output", partitioning=None).num_rows
    assert 0 < committed < ROWS

    with submit(cluster, tmp_path, rate=0) as submitted:
        out, err = submitted.communicate(timeout=TIMEOUT_S)
    assert submitted.returncode == 0 and "outcome finished" in out, out + err
    assert totals(tmp_path / "output") == expected_totals()
    assert not re.search(r"Traceback", out + err), out + err
