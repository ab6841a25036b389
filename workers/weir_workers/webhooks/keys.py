"""Keys of signatures: in the environment of the workers or in files there, never in the database."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from weir.errors import ConfigError
from weir_backend.settings import Settings
from weir_workers.webhooks.signing import key_of

DIRECTORY = "webhook-keys"
KEY_CHARACTERS_MAX = 4_096


def key(reference: str, settings: Settings, environment: Mapping[str, str]) -> bytes:
    """``reference``: as ``webhooks.schemas.KeyReference``. Raises ConfigError."""
    kind, _, name = reference.partition(":")
    if kind == "env":
        found = environment.get(name)
        if found is None:
            raise ConfigError(f"the workers have no environment variable {name}, which the signatures need")
        return key_of(found, name)
    path = (settings.webhook_keys_dir or settings.data_dir / DIRECTORY) / _plain(name)
    try:
        with path.open(encoding="utf-8") as file:
            return key_of(file.read(KEY_CHARACTERS_MAX), str(path))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ConfigError(f"the key of the signatures cannot be read from {path} of the worker: {why}") from None


def _plain(name: str) -> str:
    """What was checked when it was kept."""
    assert name and Path(name).name == name, f"{name!r} is no name of a file"
    return name
