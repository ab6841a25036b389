from __future__ import annotations

from pathlib import Path

import pytest
from small_job import numbers
from weir_command import ROOT, weir

pytestmark = pytest.mark.spark


def test_too_few_slots_are_refused_before_the_job_starts(tmp_path: Path) -> None:
    job = ROOT / "tests" / "integration" / "cli" / "small_job.py"
    settings = ["--set", f"input={numbers(tmp_path / 'input')}", "--set", f"output={tmp_path / 'output'}"]
    result = weir(
        "run", job, *settings, "--checkpoint-dir", tmp_path / "checkpoints", "--master", "local[1]", "--parallelism", "3"
    )
    assert result.code == 2
    assert "Too few task slots: the job needs 3, but local[1,4] has 1 free (executors: 1)" in result.message
    assert "Lower the parallelism, or give the application more cores" in result.message
    assert not (tmp_path / "output").exists()
    assert not list((tmp_path / "checkpoints").rglob("*.json")), "the job has no checkpoints"
