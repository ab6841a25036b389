"""Detects a checkpoint directory that slots do not share with the driver, before checkpoints are written to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from weir.errors import ConfigError, Retry
from weir.storage.local import LocalStorage
from weir.storage.memory import MemoryStorage
from weir.storage.probe import SharedStorageMarker


def test_a_slot_accepts_a_directory_that_contains_the_marker_of_its_driver(tmp_path: Path) -> None:
    SharedStorageMarker(LocalStorage(tmp_path), "a job", 7).write()
    slot = SharedStorageMarker(LocalStorage(tmp_path), "a job", 7)
    slot.check()
    SharedStorageMarker(LocalStorage(tmp_path), "a job", 7).delete()
    slot.check()


def test_a_slot_refuses_a_directory_that_has_the_same_path_but_is_on_a_different_host(tmp_path: Path) -> None:
    SharedStorageMarker(LocalStorage(tmp_path / "driver"), "job", 7).write()
    with pytest.raises(
        ConfigError, match="differs from the checkpoint directory on the driver's host.* file system that all hosts share"
    ) as caught:
        SharedStorageMarker(LocalStorage(tmp_path / "slot"), "job", 7).check()
    assert caught.value.retry is Retry.NEVER


def test_a_slot_does_not_accept_the_marker_of_a_different_run() -> None:
    storage = MemoryStorage()
    SharedStorageMarker(storage, "job", 7).write()
    with pytest.raises(ConfigError):
        SharedStorageMarker(storage, "job", 8).check()


def test_a_run_deletes_its_own_marker_and_the_markers_of_fenced_runs() -> None:
    storage = MemoryStorage()
    fenced_run, new_run, other_job = (
        SharedStorageMarker(storage, "job", 7),
        SharedStorageMarker(storage, "job", 8),
        SharedStorageMarker(storage, "other", 9),
    )
    for one in (fenced_run, new_run, other_job):
        one.write()
    fenced = new_run.other_markers()
    assert len(fenced) == 1
    new_run.delete(fenced)
    assert [found.path for found in storage.list("")] == [".weir-probe/other/run-9"]
