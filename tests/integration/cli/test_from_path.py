"""``weir run --from-path`` starts a job from a copy of another job's checkpoint. The other job does not change."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from small_job import expected_totals, totals
from weir_command import JOB, CommandResult, weir

from weir.connectors.files.output_layout import PartName

pytestmark = pytest.mark.spark


def run(root: Path, source: Path, *options: str, function: str = "job") -> CommandResult:
    """Run the job with its input in ``source``, and with its output and checkpoints in ``root``. The checkpoints in ``source``
    contain positions in the same input."""
    return weir(
        "run", f"{JOB}:{function}", "--set", f"input={source / 'input'}", "--set", f"output={root / 'output'}",
        "--checkpoint-dir", root / "checkpoints", "--interval", "none", *options,
    )  # fmt: skip


def contents(directory: Path) -> dict[Path, bytes]:
    return {path.relative_to(directory): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def listed(directory: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(weir("checkpoints", directory / "checkpoints", "--json").out)
    return [one for one in found if one["status"] == "restorable"]


def test_a_job_can_continue_exactly_from_a_checkpoint_of_another_job(finished_once: Path, tmp_path: Path) -> None:
    before = contents(finished_once / "checkpoints")
    chosen, *_ = [int(str(one["checkpoint"])) for one in listed(finished_once)]
    name = f"{finished_once / 'checkpoints'}#{chosen}"

    result = run(tmp_path, finished_once, "--from-path", name, "--parallelism", "3")
    assert result.code == 0, result.err
    assert f"small#{chosen} as checkpoint 1 (" in result.err
    assert contents(finished_once / "checkpoints") == before
    rows = pq.read_table(tmp_path / "output", partitioning=None).num_rows
    assert 0 < rows < 4_000, "records before the checkpoint are only in the output of the other job"

    # Together, the outputs of both jobs are the exact result.
    both = tmp_path / "both"
    shutil.copytree(tmp_path / "output", both)
    for path in (finished_once / "output").glob("*/*.parquet"):
        part = PartName.parse(path.name)
        assert part is not None
        if part.checkpoint <= chosen:
            shutil.copy(path, both / f"earlier-{path.name}")
    assert totals(both) == expected_totals()

    again = run(tmp_path, finished_once, "--from-path", name)
    assert again.code == 2 and "Cannot ask for confirmation: standard input is not a terminal. Add --yes" in again.message
    assert (
        f"Starting job 'small' from file://{finished_once}/checkpoints/small#{chosen} abandons the checkpoints 1, " in again.err
    )
    assert "revokes their output in: out" in again.err
    confirmed = run(tmp_path, finished_once, "--from-path", name, "--yes")
    assert confirmed.code == 0, confirmed.err
    assert pq.read_table(tmp_path / "output", partitioning=None).num_rows == rows, (
        "only the output of the second run is published"
    )


def test_an_incompatible_job_is_refused_before_anything_changes(finished_once: Path, tmp_path: Path) -> None:
    result = run(tmp_path, finished_once, "--from-path", str(finished_once / "checkpoints" / "small"), function="by_other_key")
    assert result.code == 2
    assert "aggregate 'sums'" in result.message and "keyed by (number)" in result.message
    assert not (tmp_path / "checkpoints").exists()


def test_the_option_from_path_excludes_the_options_resume_and_from(tmp_path: Path) -> None:
    for other in (("--resume",), ("--from", "3")):
        result = run(tmp_path, tmp_path, "--from-path", "/somewhere", *other)
        assert result.code == 2 and "--from-path cannot be combined with --resume or --from" in result.message
    result = run(tmp_path, tmp_path, "--from-path", str(tmp_path))
    assert result.code == 2
