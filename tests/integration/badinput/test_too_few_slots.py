from __future__ import annotations

from pathlib import Path

import pytest
from small_job import numbers
from weir_command import ROOT, weir

pytestmark = pytest.mark.spark


def test_too_few_slots_for_the_parallelism_are_refused_with_both_numbers_and_nothing_is_started(tmp_path: Path) -> None:
    job = ROOT / "tests" / "integration" / "cli" / "small_job.py"
    settings = ["--set", f"input={numbers(tmp_path / 'input')}", "--set", f"output={tmp_path / 'output'}"]
    said = weir("run", job, *settings, "--checkpoint-dir", tmp_path / "checkpoints", "--master", "local[1]", "--parallelism", "3")
    assert said.code == 2
    assert "too few slots: the job needs 3 slots, one core each, and local[1,4] offers 1" in said.message
    assert "Lower the parallelism, or give the application more cores" in said.message
    assert not (tmp_path / "output").exists()
    assert not list((tmp_path / "checkpoints").rglob("*.json")), "it has no history: the next try starts from nothing"
