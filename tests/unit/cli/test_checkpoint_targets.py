"""The argument of ``weir checkpoints``. The argument names a job only if a platform is configured and the argument is neither a
directory nor a URL."""

from __future__ import annotations

from pathlib import Path

import pytest

from weir.cli.commands import checkpoints


@pytest.fixture(autouse=True)
def empty_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("WEIR_API_URL", raising=False)
    monkeypatch.delenv("WEIR_TOKEN", raising=False)


@pytest.fixture
def configured_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIR_API_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("WEIR_TOKEN", "weir_x")


@pytest.mark.usefixtures("configured_platform")
def test_the_argument_names_a_job_if_no_directory_has_that_name() -> None:
    assert checkpoints.is_job("flights") and checkpoints.is_job("12")


@pytest.mark.usefixtures("configured_platform")
@pytest.mark.parametrize(
    "what", ["s3://bucket/prefix", "file:///somewhere", "memory://", "/no/such/directory", "a/b", "./flights", ""]
)
def test_the_argument_does_not_name_a_job_if_it_is_a_url_or_a_path(what: str) -> None:
    assert not checkpoints.is_job(what)


@pytest.mark.usefixtures("configured_platform")
def test_a_directory_takes_precedence_over_a_job_of_the_same_name(tmp_path: Path) -> None:
    (tmp_path / "flights").mkdir()
    assert not checkpoints.is_job("flights")


def test_the_argument_names_a_directory_if_no_platform_is_configured() -> None:
    assert not checkpoints.is_job("flights")
