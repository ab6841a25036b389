"""``weir checkpoints X``: X is a job only if it is no directory and no URL, and a platform is configured."""

from __future__ import annotations

from pathlib import Path

import pytest

from weir.cli.commands import checkpoints


@pytest.fixture(autouse=True)
def in_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_a_name_is_a_job_if_no_directory_has_it() -> None:
    assert checkpoints.is_job("flights") and checkpoints.is_job("12")


@pytest.mark.usefixtures("configured_platform")
@pytest.mark.parametrize(
    "what", ["s3://bucket/prefix", "file:///somewhere", "memory://", "/no/such/directory", "a/b", "./flights", ""]
)
def test_a_url_or_a_path_is_not_a_job(what: str) -> None:
    assert not checkpoints.is_job(what)


@pytest.mark.usefixtures("configured_platform")
def test_a_directory_of_that_name_takes_precedence(tmp_path: Path) -> None:
    (tmp_path / "flights").mkdir()
    assert not checkpoints.is_job("flights")


def test_without_a_platform_a_name_is_a_directory() -> None:
    assert not checkpoints.is_job("flights")
