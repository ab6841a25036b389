"""Which places are within which: of text alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr

from weir.errors import ConfigError
from weir_backend.recovery.external_path import allowed_roots, is_within
from weir_backend.settings import Settings
from weir_backend.settings import settings as settings_of_the_environment


@pytest.mark.parametrize(
    ("path", "root", "within"),
    [
        ("/srv/a", "/srv/a", True),
        ("/srv/a/b", "/srv/a", True),
        ("/srv/ab", "/srv/a", False),
        ("/srv", "/srv/a", False),
        ("/srv/a", "/", True),
        ("s3://bucket/x", "/", False),
        ("s3://bucket/x/y", "s3://bucket/x", True),
        ("s3://bucket-of-others/x", "s3://bucket", False),
        ("gs://bucket/x", "s3://bucket", False),
    ],
)
def test_a_place_is_within_another_by_whole_names(path: str, root: str, within: bool) -> None:
    assert is_within(path, root) is within


def test_the_installations_own_checkpoints_are_always_allowed() -> None:
    assert allowed_roots(Path("/var/lib/weir"), ("/srv/a",)) == ("/var/lib/weir/checkpoints", "/srv/a")


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name, value in {
        "DATABASE_URL": "postgresql://x",
        "REDIS_URL": "redis://x",
        "SECRET_KEY": "k" * 32,
        "DATA_DIR": "/d",
    }.items():
        monkeypatch.setenv(f"WEIR_{name}", value)
    settings_of_the_environment.cache_clear()
    return monkeypatch


def test_places_come_from_the_environment_with_commas_between_them(environment: pytest.MonkeyPatch) -> None:
    assert (
        Settings(
            database_url=SecretStr("x"), redis_url=SecretStr("x"), secret_key=SecretStr("k" * 32), data_dir=Path("/d")
        ).restore_roots
        == ()
    )
    environment.setenv("WEIR_RESTORE_ROOTS", " /srv/checkpoints/, s3://backups/weir ,")
    assert settings_of_the_environment().restore_roots == ("/srv/checkpoints", "s3://backups/weir")
    settings_of_the_environment.cache_clear()


@pytest.mark.parametrize("wrong", ["checkpoints", "/srv/../etc", "file:///srv", "/srv,backups"])
def test_a_place_that_is_none_is_told_at_the_start(environment: pytest.MonkeyPatch, wrong: str) -> None:
    environment.setenv("WEIR_RESTORE_ROOTS", wrong)
    with pytest.raises(ConfigError, match="WEIR_RESTORE_ROOTS"):
        settings_of_the_environment()
    settings_of_the_environment.cache_clear()
