"""Resuming a job from checkpoints that an older version of Weir wrote. These checkpoints are stored in tests/data."""

from __future__ import annotations

import json
import runpy
import tarfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from weir.api.job_loader import load_job
from weir.connectors.stats_sink import Totals
from weir.coordinator.start import Resume
from weir.kernel.effects import JobOutcome
from weir.protocol.codec import dump_json
from weir.spark.launch import RunOptions, run_job
from weir.storage.base import checksum

pytestmark = pytest.mark.spark
DATA = Path(__file__).resolve().parents[2] / "data" / "checkpoints_22a160e"
WRITTEN_IN = "/tmp/weir-stored"
"""The directory in which write.sh ran the job. The manifests contain paths of the job's input and output in this directory."""


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A copy, in ``tmp_path``, of the directory that the older version of Weir wrote. The fixture adapts the paths in the
    manifests, and the checksums of the manifests in the job log."""
    with tarfile.open(DATA / "stored.tar.gz") as archive:
        # In Python 3.11.3 and older, ``tarfile`` has no filters.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(tmp_path)
    root = tmp_path / Path(WRITTEN_IN).name
    job = root / "checkpoints" / "upgraded"
    checksums = {}
    for manifest in job.glob("checkpoints/*/manifest-*.json"):
        written = manifest.read_bytes()
        moved = written.replace(WRITTEN_IN.encode(), str(root).encode())
        manifest.write_bytes(moved)
        checksums[checksum((written,))] = checksum((moved,))
    for path in job.glob("log/*.json"):
        text = path.read_text()
        for old, new in checksums.items():
            text = text.replace(old, new)
        if text != path.read_text():
            entry = json.loads(text)["entry"]
            path.write_bytes(dump_json({"checksum": checksum((dump_json(entry),)), "entry": entry}))
    return root


def test_the_stored_directory_contains_every_kind_of_data(stored: Path) -> None:
    """The test that resumes the stored job covers only the kinds of data that this directory contains."""
    log = [json.loads(path.read_text()) for path in sorted(stored.glob("checkpoints/upgraded/log/*.json"))]
    kinds = [entry["entry"]["entry"] for entry in log]
    assert kinds[0] == "LogSummarised", "the log was trimmed"
    assert {"GenerationStarted", "CheckpointCompleted", "CheckpointRetired", "BranchAbandoned"} <= set(kinds)
    assert list(stored.glob("checkpoints/upgraded/state/*/*")), "keyed state"
    for output in ("sums", "thirds"):
        assert list(stored.glob(f"output/{output}/part-*")), "published"
        assert list(stored.glob(f"output/{output}/_weir/abandoned/*/*/part-*")), "revoked"
        assert list(stored.glob(f"output/{output}/_weir/staging/*")), "staged"


def test_a_job_of_an_older_weir_version_is_resumed_and_its_output_is_exact(stored: Path) -> None:
    job = load_job(f"{DATA / 'job.py'}", {"root": str(stored)})
    result = run_job(job, RunOptions(checkpoint_dir=str(stored / "checkpoints"), start=Resume(), interval_ms=500))
    assert result.outcome is JobOutcome.FINISHED, result.reason
    numbers: dict[str, list[int | None]] = runpy.run_path(str(DATA / "job.py"))["records"]()
    assert sums(stored) == expected_sums(numbers)
    thirds = pq.read_table(stored / "output" / "thirds", partitioning=None).to_pylist()
    records = [(key, number) for key, values in numbers.items() for number in values]
    assert sorted((row["key"], row["number"]) for row in thirds) == sorted(
        (key, number) for key, number in records if number is not None and number % 3 == 0
    )
    total = sum(number for _, number in records if number is not None)
    assert result.results["totals"] == Totals(rows=len(records), sums={"number": total})


def sums(root: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the committed updates of each key, ordered by their number of rows."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path in (root / "output" / "sums").glob("*/part-*"):
        for line in path.read_text().splitlines():
            row = json.loads(line)
            found.setdefault(row.pop("key"), []).append(row)
    return {key: sorted(rows, key=lambda row: int(row["rows"])) for key, rows in found.items()}


def expected_sums(numbers: dict[str, list[int | None]]) -> dict[str, list[dict[str, Any]]]:
    return {key: [_update(values[: rows + 1]) for rows in range(len(values))] for key, values in numbers.items()}


def _update(values: list[int | None]) -> dict[str, Any]:
    present = [value for value in values if value is not None]
    return {
        "rows": len(values),
        "numbers": len(present),
        "total": sum(present) if present else None,
        "smallest": min(present, default=None),
        "largest": max(present, default=None),
        "average": sum(present) / len(present) if present else None,
    }
