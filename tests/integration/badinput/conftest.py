from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from runs import Runs
from small_job import numbers

from weir.kernel.effects import JobOutcome
from weir.spark.session import LazySession


@pytest.fixture(scope="module")
def session() -> Iterator[LazySession]:
    shared = LazySession("local", 2, app_name="weir-tests", conf={})
    yield shared
    shared.close()


@pytest.fixture
def runs(session: LazySession, tmp_path: Path) -> Runs:
    """A job with input. The job has not run yet."""
    numbers(tmp_path / "input")
    return Runs(session, tmp_path)


@pytest.fixture
def suspended(runs: Runs) -> Runs:
    """A suspended job that has read a part of its input and has checkpoints and committed output."""
    assert runs.until(checkpoints=3).outcome is JobOutcome.SUSPENDED
    return runs
