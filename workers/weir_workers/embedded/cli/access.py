"""How the commands reach the servers of a running platform."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import SecretStr

from weir.errors import ConfigError
from weir_backend.settings import Settings
from weir_workers.embedded.cli.output import option
from weir_workers.embedded.constants import DATABASE_URL, POSTGRES, REDIS_URL, VALKEY
from weir_workers.embedded.data_dir import credentials, platform_state
from weir_workers.embedded.data_dir.layout import DataDir
from weir_workers.embedded.data_dir.platform_state import PlatformState
from weir_workers.embedded.servers.postgres import Postgres
from weir_workers.embedded.servers.valkey import Valkey
from weir_workers.file_lock import is_held


def settings_of(directory: DataDir, found: PlatformState, environment: Mapping[str, str]) -> Settings:
    """Return the settings of the platform.

    Raises ConfigError if the platform uses an external server whose URL is not in ``environment``.
    """
    secrets = credentials.load(directory.secrets)
    if secrets is None:
        raise ConfigError(f"{directory.secrets} does not exist: run weir up{option(directory)} to create it")

    def address(name: str, variable: str, own: str) -> SecretStr:
        if name not in found.external:
            return SecretStr(own)
        if not environment.get(variable):
            raise ConfigError(
                f"the platform uses the external server at {found.external[name]}: set {variable} to the same URL as for weir up"
            )
        return SecretStr(environment[variable])

    ports = found.ports
    postgres = Postgres(directory.postgres, directory.log_of(POSTGRES), ports.postgres or 0, secrets.database_password, None)
    valkey = Valkey(directory.valkey, directory.log_of(VALKEY), ports.valkey or 0, secrets.redis_password)
    return Settings(
        database_url=address(POSTGRES, DATABASE_URL, postgres.url),
        redis_url=address(VALKEY, REDIS_URL, valkey.url),
        secret_key=SecretStr(environment.get("WEIR_SECRET_KEY") or secrets.secret_key),
        data_dir=directory.root,
    )


def database_url(directory: DataDir, environment: Mapping[str, str]) -> str:
    """Return the database URL in the form that SQLAlchemy needs. If WEIR_DATABASE_URL is not set, return the URL of the running platform's
    Postgres. Raises ConfigError."""
    if url := environment.get(DATABASE_URL):
        # ``Settings`` requires these values, but this function does not use them.
        unused = SecretStr("an unused value of sufficient length")
        return Settings(database_url=SecretStr(url), redis_url=unused, secret_key=unused, data_dir=directory.root).sqlalchemy_url
    found = platform_state.read(directory.state)
    if found is None or not is_held(directory.lock):
        raise ConfigError(
            f"{DATABASE_URL} is not set, and no platform runs in {directory.root}: set it, or run weir up{option(directory)}"
        )
    return settings_of(directory, found, environment).sqlalchemy_url
