"""Where a run begins, by what the log of the job says."""

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
    """With checkpoints 1 to 3 of the job."""
    storage = LocalStorage(str(tmp_path))
    job = RunningJob(storage)
    job.start(1)
    for number in (1, 2, 3):
        job.complete(number)
    return storage


def begun(storage: LocalStorage, mode: Fresh | Resume | FromCheckpoint) -> int | None:
    manifest = find_start(storage, JOB, mode).manifest
    return int(manifest.checkpoint) if manifest is not None else None


def test_a_job_goes_on_with_its_newest_checkpoint_or_back_to_a_chosen_one(storage: LocalStorage) -> None:
    assert begun(storage, Resume()) == 3
    assert begun(storage, Resume(at_least=CheckpointId(3))) == 3
    assert begun(storage, FromCheckpoint(CheckpointId(2))) == 2
    assert begun(storage, FromCheckpoint(None)) is None


def test_a_history_is_not_begun_anew_by_mistake(storage: LocalStorage) -> None:
    with pytest.raises(ConfigError, match=f"job '{JOB}' has a history in .* .newest checkpoint 3.*--resume"):
        begun(storage, Fresh())


def test_nothing_is_begun_where_the_job_has_not_come_as_far_as_it_is_known_to_have(storage: LocalStorage, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"has completed checkpoint 4, and its log in .* ends at checkpoint 3: .*backup"):
        begun(storage, Resume(at_least=CheckpointId(4)))
    empty = LocalStorage(str(tmp_path / "mounted-elsewhere"))
    with pytest.raises(
        StorageError, match=r"has completed checkpoint 3, and its log in .* is not there: is the right directory mounted"
    ):
        begun(empty, Resume(at_least=CheckpointId(3)))
    assert begun(empty, Resume()) is None
