"""Which paths and URLs are below an allowed location."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr

from weir.errors import ConfigError
from weir_backend.recovery.external_path import allowed_roots, is_within
from weir_backend.settings import Settings
from weir_backend.settings import settings as settings_from_environment


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
def test_a_path_is_below_a_root_only_if_each_directory_name_of_the_root_matches_completely(
    path: str, root: str, within: bool
) -> None:
    assert is_within(path, root) is within


def test_the_checkpoint_directory_of_the_installation_is_always_allowed() -> None:
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
    settings_from_environment.cache_clear()
    return monkeypatch


def test_an_environment_variable_lists_the_restore_roots_separated_by_commas(environment: pytest.MonkeyPatch) -> None:
    assert (
        Settings(
            database_url=SecretStr("x"), redis_url=SecretStr("x"), secret_key=SecretStr("k" * 32), data_dir=Path("/d")
        ).restore_roots
        == ()
    )
    environment.setenv("WEIR_RESTORE_ROOTS", " /srv/checkpoints/, s3://backups/weir ,")
    assert settings_from_environment().restore_roots == ("/srv/checkpoints", "s3://backups/weir")
    settings_from_environment.cache_clear()


@pytest.mark.parametrize("value", ["checkpoints", "/srv/../etc", "file:///srv", "/srv,backups"])
def test_an_invalid_restore_root_is_refused_when_the_process_starts(environment: pytest.MonkeyPatch, value: str) -> None:
    environment.setenv("WEIR_RESTORE_ROOTS", value)
    with pytest.raises(ConfigError, match="WEIR_RESTORE_ROOTS"):
        settings_from_environment()
    settings_from_environment.cache_clear()
