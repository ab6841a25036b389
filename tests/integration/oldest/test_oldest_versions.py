"""A real job with the oldest versions of Spark, polars, pyarrow and the other packages that the runtime supports."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from oldest_environment import oldest_environment
from small_job import expected_totals, numbers, totals
from weir_command import JOB, ROOT, arguments

from demo_slots import slot_processes
from weir.spark.java_home import find_java

pytestmark = [pytest.mark.spark, pytest.mark.slow]
TIMEOUT_S = 300


@pytest.fixture(scope="module")
def python() -> Path:
    return oldest_environment()


def environment(python: Path) -> dict[str, str]:
    """Return the environment variables of a driver. Compiled kernels have a separate cache, because two versions of numba delete
    each other's kernels in a shared cache."""
    find_java()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK_", "SPARK_"))}
    path = os.pathsep.join((str(ROOT / "runtime"), str(JOB.parent), str(ROOT / "tests")))
    return kept | {"PYTHONPATH": path, "NUMBA_CACHE_DIR": str(python.parents[1] / "numba")}


def test_the_environment_has_the_lowest_versions_that_pyproject_allows(python: Path) -> None:
    code = "import pyspark, polars, pyarrow, numba; print(pyspark.__version__, polars.__version__, pyarrow.__version__)"
    versions = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert versions == ["4.1.0", "2.0.0", "25.0.0"]


def test_a_job_survives_the_kill_of_a_slot_and_of_its_driver_and_resumes_in_a_session_of_the_user(
    python: Path, tmp_path: Path
) -> None:
    numbers(tmp_path / "input")
    command = [str(python), "-m", "weir.cli", "run", *arguments(tmp_path), "--interval", "200ms", "--log-format", "json"]
    options = {"env": environment(python), "cwd": tmp_path, "stdin": subprocess.DEVNULL}
    with subprocess.Popen([*command, "--verbose", "--set", "rate=100"], stderr=subprocess.PIPE, **options) as driver:  # type: ignore[call-overload]
        logged = events(driver)
        next(event for event in logged if event["event"] == "checkpoint completed")
        os.kill(slot_processes(driver.pid)[0], signal.SIGKILL)
        next(event for event in logged if event["event"] == "recovered")
        next(event for event in logged if event["event"] == "checkpoint completed")
        driver.kill()

    app = ROOT / "tests" / "integration" / "oldest" / "session_app.py"
    resumed = subprocess.run(
        [python, app, tmp_path],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        **options,  # type: ignore[call-overload]
    )
    assert resumed.returncode == 0, resumed.stderr
    ended = json.loads(resumed.stdout.splitlines()[-1])
    assert ended["savepoint"] is not None
    assert (ended["outcome"], ended["usable"], ended["spark"]) == ("finished", 3, "4.1.0")
    assert totals(tmp_path / "output") == expected_totals()


def events(running: subprocess.Popen[bytes]) -> Iterator[dict[str, object]]:
    """Yield each line of standard error, parsed as JSON."""
    assert running.stderr is not None
    return (json.loads(line) for line in running.stderr)
