"""``weir run --from-path``: what another job's checkpoint holds is gone on with, and that job is left as it is."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from small_job import expected_totals, totals
from weir_command import JOB, Said, weir

from weir.connectors.staging import PartName

pytestmark = pytest.mark.spark


def run(root: Path, source: Path, *options: str, function: str = "job") -> Said:
    """With the input of ``source``, whose checkpoints hold positions in it, and all else in ``root``."""
    return weir(
        "run", f"{JOB}:{function}", "--set", f"input={source / 'input'}", "--set", f"output={root / 'output'}",
        "--checkpoint-dir", root / "checkpoints", "--interval", "none", *options,
    )  # fmt: skip


def contents(directory: Path) -> dict[Path, bytes]:
    return {path.relative_to(directory): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def listed(directory: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(weir("checkpoints", directory / "checkpoints", "--json").out)
    return [one for one in found if one["status"] == "restorable"]


def test_another_job_goes_on_from_it_to_the_exact_result_and_again_with_more_slots(finished_once: Path, tmp_path: Path) -> None:
    before = contents(finished_once / "checkpoints")
    chosen, *_ = [int(str(one["checkpoint"])) for one in listed(finished_once)]
    name = f"{finished_once / 'checkpoints'}#{chosen}"

    said = run(tmp_path, finished_once, "--from-path", name, "--parallelism", "3")
    assert said.code == 0, said.err
    assert f"small#{chosen} is checkpoint 1 of this job now" in said.err
    assert contents(finished_once / "checkpoints") == before
    ours = pq.read_table(tmp_path / "output", partitioning=None).num_rows
    assert 0 < ours < 4_000, "what came before it is in the output of the other job"

    # Both halves together are the output of one job, as if it had never stopped.
    both = tmp_path / "both"
    shutil.copytree(tmp_path / "output", both)
    for path in (finished_once / "output").glob("*.parquet"):
        part = PartName.parse(path.name)
        assert part is not None
        if part.checkpoint <= chosen:
            shutil.copy(path, both / f"earlier-{path.name}")
    assert totals(both) == expected_totals()

    again = run(tmp_path, finished_once, "--from-path", name)
    assert again.code == 2 and "nobody is there to be asked: add --yes" in again.message
    assert f"To begin with file://{finished_once}/checkpoints/small#{chosen} abandons what job 'small' has: 1, " in again.err
    assert "taken back from readers (an undo brings it back): out" in again.err
    agreed = run(tmp_path, finished_once, "--from-path", name, "--yes")
    assert agreed.code == 0, agreed.err
    assert pq.read_table(tmp_path / "output", partitioning=None).num_rows == ours, (
        "the first output is taken back, the second there"
    )


def test_a_job_that_it_does_not_fit_is_refused_before_anything_is_done(finished_once: Path, tmp_path: Path) -> None:
    said = run(tmp_path, finished_once, "--from-path", str(finished_once / "checkpoints" / "small"), function="by_other_key")
    assert said.code == 2
    assert "cannot be the beginning of job 'small': aggregate 'sums'" in said.message and "keyed by number" in said.message
    assert not (tmp_path / "checkpoints").exists()


def test_it_goes_with_no_other_beginning(tmp_path: Path) -> None:
    for other in (("--resume",), ("--from", "3")):
        said = run(tmp_path, tmp_path, "--from-path", "/somewhere", *other)
        assert said.code == 2 and "give neither --resume nor --from" in said.message
    said = run(tmp_path, tmp_path, "--from-path", str(tmp_path))
    assert said.code == 2
