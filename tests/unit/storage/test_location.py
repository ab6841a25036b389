"""Parsing checkpoint paths that users write."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.storage.storage_builders import JOB, RunningJob

from weir.errors import ConfigError
from weir.storage.layout import JobLayout
from weir.storage.local import LocalStorage
from weir.storage.location import locate_job, parse_checkpoint_path


@pytest.mark.parametrize(
    ("text", "path", "checkpoint"),
    [
        ("/srv/cp", "/srv/cp", None),
        ("/srv/cp#12", "/srv/cp", 12),
        ("s3://bucket/a#b#3", "s3://bucket/a#b", 3),
        ("/srv/with#sharp", "/srv/with#sharp", None),
    ],
)
def test_a_number_after_a_hash_sign_in_the_path_is_the_checkpoint_id(text: str, path: str, checkpoint: int | None) -> None:
    assert parse_checkpoint_path(text) == (path, checkpoint)


@pytest.mark.parametrize("text", ["", "/srv/cp#0"])
def test_an_invalid_checkpoint_path_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="Write DIRECTORY|start at 1"):
        parse_checkpoint_path(text)


def test_a_job_is_found_by_the_path_of_its_checkpoint_storage_or_of_its_own_directory(tmp_path: Path) -> None:
    RunningJob(LocalStorage(tmp_path)).start(1)
    own = tmp_path / JobLayout(JOB).root
    for path in (str(tmp_path), f"{tmp_path}/", str(own), tmp_path.as_uri(), own.as_uri()):
        found = locate_job(path)
        assert (found.layout, found.storage.url) == (JobLayout(JOB), tmp_path.as_uri())


def test_a_path_to_a_directory_with_several_jobs_is_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        RunningJob(LocalStorage(tmp_path), layout=JobLayout(name)).start(1)
    with pytest.raises(ConfigError, match="contains several jobs: a, b. Name the directory of one job"):
        locate_job(str(tmp_path))
    assert locate_job(str(tmp_path / "b")).layout.job == "b"


def test_a_path_to_a_directory_without_a_job_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(ConfigError, match="contains no job"):
            locate_job(str(path))
