"""What `make demo-runtime` does, and that everything it tells people to type works."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.integration.demo.proof import both_jobs_recovered_and_are_equal
from weir_command import ROOT, refuse_tracebacks

from weir.spark.java import find_java

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]
GUIDE = ROOT / "docs" / "checkpoints.md"
DEMO = [sys.executable, str(ROOT / "examples" / "demo_runtime.py")]


def command(line: list[str]) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(line, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=800, check=False)
    refuse_tracebacks(done.stdout + done.stderr)
    return done


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def told(place: Path) -> str:
    """What the demo printed."""
    done = command([*DEMO, "--directory", str(place)])
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return done.stdout


def proposed(told: str) -> list[str]:
    after = told.partition("Try next:\n")[2]
    return [line.strip() for line in after.splitlines() if line.strip() and not line.strip().startswith("#")]


def test_it_kills_a_worker_of_each_job_recovers_and_proves_the_output_equal(told: str) -> None:
    assert len(re.findall(r"checkpoint \d+ is completed: kill -9 \d+", told)) == 2
    both_jobs_recovered_and_are_equal(told)


def test_everything_that_it_proposes_to_type_works(told: str) -> None:
    lines = proposed(told)
    assert [shlex.split(line)[1] for line in lines] == ["graph", "checkpoints", "checkpoints", "run", "examples/demo_runtime.py"]
    for line in lines:
        done = command(shlex.split(line))
        assert done.returncode == 0, f"{line}: {done.stdout} {done.stderr}"


@pytest.mark.usefixtures("told")
def test_its_checkpoints_can_be_read_as_the_guide_says(place: Path, tmp_path: Path) -> None:
    with_polars, with_spark, _with_duckdb = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    program = (with_polars + with_spark).replace("build/demo", str(place))
    (tmp_path / "reading.py").write_text(program)
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    find_java(environment)
    done = subprocess.run(
        [sys.executable, "reading.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"UA +┆ \d+ +┆ \d+\.\d+", done.stdout), "polars shows a carrier with its mean"
    assert re.search(r"\|   JFK\| +\d+\|", done.stdout), "Spark shows an origin with its flights"


@pytest.mark.usefixtures("told")
def test_output_that_differs_by_one_row_is_found_and_ends_with_exit_code_1(place: Path) -> None:
    routes = place / "output" / "flights" / "routes"
    one_more = pa.table({"origin": ["EWR"], "dest": ["LAX"], "flights": [1], "minutes": [7]})
    pq.write_table(one_more.cast(pq.read_schema(next(routes.glob("*.parquet")))), routes / "part-from-elsewhere.parquet")
    done = command([*DEMO, "--verify", "--directory", str(place)])
    assert done.returncode == 1
    assert "EQUAL: delays per carrier" in done.stdout
    assert "UNEQUAL: running counts per route" in done.stdout
    assert "EWR, LAX, 1, 7: 1 x, expected 0 x" in done.stdout
    assert "FAILED: the committed output is not that of the batch computation: running counts per route" in done.stdout


def test_output_that_is_not_there_ends_with_exit_code_1_and_what_to_do(tmp_path: Path) -> None:
    done = command([*DEMO, "--verify", "--directory", str(tmp_path)])
    assert done.returncode == 1
    assert f"FAILED: there is nothing to compare in {tmp_path}" in done.stdout
    assert not list(tmp_path.iterdir())
