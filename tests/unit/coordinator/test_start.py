"""Finding the checkpoint that a run starts from."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.storage.storage_builders import JOB, RunningJob

from weir.coordinator.start import Fresh, FromCheckpoint, Resume, find_start
from weir.errors import ConfigError, StorageError
from weir.protocol.ids import CheckpointId
from weir.storage.local import LocalStorage


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    """Storage in which the job completed checkpoints 1 to 3."""
    storage = LocalStorage(str(tmp_path))
    job = RunningJob(storage)
    job.start(1)
    for number in (1, 2, 3):
        job.complete(number)
    return storage


def start_checkpoint(storage: LocalStorage, mode: Fresh | Resume | FromCheckpoint) -> int | None:
    manifest = find_start(storage, JOB, mode).manifest
    return int(manifest.checkpoint) if manifest is not None else None


def test_a_job_starts_from_its_newest_checkpoint_or_the_requested_one(storage: LocalStorage) -> None:
    assert start_checkpoint(storage, Resume()) == 3
    assert start_checkpoint(storage, Resume(at_least=CheckpointId(3))) == 3
    assert start_checkpoint(storage, FromCheckpoint(CheckpointId(2))) == 2
    assert start_checkpoint(storage, FromCheckpoint(None)) is None


def test_a_start_without_resume_is_refused_if_the_job_already_exists(storage: LocalStorage) -> None:
    with pytest.raises(ConfigError, match=f"job '{JOB}' already exists in .* .newest checkpoint 3.*--resume"):
        start_checkpoint(storage, Fresh())


def test_a_resume_is_refused_if_the_log_lacks_a_checkpoint_that_the_control_plane_reports(
    storage: LocalStorage, tmp_path: Path
) -> None:
    with pytest.raises(StorageError, match=r"has completed checkpoint 4, but its log in .* ends at checkpoint 3.*backup"):
        start_checkpoint(storage, Resume(at_least=CheckpointId(4)))
    empty = LocalStorage(str(tmp_path / "mounted-elsewhere"))
    with pytest.raises(
        StorageError,
        match=r"has completed checkpoint 3, but its log in .* does not exist. Check that the right directory is mounted",
    ):
        start_checkpoint(empty, Resume(at_least=CheckpointId(3)))
    assert start_checkpoint(empty, Resume()) is None
