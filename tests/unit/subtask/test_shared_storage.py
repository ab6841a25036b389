"""A checkpoint directory that slots do not share with the driver is noticed before anything is written to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from weir.errors import ConfigError, Retry
from weir.storage.local import LocalStorage
from weir.storage.memory import MemoryStorage
from weir.subtask.shared_storage import SharedStorage


def test_a_slot_that_finds_the_mark_of_its_driver_goes_on(tmp_path: Path) -> None:
    SharedStorage(LocalStorage(tmp_path), "a job", 7).announce()
    slot = SharedStorage(LocalStorage(tmp_path), "a job", 7)
    slot.check()
    SharedStorage(LocalStorage(tmp_path), "a job", 7).withdraw()
    slot.check()


def test_a_directory_of_the_same_name_elsewhere_is_refused_for_good(tmp_path: Path) -> None:
    SharedStorage(LocalStorage(tmp_path / "driver"), "job", 7).announce()
    with pytest.raises(ConfigError, match="is not the same one on .* file system that all machines share") as caught:
        SharedStorage(LocalStorage(tmp_path / "slot"), "job", 7).check()
    assert caught.value.retry is Retry.NEVER


def test_the_mark_of_another_run_is_none() -> None:
    storage = MemoryStorage()
    SharedStorage(storage, "job", 7).announce()
    with pytest.raises(ConfigError):
        SharedStorage(storage, "job", 8).check()


def test_a_run_takes_its_mark_away_and_those_of_runs_that_it_has_fenced() -> None:
    storage = MemoryStorage()
    died, mine, other_job = SharedStorage(storage, "job", 7), SharedStorage(storage, "job", 8), SharedStorage(storage, "other", 9)
    for one in (died, mine, other_job):
        one.announce()
    fenced = mine.others()
    assert len(fenced) == 1
    mine.withdraw(fenced)
    assert [found.path for found in storage.list("")] == [".weir-probe/other/run-9"]
