"""The output of `make demo-runtime`, and the commands that it suggests."""

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
from tests.integration.demo.demo_output import check_both_jobs
from weir_command import ROOT, refuse_tracebacks

from weir.spark.java_home import find_java

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]
GUIDE = ROOT / "docs" / "checkpoints.md"
DEMO = [sys.executable, str(ROOT / "examples" / "demo_runtime.py")]


def run(line: list[str]) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(line, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=800, check=False)
    refuse_tracebacks(done.stdout + done.stderr)
    return done


@pytest.fixture(scope="module")
def demo_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def output(demo_root: Path) -> str:
    """The text that the demo prints."""
    done = run([*DEMO, "--directory", str(demo_root)])
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return done.stdout


def suggested(output: str) -> list[str]:
    after = output.partition("Try next:\n")[2]
    return [line.strip() for line in after.splitlines() if line.strip() and not line.strip().startswith("#")]


def test_the_output_is_correct_although_a_slot_of_each_job_is_killed(output: str) -> None:
    assert len(re.findall(r"checkpoint \d+ completed: kill -9 \d+", output)) == 2
    check_both_jobs(output)


def test_all_suggested_commands_succeed(output: str) -> None:
    lines = suggested(output)
    assert [shlex.split(line)[1] for line in lines] == ["graph", "checkpoints", "checkpoints", "run", "examples/demo_runtime.py"]
    for line in lines:
        done = run(shlex.split(line))
        assert done.returncode == 0, f"{line}: {done.stdout} {done.stderr}"


@pytest.mark.usefixtures("output")
def test_the_code_in_the_checkpoint_guide_reads_the_checkpoints_of_the_demo(demo_root: Path, tmp_path: Path) -> None:
    with_polars, with_spark, _with_duckdb = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    program = (with_polars + with_spark).replace("build/demo", str(demo_root))
    (tmp_path / "reading.py").write_text(program)
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    find_java(environment)
    done = subprocess.run(
        [sys.executable, "reading.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"UA +┆ \d+ +┆ \d+\.\d+", done.stdout), "Polars prints a carrier with its mean delay"
    assert re.search(r"\|   JFK\| +\d+\|", done.stdout), "Spark prints an origin with its number of flights"


@pytest.mark.usefixtures("output")
def test_output_with_an_additional_row_fails_the_verification(demo_root: Path) -> None:
    routes = demo_root / "output" / "flights" / "routes"
    additional = pa.table({"origin": ["EWR"], "dest": ["LAX"], "flights": [1], "minutes": [7]})
    published = next(routes.glob("*/*.parquet"))
    pq.write_table(additional.cast(pq.read_schema(published)), published.with_name("part-additional.parquet"))
    done = run([*DEMO, "--verify", "--directory", str(demo_root)])
    assert done.returncode == 1
    assert "EQUAL: delays per carrier" in done.stdout
    assert "UNEQUAL: running counts per route" in done.stdout
    assert "EWR, LAX, 1, 7: 1 x, expected 0 x" in done.stdout
    assert "FAILED: The committed output differs from the batch computation: running counts per route" in done.stdout


def test_a_verification_of_missing_output_fails_with_a_hint(tmp_path: Path) -> None:
    done = run([*DEMO, "--verify", "--directory", str(tmp_path)])
    assert done.returncode == 1
    assert f"FAILED: Nothing to compare in {tmp_path}" in done.stdout
    assert not list(tmp_path.iterdir())
