"""Passwords and keys of an installation.

The passwords and keys are generated once, and stored in a file that only its owner can read.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from weir.errors import ConfigError
from weir_workers.embedded.data_dir.layout import write_private

ADMINISTRATOR = "admin"


def _new() -> str:
    return secrets.token_urlsafe(24)


@dataclass(frozen=True, slots=True)
class PlatformCredentials:
    database_password: str = field(repr=False)
    redis_password: str = field(repr=False)
    secret_key: str = field(repr=False)
    admin_password: str = field(repr=False)
    """The initial password of the first administrator. Later changes of the password are in the database only."""
    admin_password_told: bool = False
    """Whether ``weir up`` has printed the initial password."""

    @classmethod
    def new(cls) -> PlatformCredentials:
        return cls(_new(), _new(), secrets.token_urlsafe(48), secrets.token_urlsafe(12))


def load(path: Path) -> PlatformCredentials | None:
    """Return the credentials, or None if they do not exist yet. Raises ConfigError."""
    try:
        found = json.loads(path.read_text())
        return PlatformCredentials(**found)
    except FileNotFoundError:
        return None
    except PermissionError:
        raise ConfigError(f"{path} belongs to another user: run the command as the user who ran weir up") from None
    except (OSError, ValueError, TypeError):
        # Do not generate new credentials, because the database would refuse the new password.
        raise ConfigError(
            f"{path} is damaged, and the database cannot be opened without it: restore it from a backup, or choose a new directory with --data-dir"
        ) from None


def load_or_create(path: Path) -> PlatformCredentials:
    """Return the credentials, which are generated at the first call.

    The caller holds the lock of the data directory. Raises ConfigError.
    """
    found = load(path)
    if found is None:
        found = PlatformCredentials.new()
        write_private(path, _as_text(found))
    return found


def mark_password_shown(path: Path, credentials: PlatformCredentials) -> None:
    write_private(path, _as_text(replace(credentials, admin_password_told=True)))


def _as_text(credentials: PlatformCredentials) -> str:
    return json.dumps(asdict(credentials), indent=2) + "\n"
