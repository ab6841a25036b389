from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from small_job import job, numbers

from weir import Params
from weir.kernel.effects import JobOutcome
from weir.spark.launch import RunOptions, run_job


@pytest.fixture(scope="session")
def finished_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Input, output and several checkpoints of a finished job."""
    root = tmp_path_factory.mktemp("finished")
    numbers(root / "input")
    settings = {"input": str(root / "input"), "output": str(root / "output"), "rate": 2_000}
    options = RunOptions(checkpoint_dir=str(root / "checkpoints"), interval_ms=200, retained=4)
    result = run_job(job(Params(settings)), options)
    assert result.outcome is JobOutcome.FINISHED
    return root


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A directory that contains only the input."""
    numbers(tmp_path / "input")
    return tmp_path


@pytest.fixture
def finished(finished_once: Path, tmp_path: Path) -> Path:
    """A copy of ``finished_once`` that a test can change. The copied checkpoints still contain the original output path."""
    shutil.copytree(finished_once, tmp_path / "finished")
    return tmp_path / "finished"
