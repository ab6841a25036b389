"""Finding the checkpoint that a run starts from."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.storage.storage_builders import JOB, RunningJob, retired

from weir.coordinator.start import (
    FirstNumbers,
    Fresh,
    FromCheckpoint,
    Resume,
    find_start,
    skip_known_checkpoints,
    verify_rollback,
)
from weir.errors import CheckpointError, ConfigError, StorageError
from weir.protocol.ids import CheckpointId, Generation
from weir.protocol.log_view import SKIPPED_IDS_MAX
from weir.storage.base import CheckpointStorage
from weir.storage.layout import JobLayout
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


def test_a_job_starts_from_its_newest_checkpoint_or_from_the_requested_checkpoint(storage: LocalStorage) -> None:
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


def test_a_user_can_resume_from_an_older_backup_but_not_from_an_empty_directory(storage: LocalStorage, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"To continue from an older backup, start the job again with --revoke-unknown-output"):
        start_checkpoint(storage, Resume(at_least=CheckpointId(500)))
    from_backup = Resume(at_least=CheckpointId(500), older_allowed=True)
    assert start_checkpoint(storage, from_backup) == 3
    with pytest.raises(StorageError, match=r"does not exist\. .* backup\. The job was not started"):
        start_checkpoint(LocalStorage(str(tmp_path / "mounted-elsewhere")), from_backup)


def test_a_run_from_an_older_backup_skips_the_checkpoint_ids_that_the_backup_does_not_contain() -> None:
    known = Resume(at_least=CheckpointId(500), older_allowed=True)
    assert skip_known_checkpoints(FirstNumbers(), known) == FirstNumbers(checkpoint=CheckpointId(501 + SKIPPED_IDS_MAX))
    higher = FirstNumbers(Generation(7), CheckpointId(900), ("revoked",))
    assert skip_known_checkpoints(higher, known) == higher
    assert skip_known_checkpoints(FirstNumbers(), Resume()) == FirstNumbers()


def _delete_state(storage: CheckpointStorage, checkpoint: int) -> None:
    manifest = find_start(storage, JOB, FromCheckpoint(CheckpointId(checkpoint))).manifest
    assert manifest is not None
    storage.delete([JobLayout(JOB).absolute(file.path) for file in manifest.referenced_files()])


def test_a_rollback_to_a_checkpoint_with_a_missing_file_is_refused(storage: LocalStorage) -> None:
    _delete_state(storage, 2)
    with pytest.raises(
        CheckpointError, match=r"Cannot restore checkpoint 2: file://.* is missing\. Nothing was changed\. .*--from.*--resume"
    ):
        verify_rollback(storage, JOB, FromCheckpoint(CheckpointId(2)))
    imported = FromCheckpoint(CheckpointId(2), verified=True)
    for allowed in (FromCheckpoint(CheckpointId(3)), FromCheckpoint(None), Resume(), imported):
        verify_rollback(storage, JOB, allowed)


class _RetiringStorage(LocalStorage):
    """The storage of a running job. Before the first read of a state file, the job retires checkpoint 1 and deletes the state
    files of this checkpoint."""

    job: RunningJob | None = None

    def get(self, path: str) -> memoryview:
        if "/state/" in path and self.job is not None:
            job, self.job = self.job, None
            _delete_state(job.storage, 1)
            job.append(retired(1, 1))
        return super().get(path)


def test_a_checkpoint_that_is_retired_during_its_verification_is_reported_as_retired(
    storage: LocalStorage, tmp_path: Path
) -> None:
    retiring = _RetiringStorage(str(tmp_path))
    retiring.job = RunningJob(storage)
    with pytest.raises(CheckpointError, match="retired"):
        verify_rollback(retiring, JOB, FromCheckpoint(CheckpointId(1)))
