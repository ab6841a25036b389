"""How commands reach the servers of a platform that runs."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import SecretStr

from weir.errors import ConfigError
from weir_backend.settings import Settings
from weir_workers.embedded import credentials, state
from weir_workers.embedded.layout import DataDir
from weir_workers.embedded.lock import is_held
from weir_workers.embedded.names import DATABASE_URL, POSTGRES, REDIS_URL, VALKEY
from weir_workers.embedded.postgres import Postgres
from weir_workers.embedded.state import PlatformState
from weir_workers.embedded.telling import option
from weir_workers.embedded.valkey import Valkey


def settings_of(directory: DataDir, found: PlatformState, environment: Mapping[str, str]) -> Settings:
    """Raises ConfigError where a server is not ours and the environment does not name it."""
    secrets = credentials.load(directory.secrets)
    if secrets is None:
        raise ConfigError(f"there is no {directory.secrets}: weir up{option(directory)} makes it")

    def address(name: str, variable: str, own: str) -> SecretStr:
        if name not in found.external:
            return SecretStr(own)
        if not environment.get(variable):
            raise ConfigError(f"it uses the server at {found.external[name]}: set {variable} as it was for weir up")
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
    """As SQLAlchemy takes it: of WEIR_DATABASE_URL, or of the Postgres in the directory. Raises ConfigError."""
    if url := environment.get(DATABASE_URL):
        # Only the address matters here.
        unused = SecretStr("not used, and as long as it has to be to pass")
        return Settings(database_url=SecretStr(url), redis_url=unused, secret_key=unused, data_dir=directory.root).sqlalchemy_url
    found = state.read(directory.state)
    if found is None or not is_held(directory.lock):
        raise ConfigError(
            f"there is no {DATABASE_URL}, and no platform runs in {directory.root}: weir up{option(directory)} starts it, and migrates"
        )
    return settings_of(directory, found, environment).sqlalchemy_url
