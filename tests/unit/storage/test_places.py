"""How people name a checkpoint that is somewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.storage.storage_builders import JOB, RunningJob

from weir.errors import ConfigError
from weir.storage.layout import JobLayout
from weir.storage.local import LocalStorage
from weir.storage.places import locate, parse_name


@pytest.mark.parametrize(
    ("text", "path", "checkpoint"),
    [
        ("/srv/cp", "/srv/cp", None),
        ("/srv/cp#12", "/srv/cp", 12),
        ("s3://bucket/a#b#3", "s3://bucket/a#b", 3),
        ("/srv/with#sharp", "/srv/with#sharp", None),
    ],
)
def test_a_number_after_a_sharp_is_the_checkpoint(text: str, path: str, checkpoint: int | None) -> None:
    assert parse_name(text) == (path, checkpoint)


@pytest.mark.parametrize("text", ["", "/srv/cp#0"])
def test_what_names_nothing_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="write DIRECTORY|numbered from 1"):
        parse_name(text)


def test_a_directory_of_checkpoints_and_the_one_of_its_job_name_the_same(tmp_path: Path) -> None:
    RunningJob(LocalStorage(tmp_path)).start(1)
    own = tmp_path / JobLayout(JOB).root
    for path in (str(tmp_path), f"{tmp_path}/", str(own), tmp_path.as_uri(), own.as_uri()):
        found = locate(path)
        assert (found.layout, found.storage.url) == (JobLayout(JOB), tmp_path.as_uri())


def test_of_several_jobs_one_must_be_named(tmp_path: Path) -> None:
    for name in ("a", "b"):
        RunningJob(LocalStorage(tmp_path), layout=JobLayout(name)).start(1)
    with pytest.raises(ConfigError, match="holds a, b: name the directory of one of them"):
        locate(str(tmp_path))
    assert locate(str(tmp_path / "b")).layout.job == "b"


def test_a_directory_without_a_job_is_none(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "gone"):
        with pytest.raises(ConfigError, match="there is no job in"):
            locate(str(path))
